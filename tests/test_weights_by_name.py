"""Weights are put into a learner's module by the names of its stub, or the refusal says what is needed."""

import pytest
import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.put_weights import put_by_name


class Two(nn.Module):
    def __init__(self, first="one", second="two", width=3):
        super().__init__()
        setattr(self, first, nn.Linear(3, width))
        setattr(self, second, nn.Linear(width, 2))


def tied() -> Two:
    module = Two(width=2)
    module.one = nn.Linear(2, 2)
    module.two = module.one
    return module


WEIGHTS = {name: torch.full_like(value, number) for number, (name, value) in enumerate(Two().state_dict().items())}
OF_TIED = {name: value.detach() for name, value in tied().named_parameters(remove_duplicate=False)}


def test_weights_are_copied_where_only_axes_of_length_1_differ():
    module = Two()
    module.two.bias = nn.Parameter(torch.zeros(1, 2))
    put_by_name(module, WEIGHTS)
    assert all(torch.equal(p.flatten(), WEIGHTS[name].flatten()) for name, p in module.named_parameters())


def test_a_layer_may_have_a_second_name_in_a_sequential():
    module = Two()
    module.both = nn.Sequential(module.one, nn.ReLU(), module.two)
    put_by_name(module, WEIGHTS)
    assert all(torch.equal(value, WEIGHTS[name]) for name, value in module.named_parameters())


@pytest.mark.parametrize(
    ("module", "weights", "slug", "said"),
    [
        (Two(second="last"), WEIGHTS, "other-names", "Missing:  two.weight, two.bias"),
        (Two(second="last"), WEIGHTS, "other-names", "Not asked for: last.weight, last.bias"),
        (nn.Sequential(Two().one, Two().two), WEIGHTS, "other-names", "Not asked for: 0.weight"),
        (Two().one, {"weight": WEIGHTS["one.weight"]}, "parameters-too-many", "Not asked for: bias"),
        (Two(), WEIGHTS | {"three": torch.zeros(1)}, "parameters-missing", "Missing:  three"),
        (Two(), WEIGHTS | {f"w{n}": torch.zeros(1) for n in range(9)}, "parameters-missing", "w5 and 3 more"),
        (Two(width=4), WEIGHTS, "other-shapes", "Expected: one.weight of shape (3, 3)"),
        (Two(width=4), WEIGHTS, "other-shapes", "Received: (4, 3)"),
        (tied(), OF_TIED, "shared-parameters", "Received: one.weight and two.weight are one parameter"),
        (Two().requires_grad_(False), WEIGHTS, "not-trained", "one.weight"),
        (nn.Identity(), WEIGHTS, "no-parameters", "Expected: one.weight"),
    ],
)
def test_a_refusal_names_the_parameters(module, weights, slug, said):
    with pytest.raises(Wrong) as raised:
        put_by_name(module, weights)
    assert raised.value.mistake == slug and said in "\n".join(raised.value.details)
