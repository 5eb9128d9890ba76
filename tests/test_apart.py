"""What crosses between a learner's process and the checks: changes, gradients, errors, networks."""

import sys

import pytest
import torch

from vit_course.checks.snapshot import Left
from vit_course.checks.timeout import learners_line
from vit_course.checks.tools.watched_steps import watched_steps
from vit_course.config import ViTConfig
from vit_course.teaching.classroom.grading_cell import Graded, read
from vit_course.vit import ViT

pytestmark = pytest.mark.slow


def test_a_grading_cell_is_read_as_it_was_written():
    made = Graded("attention.weights", "weights", (1_234_567_890, 1_987_654_321), 2)
    assert read(made.source) == made and read("print(1)") is None
    stripped = made.source.split("### BEGIN")[0] + made.source.split("### END HIDDEN TESTS\n")[1]
    undrawn = Graded("attention.weights", "weights", (), 2)
    assert read(stripped) == undrawn and stripped == undrawn.source


CODE = """
import torch
from torch import nn
from vit_course.vit import ViT
def changes(x):
    x += 1
    return x
def replaces(x):
    torch.relu = lambda x: x
    return x
def trains(x):
    import torch._dynamo
    layer = torch.nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(layer.parameters())
    layer(x).sum().backward()
    optimiser.step()
    return x
def uses(x):
    return torch.relu(x)
def fails(x):
    y = x
    raise KeyError("no such thing")
def product(a, b):
    print("one line")
    return a * b.detach(), {"sum": (a + b).sum()}
def follows(norm, other):
    norm.running_mean += 5
    norm.running_var = other.running_var + 1
def named():
    return 7
def takes(module):
    return module.kept()
class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.LazyLinear(2), nn.LazyBatchNorm1d(affine=False)
    def forward(self, x):
        return self.linear(x) + 0 * self.norm(x).sum()
def odd():
    import types, collections
    import numpy as np
    return [np.array(["yes"])[0], np.uint64(2**63), np.ones(2, np.uint16), types.MappingProxyType({"a": 1}),
            list(collections.OrderedDict(a=1).values()), np.array([1 + 2j, 3]).reshape(2, 1).T]
def tries(model):
    model.train()
    return model(torch.zeros(1))
def shares(one, other):
    one.weight.data = other.weight.data
def steps(model):
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.bias.grad = torch.zeros_like(model.bias)
    optimiser.step()
    return model
def doubled(config):
    model = ViT(config).double().eval()
    model.encoder.train()
    model.head.requires_grad_(False)
    return model
named.__module__, named.__qualname__ = "this", "s"
both = [named, takes]
class Scaled(nn.Module):
    def __init__(self, width, make=None):
        super().__init__()
        self.scale, self.spare = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(2))
        self.inner = make() if make else nn.Dropout(0.9)
    def forward(self, x):
        return self.inner(x * self.scale)
"""


def test_changes_of_arguments_and_errors_come_across(process):
    x = torch.zeros(2, 3)
    assert torch.equal(process.answer("changes")(x), torch.ones(2, 3)) and torch.equal(x, torch.ones(2, 3))
    with pytest.raises(KeyError, match="no such thing") as caught:
        process.answer("fails")(x)
    assert learners_line(caught.value) == 'line 21: `raise KeyError("no such thing")`'
    assert process.answer("nothing of this name") is None


def test_a_replaced_function_of_a_library_is_put_back_and_told(process):
    x = torch.full((2,), -1.0)
    with pytest.raises(Left, match=r"torch\.relu"):
        process.answer("replaces")(x)
    assert torch.equal(process.answer("uses")(x), torch.zeros(2))
    assert torch.equal(process.answer("trains")(x), x), "what PyTorch replaces itself, it has replaced before"


def test_gradients_go_through(process, capsys):
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    out, more = process.answer("product")(a, b)
    assert capsys.readouterr().out == "one line\n"
    found = torch.autograd.grad(out.sum(), [a, b], allow_unused=True)
    assert torch.equal(found[0], b.detach()) and found[1] is None
    assert torch.equal(torch.autograd.grad(more["sum"], b)[0], torch.ones(3))
    with torch.no_grad():
        assert not process.answer("product")(a, b)[0].requires_grad


