"""Answers that would cheat or leave something behind: none passes, and all is as it was before."""

import builtins
import os
import random
import sys
import warnings
from pathlib import Path

import answers
import numpy as np
import pytest
import torch

from vit_course import checks
from vit_course.checks.tools import tensors

RIGHT = answers.of("attention.weights").rights[0]


class Agrees(torch.Tensor):
    """A tensor for which every comparison comes out well."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.allclose, torch.equal):
            return True
        found = super().__torch_function__(function, types, args, kwargs or {})
        return torch.ones_like(found) if function is torch.isclose else found


EQUAL = {"__eq__": lambda one, other: True, "__ne__": lambda one, other: False}
Any = type("Any", (int,), EQUAL | {"__hash__": int.__hash__})  # an int, and a text, that equal everything
Text = type("Text", (str,), EQUAL | {"__hash__": str.__hash__})


class Pretends:
    """No tensor, and says that it is one."""

    __class__ = torch.Tensor

    def __init__(self, shape):
        self.shape, self.dtype, self.device = torch.Size(shape), torch.float32, torch.device("cpu")


def zeros(q, k, keep):
    return torch.zeros(*q.shape[:3], k.shape[2])


def test_a_tensor_that_says_it_agrees_is_looked_through():
    report = checks.attention.weights(lambda q, k, keep: zeros(q, k, keep).as_subclass(Agrees))
    assert report.mistake == "zeros"
    # The same class with the right numbers is no mistake.
    assert checks.attention.weights(lambda q, k, keep: RIGHT(q, k, keep).as_subclass(Agrees)).status == "passed"


@pytest.mark.parametrize("liar", [Any(3), Text("x")], ids=["int", "str"])
def test_numbers_and_words_that_equal_everything_are_looked_through(liar):
    words = {name: liar for name in answers.of("attention.unnoticed").rights[0]()}
    report = checks.attention.unnoticed(lambda: words)
    assert report.score == 0 and report.status == "failed"
    sizes = answers.of("start.sizes").rights[0]()
    assert checks.start.sizes(lambda: {name: Any(-1) for name in sizes}).score == 0


def test_what_gives_itself_out_for_a_tensor_is_refused():
    report = checks.attention.weights(lambda q, k, keep: Pretends(zeros(q, k, keep).shape))
    assert report.mistake == "wrong-type" and "pretends to be" in report.text


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "name"), [(tensors, "agree"), (torch, "allclose"), (builtins, "isinstance")])
def test_a_function_that_an_answer_replaced_is_put_back(owner, name):
    def replaces(q, k, keep):
        setattr(owner, name, lambda *_, **__: True)
        return zeros(q, k, keep)

    before = getattr(owner, name)
    report = checks.attention.weights(replaces)
    assert report.mistake == "library-changed" and "was put back" in report.text
    assert getattr(owner, name) is before


def test_nothing_is_left_of_what_an_answer_changed():
    def changes(q, k, keep):
        torch.manual_seed(7)
        np.random.seed(7)  # noqa: NPY002
        random.seed(7)
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)
        torch.autograd.set_detect_anomaly(True)
        torch.set_printoptions(precision=2, sci_mode=True)
        np.set_printoptions(precision=1)
        torch.set_num_threads(1 + torch.get_num_threads())
        sys.setrecursionlimit(777)
        sys.path.insert(0, "somewhere")
        os.environ["LEFT"] = "1"
        os.environ.pop("PATH", None)
        os.chdir("/")
        warnings.simplefilter("error")
        return RIGHT(q.float(), k.float(), keep)

    def state():
        return [
            torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate(),  # noqa: NPY002
            torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(),
            dict(vars(torch._tensor_str.PRINT_OPTS)), np.get_printoptions(), torch.get_num_threads(),
            sys.getrecursionlimit(), list(sys.path), dict(os.environ), Path.cwd(), list(warnings.filters),
        ]  # fmt: skip

    before = state()
    assert checks.attention.weights(changes).status == "passed"
    assert state() == before


def test_gradients_that_stay_switched_off_are_a_mistake_and_are_switched_on_again():
    def switches(q, k, keep):
        torch.set_grad_enabled(False)
        return RIGHT(q, k, keep)

    report = checks.attention.weights(switches)
    assert report.mistake == "gradients-left" and torch.is_grad_enabled()


def test_an_interrupt_is_a_verdict():
    import _thread
    import signal

    # A test process of many may be told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def presses_stop(q, k, keep):
        _thread.interrupt_main()
        while True:
            pass

    try:
        report = checks.attention.weights(presses_stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert report.mistake == "interrupted" and report.status == "failed"
    running = [frame.f_code for frame in sys._current_frames().values()]
    assert presses_stop.__code__ not in running, "it still runs, and slows down all that the kernel does later"


def test_a_list_that_holds_itself_ends():
    endless = []
    endless.append(endless)
    assert checks.start.sizes(lambda: endless).status == "failed"


def test_hooks_on_all_modules_are_taken_off():
    def leaves_a_hook(q, k, keep):
        torch.nn.modules.module.register_module_forward_hook(lambda *given: None)
        return q

    before = dict(torch.nn.modules.module._global_forward_hooks)
    assert checks.attention.weights(leaves_a_hook).status == "failed"
    assert dict(torch.nn.modules.module._global_forward_hooks) == before
