"""Every check: stubs are not attempted, nothing makes it raise, what comes back is looked at, time is limited."""

import ast
import inspect
import itertools
import sys
import time
from textwrap import dedent

import answers
import exercises
import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import nn

from vit_course import checks
from vit_course.checks import timeout
from vit_course.checks.exercise import EXERCISES
from vit_course.checks.report import Wrong

NAMES = list(EXERCISES)


def check(name, answer, **options):
    return EXERCISES[name].check(answer, **options)


@pytest.mark.slow
def test_a_text_is_the_same_each_time(some):
    for name in some(NAMES, 5):
        for _, answer in some(answers.of(name).wrongs, 2):
            assert check(name, answer).text == check(name, answer).text, name


def test_a_check_that_takes_a_draw_uses_it():
    # One that does not is run once in a classroom, where others have hidden draws too.
    for name, one in EXERCISES.items():
        nodes = ast.walk(ast.parse(dedent(inspect.getsource(one.check.__wrapped__))))
        assert one.draws == any(isinstance(node, ast.Name) and node.id == "draw" for node in nodes), name


@pytest.mark.slow
def test_no_stub_is_attempted():
    for name in NAMES:
        report = check(name, exercises.stub(name))
        assert (report.status, report.score, report.mistake) == ("not attempted", 0.0, None), name


# ---- whatever comes


def endless(*_, **__):
    while True:
        pass


class Endless(nn.Module):
    def __init__(self, *_, **__):
        super().__init__()
        while True:
            pass


def raises(*_, **__):
    raise KeyError("a learner's error")


def leaves(*_, **__):
    sys.exit(3)


def gives(value):
    return lambda *_, **__: value


HOSTILE = {
    "None": None,
    "a number": 3,
    "a string": "attention",
    "an array": np.zeros((2, 3)),
    "a tensor": torch.zeros(2, 3),
    "a class that is no module": object,
    "a module instance": nn.Linear(2, 3),
    "a module class": nn.Linear,
    "a module": torch,
    "raises": raises,
    "exits": leaves,
    "returns None": gives(None),
    "returns a number": gives(1.5),
    "returns numpy": gives(np.ones((2, 3))),
    "returns NaN": gives(torch.full((2, 3), torch.nan)),
    "returns meta": gives(torch.zeros(2, 3, device="meta")),
    "returns float64": gives(torch.zeros(2, 3, dtype=torch.float64)),
    "returns an empty tensor": gives(torch.zeros(0)),
    "returns a list": gives([1, [2, None]]),
    "returns itself": lambda *a, **k: a[0] if a else {},
    "returns a strange dict": gives({1: object(), None: None}),
    "returns a module": gives(nn.Identity()),
    "endless recursion": lambda *a, **k: HOSTILE["endless recursion"](*a, **k),
    "a string subclass": gives(type("S", (str,), {})("a")),
}


@pytest.mark.slow
def test_nothing_makes_a_check_raise(thorough):
    things = list(HOSTILE)
    for place, name in enumerate(NAMES):
        # Every day each exercise meets one of them, and each of them two or three exercises.
        for thing in things if thorough else [things[place % len(things)]]:
            report = check(name, HOSTILE[thing])
            judged = report.status == "failed" and report.mistake and report.score < 1 and len(report.text) < 2_000
            assert judged, (name, thing, report.text)


def spoilt(change):
    """A right answer, then changed."""
    return lambda q, k, keep: change(answers.of("attention.weights").rights[0](q, k, keep))


SPOILT = [
    ("wrong-device", lambda out: out.to("meta")),
    ("not-finite", lambda out: out / (out < 9).logical_not()),
    ("wrong-dtype", lambda out: out.double()),
    ("wrong-shape", lambda out: out[:, :, 1:]),
    ("numpy-array", lambda out: out.detach().numpy()),
    ("wrong-type", lambda out: (out, out)),
    ("returned-nothing", lambda out: None),
    ("wrong-values", lambda out: nn.functional.one_hot(out.argmax(-1), out.shape[-1]).float()),
    ("gradient-cut", lambda out: out.detach()),
]


@pytest.mark.slow
def test_what_comes_back_is_looked_at_in_every_way():
    for mistake, change in SPOILT:
        report = check("attention.weights", spoilt(change))
        assert report.mistake == mistake, report.text
        assert mistake == "gradient-cut" or "Input:    q = tensor (9, 10, 6, 5)" in report.text


