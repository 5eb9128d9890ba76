"""No check lets a worked solution with one slip pass, unless the slip changes nothing that the exercise asks for.

All slips of all exercises take about three minutes of one processor; every day those of two are tried. What is taken
for a loop is cut after some seconds.
"""

import tomllib

import pytest
from conftest import ROOT, cases
from exercises import all_exercises, made_by
from mutants import mutants

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.limited import run_limited

# Their worked solutions train or measure for minutes; what they report is changed in tests/answers.
TRAINED = {"attention.how_many_heads", "maps.way_up", "evidence.luck", "capstone.trained"}
SECONDS = 60
EQUIVALENT = tomllib.loads((ROOT / "tests" / "equivalent.toml").read_text(encoding="utf-8"))
NAMES = [name for name in EXERCISES if name not in TRAINED]


EVERY_DAY = ("patchify.count", "maps.rollout")


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
class _Chapters:
    def refuses(self, name, monkeypatch):
        monkeypatch.setattr("vit_course.checks.exercise.run_limited", lambda run, _: run_limited(run, SECONDS))
        passed = {what for what, code in mutants(all_exercises()[name][1].solution) if _passes(name, code)}
        listed = {what for slips in EQUIVALENT.get(name, {}).values() for what in slips}
        assert not passed - listed, "the check lets these pass"
        assert not listed - passed, "these do not pass, or are slips no more"


class TestEveryDay(_Chapters):
    def test_every_slip_is_refused(self, monkeypatch):
        for name in EVERY_DAY:
            self.refuses(name, monkeypatch)


# A class is what one test process takes.
@pytest.mark.thorough
class TestFirstChapters(_Chapters):
    @cases("name", NAMES[: len(NAMES) // 2])
    def test_every_slip_is_refused(self, name, monkeypatch):
        self.refuses(name, monkeypatch)


@pytest.mark.thorough
class TestLastChapters(_Chapters):
    @cases("name", NAMES[len(NAMES) // 2 :])
    def test_every_slip_is_refused(self, name, monkeypatch):
        self.refuses(name, monkeypatch)


def _passes(name: str, code: str) -> bool:
    try:
        answer = made_by(name, code)
    except Exception:  # nothing is defined that could be handed in
        return False
    return EXERCISES[name].check(answer).status == "passed"


def test_the_table_of_what_changes_nothing_is_of_exercises():
    assert set(EQUIVALENT) <= set(NAMES)


SOURCE = """
def f(x, y):
    a = x.sum(dim=1) + 2 * y
    b = g(a, y)[1:]
    with torch.no_grad():
        a += b
    if not a > 0.5:
        model.train()
    return a / b
"""
SLIPS = [
    "a = x.mean(dim=1) + 2 * y", "a = x.sum(dim=2) + 2 * y", "a = x.sum() + 2 * y", "a = x.sum(dim=1) - 2 * y",
    "a = x.sum(dim=1) + 3 * y", "a = 2 * y", "a = x.sum(dim=1) + y", "a = x.sum(dim=1) + 2 * x", "b = g(y, a)[1:]",
    "b = a[1:]", "b = g(a, y)[:]", "b = g(a, y)[2:]", "a = b", "a += b", "if a > 0.5:", "if not a >= 0.5:",
    "if not a > 1.0:", "model.eval()", "return b / a", "return a", "return (a / b).double()",
    "without if not a > 0.5: | model.train()",
    "moved: b = g(a, y)[1:]", "without b = g(a, y)[1:]",
]  # fmt: skip


def test_the_generator_knows_many_kinds_of_slips():
    found = dict(mutants(SOURCE))
    assert not [slip for slip in SLIPS if slip not in found]
    assert len(set(found.values())) == len(found) and all(compile(code, slip, "exec") for slip, code in found.items())
