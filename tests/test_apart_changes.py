"""What the check and the learner's code do to each other's objects: changes in place, what is left, later changes."""

import pytest
import torch
from torch import nn

from vit_course.checks.maps.traces import kept_on
from vit_course.checks.report import Wrong
from vit_course.teaching.classroom.learner_process import LearnerProcess
from vit_course.teaching.classroom.sandbox import Unprotected

pytestmark = pytest.mark.slow

CODE = """
import torch
from torch import nn
def leaves(model):
    model.kept = 3
    model.norm.forward = lambda x: x
    nn.modules.module.register_module_forward_hook(lambda *_: None)
def adds(model):
    model.recorder = nn.Identity()
    model.register_buffer("kept", torch.zeros(2))
    model.norm.register_full_backward_hook(lambda *_: None)
def tidies(model, call):
    model.kept, model.norm.forward, model.part = 3, lambda x: x, nn.Identity()
    call(model)
    del model.kept, model.norm.forward, model.part
def calls_back(function):
    return function()
def returns_and_keeps(kept):
    kept.append(nn.Linear(2, 2))
    return kept[-1]
def in_place(x, pairs):
    pairs.sort()
    x += 1
    return x
def new_leaf():
    return torch.zeros(3, requires_grad=True)
def dropped(layer, x):
    layer.train()
    return layer.p, float((layer(x) == 0).float().mean())
class Counting(nn.BatchNorm1d):
    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        return super().forward(x)
"""


def test_an_error_of_the_check_that_went_through_the_learners_code_is_the_same_object(process):
    wrong = Wrong("wrong-shape", "What the encoder was given has the wrong shape.")

    def refuses(*_):
        raise wrong

    with pytest.raises(Wrong) as caught:
        process.answer("calls_back")(refuses)
    assert caught.value is wrong


def test_what_is_left_on_the_checks_model_is_seen(process):
    model = torch.nn.Module()
    model.norm = torch.nn.Identity()
    kept = model.norm.register_forward_hook(lambda *_: None)
    process.answer("leaves")(model)
    assert kept_on(model) - kept_on(torch.nn.Module()) == {"kept"} and "forward" in kept_on(model.norm)
    assert len(model.norm._forward_hooks) == 2 and kept.id in model.norm._forward_hooks


def test_parts_and_backward_hooks_that_are_left_are_seen(process):
    model = torch.nn.Module()
    model.norm = torch.nn.Identity()
    process.answer("adds")(model)
    assert [*model._modules] == ["norm", "recorder"] and [*model._buffers] == ["kept"]
    assert type(model.recorder) is torch.nn.Identity, "nothing of the learner's"
    assert len(model.norm._backward_hooks) == 1


def test_what_is_taken_off_again_leaves_no_trace(process):
    model, during = torch.nn.Module(), []
    model.norm = torch.nn.Identity()
    before = kept_on(model)
    process.answer("tidies")(model, lambda one: during.append([kept_on(one) - before, "part" in one._modules]))
    assert during == [[{"kept"}, True]]
    assert kept_on(model) == before and "forward" not in vars(model.norm) and [*model._modules] == ["norm"]


def test_what_a_call_returns_and_keeps_is_one_object(process):
    kept = []
    assert process.answer("returns_and_keeps")(kept) is kept[0]


def test_what_is_changed_in_place_is_changed_here(process):
    x, pairs = torch.ones(2, requires_grad=True) * 2, [(2, 1), (1, [5])]
    assert torch.equal(process.answer("in_place")(x, pairs), x) and torch.equal(x, torch.full((2,), 3.0))
    assert pairs == [(1, [5]), (2, 1)]
    assert process.answer("new_leaf")().requires_grad


def test_attributes_that_change_later_change_on_the_other_side_too(process):
    layer, x, dropped = nn.Dropout(0.5), torch.ones(10_000), process.answer("dropped")
    assert dropped(layer, x)[0] == 0.5
    layer.p = 0.125
    rate, share = dropped(layer, x)
    assert rate == 0.125 and 0.05 < share < 0.2
    counting = process.answer("Counting")(3)
    for _ in range(2):
        counting(torch.randn(4, 3))
    assert counting.calls == 2 and counting.num_batches_tracked == 2


def test_a_check_that_ends_within_a_callback_ends_the_process(tmp_path):
    with LearnerProcess(tmp_path, Unprotected()) as own:
        own.run(CODE, 100)
        with pytest.raises(KeyboardInterrupt):
            own.answer("calls_back")(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        assert not own.usable, "else the next cells would run inside this call"
