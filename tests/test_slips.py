"""The mistakes that the checks foresee: generated from the right answers, each wrong, each named."""

import ast
import importlib
import inspect
import re
from string import Formatter

import numpy as np
import pytest
import torch
from conftest import ROOT

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse, wrong_functions
from vit_course.checks.tools.no_gradient import any_precision

# Exercises whose checks take milliseconds, and the right function of each, where its slips have steps.
QUICK = {
    "maps.rollout": "flow",
    "evidence.held_out": "_chosen",
    "pretrained.jax": "_joined",
    "further.gradient": "_whole",
}
GENERIC = {"wrong-values", "wrong-shape", "raised-error", "hard-coded-size", "wrong-type"}
FILES = sorted(ROOT.glob("vit_course/checks/*/*.py"))
BY_SEEN = {"refuse": 1, "refuse_number": 2, "by_value": 1, "by_answer": 1}  # the place of what was seen
BY_TOOLS = {"setting", "source", "right"}  # of a run that is made again, and of the accountant


def module_of(path):
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def slips_in(value) -> list[Slip]:
    """All slips in a constant of a check."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [slip for one in value for slip in slips_in(one)]
    return [value] if isinstance(value, Slip) else []


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_every_foreseen_mistake_is_rejected_and_named(name):
    module = importlib.import_module(f"vit_course.checks.{name}")
    mistakes = wrong_functions(module.MISTAKES, getattr(module, QUICK[name]))
    assert len({mistake.slug for mistake in mistakes}) >= 8
    for mistake in mistakes:
        report = EXERCISES[name].check(mistake.function)
        assert report.status == "failed" and report.mistake not in GENERIC, (mistake, report.text)


@pytest.mark.parametrize("path", FILES)
def test_a_check_gives_its_slips_what_they_ask_for(path):
    module = module_of(path)
    for call in ast.walk(ast.parse(inspect.getsource(module))):
        place = isinstance(call, ast.Call) and BY_SEEN.get(ast.unparse(call.func))
        if not place or len(call.args) <= place or not isinstance(call.args[place], ast.Call):
            continue
        given = {keyword.arg for keyword in call.args[place].keywords}
        for slip in slips_in(getattr(module, ast.unparse(call.args[0]), None)):
            asked = {name for form in slip.forms if callable(form) for name in inspect.signature(form).parameters}
            slots = {name for _, name, *_ in Formatter().parse(slip.sentence) if name}
            assert {re.split(r"[.\[]", name)[0] for name in slots} | asked <= given | BY_TOOLS, slip.slug


@pytest.mark.parametrize("path", FILES)
def test_a_slip_has_a_slug_a_sentence_and_a_form(path):
    for slip in slips_in([*vars(module_of(path)).values()]):
        assert re.fullmatch(r"[a-z0-9-]+", slip.slug) and slip.sentence.endswith((".", "?")) and slip.forms, slip.slug


STEPS = {
    "factor": [Slip("times-three", "It is three times.", 3), Slip("times-four", "It is four times.", 4)],
    "add": [Slip("one-more", "One is added.", 1)],
    "result": [Slip("nothing", "It is nothing.", lambda x: 0 * x, lambda x: None)],
}


def scaled(x, factor=2, add=0):
    return factor * x + add


def test_slips_alone_and_together():
    mistakes = wrong_functions(STEPS, scaled, pairs=2)
    assert [(m.slug, m.function(10)) for m in mistakes] == [
        ("times-three", 30),
        ("times-four", 40),
        ("one-more", 21),
        ("nothing", 0),
        ("nothing", None),
        ("times-three-and-one-more", 31),
        ("times-four-and-one-more", 41),
    ]
    assert mistakes[5].sentence == "Two things are wrong. It is three times. One is added."
    assert [m.slug for m in wrong_functions(STEPS, scaled, only=["add"])] == ["one-more"]
    assert [m.function(10) for m in wrong_functions(STEPS["result"])] == [0, None]


def test_the_first_slip_that_is_true_refuses():
    slips = [
        Slip("too-large", "More than {most}.", lambda x, most: x > most),
        Slip("negative", "Less than 0.", lambda x: x < 0),
    ]
    refuse(slips, {"x": 3, "most": 5})
    with pytest.raises(Wrong, match=r"More than 5\.") as caught:
        refuse(slips, {"x": 6, "most": 5}, ["Received: 6"])
    assert (caught.value.mistake, caught.value.details) == ("too-large", ("Received: 6",))


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
    assert any_precision(lambda x: torch.from_numpy(x.numpy().astype(np.float64)))(torch.ones(2)).dtype == torch.float32
    assert any_precision(lambda x: x.half())(torch.ones(2)).dtype == torch.float16
    assert any_precision("no function") == "no function"