def test_a_network_is_mirrored(process):
    kind = process.answer("Scaled")
    module, x = kind(3), torch.ones(4, 3)
    assert isinstance(kind, type) and isinstance(module, torch.nn.Module) and type(module).__name__ == "Scaled"
    assert isinstance(module.inner, torch.nn.Dropout) and module.inner.p == 0.9
    assert (module(x) == 0).any() and torch.equal(module.eval()(x), x), "the mode goes across"
    with torch.no_grad():
        module.scale.copy_(torch.tensor([1.0, 2.0, 3.0]))
    module(x).sum().backward()
    assert torch.equal(module(x)[0].detach(), torch.tensor([1.0, 2.0, 3.0]))
    assert torch.equal(module.scale.grad, torch.full((3,), 4.0)) and module.spare.grad is None


def test_a_module_of_the_check_is_itself_again_inside_the_learners(process):
    made = []

    def make():
        made.append(torch.nn.Linear(3, 2))
        return made[-1]

    module, x = process.answer("Scaled")(3, make), torch.randn(5, 3)
    assert len(made) == 1 and made[0] in set(module.modules())
    with torch.no_grad():
        made[0].weight.fill_(2.0)
    assert torch.allclose(module(x), made[0](x))
    module(x).sum().backward()
    assert made[0].weight.grad is not None


def test_buffers_that_a_call_keeps_are_kept_and_those_that_it_replaces_are_replaced(process):
    norm, other = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    mean, variance = norm.running_mean, norm.running_var
    process.answer("follows")(norm, other)
    assert norm.running_mean is mean and torch.equal(mean, torch.full((3,), 5.0))
    assert norm.running_var is not variance and torch.equal(norm.running_var, other.running_var + 1)
    process.answer("follows")(norm, other)
    assert norm.running_mean is mean and torch.equal(mean, torch.full((3,), 10.0))


def test_no_module_is_imported_here_because_a_learners_function_says_that_it_is_from_there(process):
    named, takes = process.answer("both")
    module = torch.nn.Identity()
    module.kept = named
    assert takes(module) == 7 and "this" not in sys.modules


def test_lazy_layers_and_odd_values(process):
    lazy = process.answer("Lazy")()
    assert torch.nn.parameter.is_lazy(lazy.linear.weight)
    out = lazy(torch.ones(4, 3))
    out.sum().backward()
    assert out.shape == (4, 2) and torch.equal(lazy.linear.weight.grad, torch.full((2, 3), 4.0))
    word, number, array, mapping, values, complexes = process.answer("odd")()
    assert (word, number, array.tolist(), mapping, values) == ("yes", 2**63, [1, 1], {"a": 1}, [1])
    assert complexes.tolist() == [[1 + 2j, 3]] and str(complexes.dtype) == "complex128"


def test_a_hook_of_the_check_stays_on_a_model_that_runs_on_its_side(process):
    class Model(torch.nn.Module):
        def forward(self, x):
            return x

    model, modes = Model().eval(), []
    model.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    process.answer("tries")(model)
    assert modes == [True]


def test_memory_that_moves_moves_here_too(process):
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    before, bias = one.weight.data_ptr(), one.bias.data_ptr()
    process.answer("shares")(one, other)
    assert torch.equal(one.weight, other.weight) and one.weight.data_ptr() != before and one.bias.data_ptr() == bias


def test_steps_of_optimisers_are_seen(process):
    with watched_steps() as seen:
        model = process.answer("steps")(torch.nn.Linear(3, 2))
    assert (seen.number, seen.without, seen.rates, seen.share_of(model)) == (1, 1, [0.1], 1.0)


def test_a_vit_keeps_its_dtype_and_its_modes(process):
    config = ViTConfig(8, 4, 2, hidden_dim=8, num_layers=1, num_heads=2, mlp_dim=8)
    model = process.answer("doubled")(config)
    assert type(model) is ViT and {one.dtype for one in model.parameters()} == {torch.float64}
    assert model.encoder.norm.training and not model.head.training and not model.training
    assert not model.head.weight.requires_grad and model.encoder.norm.weight.requires_grad
