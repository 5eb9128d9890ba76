"""What each part of a model gave, ours and the libraries', and where two models first differ."""

import copy

import pytest
import torch
from published import PATCH, PUBLISHED, huggingface_vit
from test_recording import hooks
from torch import nn

from vit_course import pretrained
from vit_course.config import ViTConfig
from vit_course.pretrained import first_difference, stages
from vit_course.vit import ViT

BLOCK = [
    "norm 1", "queries", "keys", "values", "attention", "heads side by side", "attention output", "after attention",
    "norm 2", "MLP, hidden (before GELU)", "MLP, after GELU", "MLP output", "after MLP",
]  # fmt: skip
SIMPLE = ["torchvision", "timm", "Hugging Face", "vit-pytorch"]


def names(depth: int) -> list[str]:
    blocks = [f"block {number}: {part}" for number in range(depth) for part in BLOCK]
    return ["patch embedding", "class token and positions", *blocks, "norm", "into the head", "logits"]


def small(**changes) -> ViT:
    sizes = dict(image_size=21, patch_size=7, num_classes=5, hidden_dim=36, num_layers=3, num_heads=3, mlp_dim=20)
    return ViT(ViTConfig(**(sizes | changes)))


# ---- the stages


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_and_ours_agree_in_every_stage_that_both_show(name):
    case = PUBLISHED[name]
    theirs = case.theirs()
    ours = case.ours(theirs)
    comparison = first_difference(ours, theirs, case.images())
    assert comparison.first is None, str(comparison)
    shown = names(ours.config.num_layers)
    if "torchvision" in name:  # its attention hides what goes into its output projection
        shown = [stage for stage in shown if "side by side" not in stage]
    if "pre-logits" in name:
        shown.insert(-2, "pre-logits")
    if "vit-pytorch" in name:
        shown[:1] = ["norm of the patches", "patch embedding", "norm of the patch embedding"]
    assert [stage.name for stage in comparison.stages] == shown
    assert max(stage.difference for stage in comparison.stages) < 1e-12
    assert str(comparison).startswith(f"the models agree in all {len(shown)} stages, to within ")
    assert hooks(theirs) == hooks(ours) == 0
    assert {parameter.dtype for parameter in theirs.parameters()} == {torch.float32}  # copies were compared


def test_two_libraries_and_two_of_the_same_kind():
    first = PUBLISHED["torchvision"].theirs()
    ours = PUBLISHED["torchvision"].ours(first)
    second = huggingface_vit(layer_norm_eps=1e-6, attn_implementation="eager")
    second.load_state_dict(pretrained.to_huggingface(ours))
    images = torch.randn(1, 3, 21, 21)
    assert first_difference(first, second.train(), images).first is None
    assert second.training and second.config._attn_implementation == "eager"  # as it was
    assert first_difference(second, copy.deepcopy(second), images).first is None
    # The loader takes the published epsilon, 1e-12, and this model has another: seen at the first norm.
    published_epsilon = pretrained.load_huggingface(second.state_dict(), num_heads=3)
    assert first_difference(published_epsilon, second, images).first.name == "block 0: norm 1"


# ---- what cannot be compared


def test_models_of_other_sizes_are_refused():
    theirs, images = PUBLISHED["torchvision"].theirs(), PUBLISHED["torchvision"].images()
    for changes, message in (
        ({"num_layers": 4}, "the models have 4 and 3 blocks: only models of the same depth"),
        ({"image_size": 28}, r"the positions have shapes \(17, 36\) and \(10, 36\): only models for images"),
        ({"hidden_dim": 48}, r"the patch embeddings have shapes \(48, 3, 7, 7\) and \(36, 3, 7, 7\)"),
        ({"pool": "mean"}, r"the positions have shapes \(9, 36\) and \(10, 36\)"),
    ):
        with pytest.raises(ValueError, match=message):
            first_difference(small(**changes), theirs, images)


@pytest.mark.parametrize("name", SIMPLE)
def test_images_that_a_model_cannot_take(name):
    theirs = PUBLISHED[name].theirs()
    for shape in ((1, 3, 3 * PATCH, 4 * PATCH), (1, 2, 3 * PATCH, 3 * PATCH)):
        with pytest.raises(ValueError, match=f"the {name} model cannot take images \\({shape[0]}, {shape[1]}, "):
            stages(theirs, torch.randn(*shape))
        assert hooks(theirs) == 0
    with pytest.raises(ValueError, match=r"the vit_course model cannot take images \(1, 3, 14, 14\): the model takes"):
        stages(small(), torch.randn(1, 3, 14, 14))


IMAGES = torch.zeros(1, 3, 21, 21)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"images": IMAGES.byte()}, ValueError, "images are uint8: normalise them first"),
        ({"images": IMAGES.to("meta")}, ValueError, "images must hold numbers, got a tensor on the device meta"),
        ({"images": IMAGES[0]}, ValueError, r"images must have 4 axes .*, got shape \(3, 21, 21\)"),
        ({"images": IMAGES[:0]}, ValueError, r"must not be empty, got shape \(0, 3, 21, 21\)"),
        ({"images": IMAGES / 0}, ValueError, "images must be finite, but 1323 of 1323"),
        ({"images": [[0.0]]}, TypeError, "images must be a torch.Tensor, got list"),
        ({"tolerance": float("nan")}, ValueError, "^tolerance must be a number"),
        ({"tolerance": -1e-9}, ValueError, r"^tolerance must be at least 0"),
        ({"model": {}}, TypeError, r"model must be a torch\.nn\.Module, got dict"),
        ({"model": nn.Linear(2, 3)}, ValueError, "the parts of this Linear have no known names: give a ViT of ours"),
    ],
)
def test_what_cannot_be_looked_at(changes, error, message):
    given = dict(model=small(), images=IMAGES) | changes
    with pytest.raises(error, match=message):
        first_difference(small(), *given.values())
    if "tolerance" not in changes:
        with pytest.raises(error, match=message):
            stages(**given)


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
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", SIMPLE)
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
    comparison = first_difference(model, other, PUBLISHED["timm"].images())
    assert "'patch embedding', by up to 1.0e+00; nothing is before" in str(comparison)


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
