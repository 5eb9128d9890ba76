"""Every answer kept here is judged as it should be: right ones pass, wrong ones are named."""

import ast
import inspect
import re

import answers
import exercises
import pytest
from conftest import ROOT, thoroughly

from vit_course import checks
from vit_course.checks.exercise import EXERCISES

NAMES = list(EXERCISES)
GENERIC = {"wrong-values", "wrong-shape", "wrong-answer", "wrong-parameters", "wrong-behaviour", "not-repeated"}


def is_passed(report) -> bool:
    return (report.status, report.score, report.mistake) == ("passed", 1.0, None)


def is_named(report, mistake: str) -> bool:
    named = (report.status, report.mistake) == ("failed", mistake)
    return named and report.score < 1


def is_shown(report) -> bool:
    """Whether a mistake that the check does not know is refused with what was expected, in a picture too."""
    shown = report.mistake == "wrong-answer"  # worked out by hand: the right number is not shown
    shown = shown or ("Expected: " in report.text and "Received: " in report.text)
    shown = shown or bool(re.search(r"Received: \d+ of \d+ numbers differ", report.text))  # of weights nobody sees
    shown = shown or (report.mistake == "wrong-behaviour" and "Received: " in report.text)  # what is due stands first
    drawn = report.expected is None or bool(report.figure().axes)
    return report.status == "failed" and report.mistake in GENERIC and shown and drawn


def misjudged(name: str, right=(), wrong=(), unforeseen=(), seeds=(0,)) -> list[str]:
    """-> each answer that a check does not judge as it should, with what the check says."""
    found = []

    def note(answer, should: str, report) -> None:
        found.append(f"{answers.source(answer)}\nshould be {should}:\n{report.text}")

    for (answer,) in right:
        for seed in seeds:
            if not is_passed(report := EXERCISES[name].check(answer, seed=seed)):
                note(answer, f"right with seed {seed}", report)
    for answer, mistake in wrong:
        if not is_named(report := EXERCISES[name].check(answer), mistake):
            note(answer, mistake, report)
    for (answer,) in unforeseen:
        if not is_shown(report := EXERCISES[name].check(answer)):
            note(answer, "wrong, without a name", report)
    return found


def named_by_training(name: str) -> set[str]:
    """The mistakes that a check knows by what other runs give: those of one exercise are met every day."""
    module = inspect.getmodule(inspect.unwrap(EXERCISES[name].check))
    return set() if name == "vit.large_head" else {slip.slug for slip in getattr(module, "AGAIN", ())}


def repeats_runs(name: str) -> bool:
    """Whether a check trains or measures again what an answer reports, which takes seconds for each answer."""
    return hasattr(inspect.getmodule(inspect.unwrap(EXERCISES[name].check)), "made_again")


# The checks that take longest: one in three every day.
LATE = {name for place, name in enumerate(filter(repeats_runs, NAMES)) if place % 3 < 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(name for name in NAMES if name not in LATE), *thoroughly(*sorted(LATE))])
def test_every_answer_is_judged_as_it_should_be(name, thorough):
    seeds = (0, 1, 20_26) if thorough else (0,)
    right = [(exercises.solution(name),), *answers.RIGHT[name]]
    wrong, unforeseen = answers.WRONG[name], answers.UNFORESEEN[name]
    if not thorough:  # a quarter of the mistakes, from the first to the last, or one, and of each one answer
        late = named_by_training(name)
        one_each = list({mistake: (answer, mistake) for answer, mistake in wrong[::-1] if mistake not in late}.values())
        right, wrong = right[1:2], one_each[:1] if repeats_runs(name) else one_each[::4]
        unforeseen = [] if late else unforeseen[:1]
    assert "\n\n".join(misjudged(name, right, wrong, unforeseen, seeds)) == ""


@pytest.mark.slow
def test_a_right_and_a_wrong_answer_to_every_third_exercise():
    some = [name for name in NAMES if not named_by_training(name)][::3]
    found = [fault for name in some for fault in misjudged(name, answers.RIGHT[name][:1], answers.WRONG[name][:1])]
    assert "\n\n".join(found) == ""


def test_an_exercise_and_its_answers_lie_where_its_name_says():
    words = {"right", "wrong", "unforeseen", "same_as"}
    for name, one in EXERCISES.items():
        chapter, exercise = name.split(".")
        file = ROOT / "vit_course" / "checks" / chapter / f"{exercise}.py"
        found = getattr(getattr(checks, chapter), exercise)
        assert found is one.check and inspect.unwrap(found).__code__.co_filename == str(file)
        assert file.read_text(encoding="utf-8").startswith(f'"""Exercise {name}: ')
        beside = ROOT / "tests" / "answers" / chapter / f"{exercise}.py"
        tree = ast.parse(beside.read_text(encoding="utf-8") if beside.exists() else "")
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert {call.args[0].value for call in calls if getattr(call.func, "id", None) in words} <= {name}
        assert len(answers.RIGHT[name]) >= 3 and answers.UNFORESEEN[name], name
        assert len({mistake for _, mistake in answers.WRONG[name]}) >= 4, name
    for file in (ROOT / "tests" / "answers").glob("*/[a-z]*.*"):
        own = [name.split(".")[1] for name in NAMES if name.startswith(f"{file.parent.name}.")]
        assert file.stem.startswith((*own, "shared")), f"{file} has the answers to no exercise"
