"""Every answer kept here is judged as it should be: right ones pass, wrong ones are named."""

import inspect
import re
import subprocess
import sys

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


def misjudged(name: str, right=(), wrong=(), seeds=(0,)) -> list[str]:
    """-> each answer that a check does not judge as it should, with what the check says."""
    found = []

    def note(answer, should: str, report) -> None:
        found.append(f"{answers.code_of(answer)}\nshould be {should}:\n{report.text}")

    for answer in right:
        for seed in seeds:
            if not is_passed(report := EXERCISES[name].check(answer, seed=seed)):
                note(answer, f"right with seed {seed}", report)
    for mistake, answer in wrong:
        report = EXERCISES[name].check(answer)
        if not (is_shown(report) if mistake == answers.UNKNOWN else is_named(report, mistake)):
            note(answer, mistake, report)
    return found


EXPERIMENTS = [name for name in NAMES if exercises.repeats_runs(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in EXPERIMENTS])
def test_every_answer_is_judged_as_it_should_be(name, thorough):
    kept = answers.of(name)
    right = [exercises.made_by(name, exercises.all_exercises()[name][1].solution), *kept.rights]
    assert "\n\n".join(misjudged(name, right, kept.wrongs, (0, 1, 20_26) if thorough else (0,))) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EXPERIMENTS[::3], *thoroughly(*(EXPERIMENTS[1::3] + EXPERIMENTS[2::3]))])
def test_every_report_of_an_experiment_is_judged_as_it_should_be(name, thorough):
    kept = answers.of(name)
    right, wrong = (kept.rights, kept.wrongs) if thorough else (kept.rights[:1], kept.wrongs[:1])
    assert "\n\n".join(misjudged(name, right, wrong, (0, 1) if thorough else (0,))) == ""


def test_an_exercise_and_its_answers_lie_where_its_name_says():
    for name, one in EXERCISES.items():
        chapter, exercise = name.split(".")
        file = ROOT / "vit_course" / "checks" / chapter / f"{exercise}.py"
        found = getattr(getattr(checks, chapter), exercise)
        assert found is one.check and inspect.unwrap(found).__code__.co_filename == str(file)
        assert file.read_text(encoding="utf-8").startswith(f'"""Exercise {name}: ')
        kept = answers.of(name)
        slugs = {mistake for mistake, _ in kept.wrongs}
        assert kept.exercise == name and len(kept.rights) >= 3, name
        assert answers.UNKNOWN in slugs and len(slugs) >= 4, name
    kept = {".".join(file.with_suffix("").parts[-2:]) for file in (ROOT / "tests" / "answers").glob("*/[a-z]*.py")}
    assert kept == {*NAMES}


def test_an_edit_that_changes_more_than_a_token_is_no_edit():
    kept = answers.Answers("attention.weights")
    for old, new in (("dim=-1", "-1"), ("scores.softmax(dim=-1)", "scores"), ("not there", "")):
        with pytest.raises(AssertionError, match=r"use @answers\.wrong|is not in"):
            kept.edits(("no-scale", old, new))
    assert not kept.wrongs


@pytest.mark.slow
def test_ruff_finds_nothing_wrong_in_an_edited_solution(tmp_path):
    for name in NAMES:
        for number, code in enumerate(answers.of(name).edited):
            file = tmp_path / f"{name}_{number}.py"
            file.write_text("\n".join([*exercises.given(name), code]), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F821,F823", str(tmp_path)]
    found = subprocess.run(ruff, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
