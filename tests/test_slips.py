"""The mistakes that the checks foresee: generated from the right answers, each wrong, each named."""

import importlib

import numpy as np
import pytest
import torch
from conftest import cases

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.report import Wrong
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details, slips

# Exercises with a table of mistakes, and its name in the exercise's file; those whose checks take milliseconds.
TABLES = {
    "maps.rollout": "_MISTAKES",
    "evidence.held_out": "_MISTAKES",
    "pretrained.jax": "_MISTAKES",
    "further.gradient": "_GRADIENTS",
}
GENERIC = {"wrong-values", "wrong-shape", "raised-error", "hard-coded-size", "wrong-type"}


@pytest.mark.slow
@cases("name", TABLES)
def test_every_foreseen_mistake_is_rejected_and_named(name):
    mistakes = getattr(importlib.import_module(f"vit_course.checks.{name}"), TABLES[name])
    slugs = {mistake.slug for mistake in mistakes}
    assert len(slugs) >= 8
    for mistake in (one for one in mistakes if "-and-" not in one.slug):
        report = EXERCISES[name].check(mistake.function)
        assert report.status == "failed" and report.mistake not in GENERIC, (mistake, report.text)


def scaled(x, factor=2, add=0):
    return factor * x + add


STEPS = {
    "factor": [(3, "times-three", "It is three times."), (4, "times-four", "It is four times.")],
    "add": [(1, "one-more", "One is added.")],
}


def test_slips_alone_and_together():
    mistakes = slips(scaled, STEPS)
    assert [(m.slug, m.function(10)) for m in mistakes] == [
        ("times-three", 30),
        ("times-four", 40),
        ("one-more", 21),
        ("times-three-and-one-more", 31),
        ("times-four-and-one-more", 41),
    ]
    assert mistakes[3].sentence == "Two things are wrong. It is three times. One is added."


def test_as_many_slips_together_as_are_likely():
    assert [m.slug for m in slips(scaled, STEPS, likely=1)][3:] == ["times-three-and-one-more"]
    assert len(slips(scaled, STEPS, likely=0)) == 3


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