def test_an_operation_that_torch_has_not_is_an_error_and_no_stub():
    def answer(q, k, keep):
        raise NotImplementedError("'softmax' not implemented for 'Half'")

    assert check("attention.weights", answer).mistake == "raised-error"


@pytest.fixture
def within(monkeypatch):
    """A check with other limits: seconds of the processor, and how many more by the clock."""

    def check_within(name, answer, seconds, clock=30.0):
        monkeypatch.setattr("vit_course.checks.exercise.run_limited", lambda f, _: timeout.run_limited(f, seconds))
        monkeypatch.setattr(timeout, "LEAST", clock)
        monkeypatch.setattr(timeout, "MOST", clock)
        return check(name, answer)

    return check_within


@pytest.mark.slow
@pytest.mark.parametrize("answer", [endless, Endless])
def test_what_never_returns_is_stopped(within, answer):
    report = within("attention.weights" if answer is endless else "capstone.attention", answer, 0.5)
    assert report.mistake == "never-returned"
    assert "It was then at line" in report.text and "could not be stopped" not in report.text


@pytest.mark.slow
def test_what_waits_is_not_stopped_by_its_processor_time(within):
    report = within("attention.weights", lambda q, k, keep: time.sleep(6), 1, clock=0.2)
    assert report.mistake == "never-returned" and "waiting for something" in report.text
    assert "restart the kernel" in report.text


@pytest.mark.slow
def test_what_works_and_then_waits_is_told_so(within):
    def works_then_waits(q, k, keep):
        while time.thread_time() < 0.4:  # of the processor
            pass
        time.sleep(6)

    report = within("attention.weights", works_then_waits, 1, clock=0.8)
    assert report.mistake == "never-returned" and "waiting for something" in report.text


@pytest.mark.parametrize("name", ["_Stop", "Wrong"])
def test_the_checks_own_exceptions_win_nothing(name):
    def raises(q, k, keep):
        raise timeout._Stop if name == "_Stop" else Wrong("none", "Nothing is wrong.")

    assert (check("attention.weights", raises).status, check("attention.weights", raises).score) == ("failed", 0.0)


@pytest.mark.slow
def test_on_a_busy_machine_nothing_is_said_of_an_answer(within, monkeypatch):
    used = itertools.count(0.0, 0.008)  # of the second that the check gives, looked at fifty times a second
    monkeypatch.setattr(timeout, "_processor_time", lambda threads: next(used))
    report = within("attention.weights", endless, 1, clock=0.3)
    assert (report.status, report.mistake, report.score) == ("not attempted", "machine-busy", 0.0)
    assert "The machine is busy: your code got" in report.text


def test_output_random_state_and_dtype_are_as_before(capsys):
    def noisy(q, k, keep):
        print("one\ntwo")
        torch.manual_seed(99)
        torch.set_default_dtype(torch.float64)
        return answers.of("attention.weights").rights[0](q, k, keep)

    torch.manual_seed(5)
    before = torch.get_rng_state()
    report = check("attention.weights", noisy)
    assert torch.equal(before, torch.get_rng_state()) and torch.get_default_dtype() == torch.float32
    assert capsys.readouterr().out == "" and "printed" in report.text


def test_state_between_calls_is_found():
    seen = []

    def remembers(q, k, keep):
        seen.append(1)
        return answers.of("attention.weights").rights[0](q, k, keep) * (
            1.0 if len(seen) < 7 else 2.0
        )  # two calls for each of three draws

    assert check("attention.weights", remembers).mistake == "keeps-state"


def test_partial_credit():
    wrong = dict.fromkeys(["traded", "key_constant", "token_copied"], "moved")
    words = answers.of("attention.unnoticed").rights[0]() | wrong
    report = check("attention.unnoticed", lambda: words)
    assert report.score == 0.5 and report.status == "failed" and "in part, 0.50 of 1" in report.text


def test_the_page_on_use_shows_what_a_check_says():
    columns = dict(answers.of("attention.weights").wrongs)["softmax-over-queries"]
    assert f"```\n{check('attention.weights', columns)}\n```" in (ROOT / "docs" / "use.md").read_text()


def test_the_checks_keep_to_their_words():
    for name, one in EXERCISES.items():
        assert one.difficulty in (1, 2, 3) and 2 <= one.minutes <= 40 and one.check.__doc__, name
        folder, own = name.split(".")
        assert hasattr(getattr(checks, folder), own)
