"""The mistakes that the checks know: each wrong function and each wrong number of a table is named as it says."""

import importlib
import inspect
import re

import exercises
import numpy as np
import pytest
import torch
from conftest import ROOT

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.report import Wrong
from vit_course.checks.tools import by_hand, functions, no_gradient, put_weights
from vit_course.checks.tools.mistakes import (
    Known,
    Mistake,
    bugs_left,
    by_results,
    by_value,
    named_by_details,
    refuse,
    refuse_number,
)

FILES = sorted(ROOT.glob("vit_course/checks/*/*.py"))


def module_of(path):
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def mistakes_in(value) -> list[Mistake]:
    """All mistakes in a constant of a check."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [mistake for one in value for mistake in mistakes_in(one)]
    return [value] if isinstance(value, Mistake) else []


@pytest.mark.parametrize("path", FILES)
def test_a_mistake_has_a_slug_a_sentence_and_a_form(path):
    for one in mistakes_in([*vars(module_of(path)).values()]):
        assert re.fullmatch(r"[a-z0-9-]+", one.slug) and one.sentence.endswith((".", "?")) and one.forms, one.slug


def comparisons(name: str, monkeypatch) -> list[tuple[str, dict]]:
    """The calls that the check makes of these tools for the worked solution: the tool and its arguments by name."""
    module, found = importlib.import_module(f"vit_course.checks.{name}"), []
    for tool in ("same_function", "same_values", "same_answers"):
        for place in (module, no_gradient, put_weights):
            if not hasattr(place, tool):
                continue
            original = getattr(place, tool)

            def noted(*arguments, tool=tool, original=original, **named):
                bound = inspect.signature(original).bind(*arguments, **named)
                bound.apply_defaults()
                found.append((tool, bound.arguments))
                return original(*arguments, **named)

            monkeypatch.setattr(place, tool, noted)
    report = EXERCISES[name].check(exercises.solution(name))
    assert report.status == "passed", report.text
    return found


# Of tables, not those that ask the answer itself.
IN_TABLES = {(one.slug, one.sentence) for path in FILES for one in mistakes_in([*vars(module_of(path)).values()])}
# The others repeat runs, which takes long.
COMPARED = [name for name in EXERCISES if not exercises.repeats_runs(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPARED)
def test_each_mistake_of_a_table_is_named_by_its_own_name(name, monkeypatch):
    verdicts: dict[tuple, set[str]] = {}  # of each mistake, by slug, sentence and number of the form or the answer
    for tool, given in comparisons(name, monkeypatch):
        if tool == "same_answers":
            for key, value in given["expected"].items():
                for wrong, (slug, sentence) in (given["mistakes"] or {}).get(key, {}).items():
                    wrong = wrong[0] if isinstance(wrong, range) else wrong
                    seen = verdicts.setdefault((slug, sentence, f"{key} = {wrong}"), set())
                    seen.add(verdict(by_hand.same_answer, wrong, value, given["mistakes"][key]))
            continue
        for mistake in given["mistakes"]:
            forms = mistake.functions(given["reference"]) if (mistake.slug, mistake.sentence) in IN_TABLES else ()
            for number, form in enumerate(forms):
                seen = verdicts.setdefault((mistake.slug, mistake.sentence, number), set())
                seen.add(verdict(getattr(functions, tool), **{**given, "answer": form}))
    # What is right for one of several comparisons must be refused by another.
    misnamed = [(mistake, names) for mistake, names in verdicts.items() if names - {"passes"} != {mistake[0]}]
    assert not misnamed, "\n".join(map(str, misnamed))


def verdict(function, *arguments, **named) -> str:
    """The name of the mistake that the function raises, or "passes"."""
    try:
        function(*arguments, **named)
    except Wrong as wrong:
        return wrong.mistake
    return "passes"


def doubled(x, factor=2, add=0):
    return factor * x + add


def test_a_dict_of_steps_is_the_right_function_with_these_replaced():
    mistake = Mistake("wrong", "It is wrong.", {"factor": 3}, {"factor": 4, "add": 1}, lambda x: 0 * x)
    assert [function(10) for function in mistake.functions(doubled)] == [30, 41, 0]


def test_of_a_faulty_version_it_is_said_how_many_bugs_are_repaired():
    bugs = [Mistake(name, f"This is {name}.", {name: 0}) for name in "abc"]
    assert [(one.slug, one.sentence, one.forms) for one in bugs_left(*bugs)] == [
        (
            "still-faulty",
            "The 3 bugs of the faulty version are still there.",
            ({"a": 0, "b": 0, "c": 0},),
        ),
        ("bugs-left", "1 of the 3 bugs is repaired.", ({"a": 0, "b": 0}, {"a": 0, "c": 0}, {"b": 0, "c": 0})),
        ("a", "2 of the 3 bugs are repaired. This is a.", ({"a": 0},)),
        ("b", "2 of the 3 bugs are repaired. This is b.", ({"b": 0},)),
        ("c", "2 of the 3 bugs are repaired. This is c.", ({"c": 0},)),
    ]


def test_the_first_mistake_whose_condition_is_true_is_refused():
    mistakes = [
        Mistake("too-large", "More than {most}.", lambda seen: seen.x > seen.most),
        Mistake("negative", "Less than 0.", lambda seen: seen.x < 0),
    ]
    refuse(mistakes, x=3, most=5)
    with pytest.raises(Wrong, match=r"More than 5\.") as caught:
        refuse(mistakes, ["Received: 6"], x=6, most=5)
    assert (caught.value.mistake, caught.value.details) == ("too-large", ("Received: 6",))


def test_a_number_is_refused_by_the_first_mistake_that_has_it():
    mistakes = [Mistake("one", "It is one.", 1.0), Mistake("ones", "They are ones.", 1.0, 11.0)]
    assert by_value(mistakes) == {1.0: ("one", "It is one."), 11.0: ("ones", "They are ones.")}
    refuse_number(mistakes, 1.01, [])
    with pytest.raises(Wrong, match=r"They are ones\."):
        refuse_number(mistakes, 11.0001, [])


def test_a_mistake_that_is_known_by_its_result_is_not_known_by_an_error():
    (mistake,) = by_results([Mistake("divided", "It is divided.", lambda x: 1 / x)])
    (function,) = mistake.functions()
    assert function(2) == 0.5
    with pytest.raises(LookupError):
        function(0)


def test_a_generic_verdict_is_named_by_its_details():
    known = Known(r"Received: \(\d+,\)$", "in-one-line", "It lies in one line.")
    for slug, received, expected in (
        ("wrong-shape", "Received: (6,)", "in-one-line"),
        ("wrong-shape", "Received: (6, 1)", "wrong-shape"),
        ("not-finite", "Received: (6,)", "not-finite"),
    ):
        with pytest.raises(Wrong) as caught, named_by_details(known):
            raise Wrong(slug, "As it was.", [received])
        assert (caught.value.mistake, caught.value.details) == (expected, (received,))


def test_where_no_gradient_is_needed_a_result_of_numpy_is_rounded():
    rounded = no_gradient.any_precision
    assert rounded(lambda x: torch.from_numpy(x.numpy().astype(np.float64)))(torch.ones(2)).dtype == torch.float32
    assert rounded(lambda x: x.half())(torch.ones(2)).dtype == torch.float16
    assert rounded("no function") == "no function"
