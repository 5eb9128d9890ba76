"""Slips that are known by the numbers of the course's own pictures and seeds, and whether those numbers are right."""

from importlib import import_module

import pytest
import torch
from conftest import cases

from vit_course import data, pretrained
from vit_course.checks.tools.experiments import recognised
from vit_course.maps import record_attention

pytestmark = pytest.mark.slow

# In its package the check has the name of this module.
way_up = import_module("vit_course.checks.maps.way_up")
RIGHT, SLIPS = [(0.5, 0.6), (0.7, 0.8)], {"doubled": [(1.0, 1.2), (1.4, 1.6)], "first": [(0.5, 0.5), (0.7, 0.7)]}


@cases(
    ("runs", "slip"),
    [
        ([(1.0, 1.2), (1.4, 1.6)], "doubled"),
        ([(1.401, 1.6), (1.0, 1.199), (1.4, 1.6)], "doubled"),
        ([(0.7, 0.7), (0.5, 0.5)], "first"),
        ([(0.5, 0.6), (0.7, 0.8)], ""),
        ([(1.0, 1.2), (0.7, 0.7)], ""),  # of two slips
        ([(1.0, 1.2), (0.7, 0.8)], ""),  # one of them right
        ([(1.0, 1.2), (0.3, 0.3)], ""),  # a picture of the learner's own
    ],
)
def test_a_slip_is_one_that_gives_every_run(runs, slip):
    assert recognised(runs, RIGHT, SLIPS, near=0.002) == slip


def test_what_is_right_is_no_slip_even_where_a_slip_gives_the_same():
    assert recognised(RIGHT[:1], RIGHT, {"same": RIGHT}, near=0.002) == ""


def test_the_way_up_of_a_photograph():
    model, preprocess, _ = pretrained.load_run("vit-s14")
    names = sorted(data.photographs())
    with torch.no_grad(), record_attention(model) as recorded:
        model.features(preprocess(data.photographs()["cat"].path))
    table = recorded.stacked()[0, 3, 4]  # (T, T)
    patches = table[1:, 1:]  # (N, N)
    measured = {
        "rescaled": (patches / patches.sum(dim=-1, keepdim=True)).diagonal(offset=-16).mean(),
        "class-token-kept": table.diagonal(offset=-16).mean(),
        "first-row-counted": patches.diagonal(offset=-16).sum() / 256,
        "largest-counted": (patches.argmax(dim=1)[16:] == torch.arange(240)).float().mean(),
    }
    index = names.index("cat")
    assert way_up.PLAIN[index] == pytest.approx(patches.diagonal(offset=-16).mean().item(), abs=2e-4)
    for slip, number in measured.items():
        assert way_up.OTHERWISE[slip][index] == pytest.approx(number.item(), abs=2e-4), slip
