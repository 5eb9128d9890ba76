"""Where do two models first differ? Faults are planted, and each is found at its layer."""

import copy

import pytest
import torch
from conftest import cases
from published import PUBLISHED
from test_stages import SIMPLE, names, small
from torch import nn

from vit_course.pretrained import first_difference

# ---- planted faults, each in a copy of our model


def transposed(model):
    weight = model.encoder.blocks[2].attention.projection.weight
    weight.copy_(weight.T.clone())


def swapped(model):
    qkv = model.encoder.blocks[1].attention.qkv
    for parameter in (qkv.weight, qkv.bias):
        if parameter is not None:
            q, k, v = parameter.chunk(3)
            parameter.copy_(torch.cat([q, v, k]))


def other_epsilon_in_one_norm(model):
    norm = model.encoder.blocks[1].norm2
    norm.eps = 1e-6 if norm.eps == 1e-5 else 1e-5


def tanh(model):
    for block in model.encoder.blocks:
        block.mlp.gelu = nn.GELU(approximate="tanh")


def shifted(model):
    model.positions.table.copy_(model.positions.table.roll(1, dims=1))


FAULTS = {
    transposed: "block 2: attention output",
    swapped: "block 1: keys",
    other_epsilon_in_one_norm: "block 1: norm 2",
    tanh: "block 0: MLP, after GELU",
    shifted: "class token and positions",
}


@pytest.mark.slow
@cases("fault", FAULTS, ids=lambda fault: fault.__name__)
@cases("name", SIMPLE)
def test_a_planted_fault_is_found_at_its_layer(name, fault):
    theirs = PUBLISHED[name].theirs()
    ours, images = PUBLISHED[name].ours(theirs), PUBLISHED[name].images()
    faulty = copy.deepcopy(ours)
    with torch.no_grad():
        fault(faulty)
    for other in (theirs, ours):
        comparison = first_difference(faulty, other, images)
        assert comparison.first.name == FAULTS[fault]
        before = comparison.stages[: comparison.agreeing]
        assert comparison.stages[len(before)] == comparison.first and comparison.first.difference > 1e-7
        assert all(stage.difference < 1e-12 for stage in before)
        turned = first_difference(other, faulty, images)  # the other way round
        assert turned.first.name == FAULTS[fault] and turned.agreeing == len(before)


def test_another_number_of_heads_is_another_shape():
    case = PUBLISHED["timm"]
    theirs = case.theirs()
    comparison = first_difference(case.load(theirs.state_dict(), num_heads=2), theirs, case.images())
    assert str(comparison) == (
        "the models first differ at 'block 0: attention', in shape, (2, 2, 10, 10) and (2, 3, 10, 10); "
        f"the 6 stages before agree, to within {max(stage.difference for stage in comparison.stages[:6]):.1e}"
    )
    assert "block 0: attention                                 inf  DIFFERS" in comparison.table()


# ---- what is said


def test_the_sentence_and_the_table():
    model = PUBLISHED["timm"].ours(PUBLISHED["timm"].theirs())
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.positions.table[0, 4, 7] += 0.5
    comparison = first_difference(model, other, PUBLISHED["timm"].images())
    assert str(comparison) == (
        "the models first differ at 'class token and positions', by up to 5.0e-01; "
        "the 1 stage before agrees, to within 0.0e+00"
    )
    lines = comparison.table().splitlines()
    assert len(lines) == 1 + len(comparison.stages) == 1 + len(names(3))
    assert lines[0].split() == ["stage", "largest", "difference"]
    assert lines[1].split() == ["patch", "embedding", "0.0e+00", "same"]
    assert lines[2].split() == ["class", "token", "and", "positions", "5.0e-01", "DIFFERS"]
    assert len({line.rindex("e") for line in lines[1:] if "same" in line}) == 1  # one under the other
    with torch.no_grad():
        other.patch_embedding.projection.bias[0] += 1
    assert "'patch embedding', by up to 1.0e+00; nothing is before" in str(
        first_difference(model, other, PUBLISHED["timm"].images())
    )


def test_models_in_training_are_compared_in_eval_mode_and_stay_in_training():
    model = small(dropout=0.5).train()
    comparison = first_difference(model, copy.deepcopy(model), torch.randn(1, 3, 21, 21))
    assert comparison.first is None and model.training


def test_the_tolerance_is_the_largest_difference_that_counts_as_none_and_what_is_no_number_differs():
    model = PUBLISHED["timm"].ours(PUBLISHED["timm"].theirs())
    other, images = copy.deepcopy(model), PUBLISHED["timm"].images()
    with torch.no_grad():
        other.head.bias[0] += 1e-3
        assert first_difference(model, other, images).first.name == "logits"
        assert first_difference(model, other, images, tolerance=1e-2).first is None
        other.encoder.blocks[1].mlp.expand.weight[0, 0] = torch.nan
    found = first_difference(model, other, images)
    assert found.first.name == "block 1: MLP, hidden (before GELU)" and "nan" in str(found)
