"""What crosses between a learner's process and the checks: changes, gradients, errors, networks."""

import sys

import pytest
import torch
from torch import nn

from vit_course.checks.maps.traces import kept_on
from vit_course.checks.report import Wrong
from vit_course.checks.snapshot import Left
from vit_course.checks.timeout import learners_line
from vit_course.checks.tools.watched_steps import watched_steps
from vit_course.config import ViTConfig
from vit_course.teaching.classroom.grading_cell import Graded, read
from vit_course.teaching.classroom.learner_process import LearnerProcess
from vit_course.teaching.classroom.sandbox import Unprotected
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
def calls_back(function, *arguments):
    with torch.no_grad():
        return function(*arguments)
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


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """One process for all tests."""
    with LearnerProcess(tmp_path_factory.mktemp("submission"), Unprotected()) as made:
        outputs, _ = made.run(CODE, 100)
        assert outputs == []
        yield made


def test_changes_of_arguments_and_errors_come_across(process):
    x = torch.zeros(2, 3)
    assert torch.equal(process.answer("changes")(x), torch.ones(2, 3)) and torch.equal(x, torch.ones(2, 3))
    with pytest.raises(KeyError, match="no such thing") as caught:
        process.answer("fails")(x)
    assert learners_line(caught.value) == 'line 21: `raise KeyError("no such thing")`'
    assert process.answer("nothing of this name") is None


def test_an_error_of_the_check_that_went_through_the_learners_code_is_the_same_object(process):
    wrong = Wrong("wrong-shape", "What the encoder was given has the wrong shape.")

    def refuses(*_):
        raise wrong

    with pytest.raises(Wrong) as caught:
        process.answer("calls_back")(refuses)
    assert caught.value is wrong


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
