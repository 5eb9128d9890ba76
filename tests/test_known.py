"""Slips that are known by the numbers of the course's own pictures and seeds, and whether those numbers are right."""

from importlib import import_module

import pytest
import torch
import torch.nn.functional as F
from conftest import cases

from vit_course import data, pretrained
from vit_course.checks.pretrained import overlaps
from vit_course.checks.tools.experiments import recognised
from vit_course.maps import controls, interpret, record_attention

pytestmark = pytest.mark.slow

# In its package the check has the name of this module.
luck = import_module("vit_course.checks.evidence.luck")
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


def test_the_luck_of_a_seed():
    test = data.shapes().test[:400]
    model = controls.random_weights(pretrained.load("shapes"), 2)
    with torch.no_grad(), record_attention(model) as recorded:
        model(data.shapes().normalise(test.images))
    maps = recorded.stacked()[:, :, :, 0, 1:].unflatten(-1, (8, 8))
    scores = interpret.mask_score(maps, test.masks[:, None, None]).flatten(1)  # (B, L * h)
    best = scores[:5].mean(dim=0).argmax()
    found = {
        "chosen-anew": (scores[:5, best].mean(), scores[200:].mean(dim=0).max()),
        "all-heads-averaged": (scores[:5, best].mean(), scores[200:].mean()),
        "other-images": (scores[:5, best].mean(), scores[:, best].mean()),
        "a-head-for-each-image": (scores[:5].amax(dim=1).mean(), scores[200:, best].mean()),
    }
    assert [row[2] for row in luck.RIGHT] == pytest.approx(
        [scores[:5, best].mean().item(), scores[200:, best].mean().item()], abs=2e-4
    )
    for slip, numbers in found.items():
        assert luck.KNOWN[slip][2] == pytest.approx([number.item() for number in numbers], abs=2e-4), slip


def test_the_overlaps_of_a_photograph():
    names = ("astronaut", "cat", "coffee", "dahlia", "grace_hopper", "pagoda", "photographer")
    model, preprocess, _ = pretrained.load_run("vit-s14")
    photographs = data.photographs()
    images = torch.cat([preprocess(photographs[name].path) for name in names])
    masks = torch.stack([photographs[name].mask(preprocess).float() for name in names])[:, None]
    objects = (F.avg_pool2d(masks, 14) > 0.5).flatten(1)  # (7, N)
    with torch.no_grad():
        found = pretrained.stages(model, images)
        for index, block in enumerate((2, 5, 8, 11)):
            tokens = found[f"block {block}: after MLP"][:, 1:]
            marked = pretrained.fit_linear_head(tokens[3], objects[3].long())(tokens).argmax(dim=-1).bool()
            shares = (marked & objects).sum(dim=1) / (marked | objects).sum(dim=1)
            assert overlaps.RIGHT[3][index] == pytest.approx(((shares.sum() - shares[3]) / 6).item(), abs=0.012)
            assert overlaps.ITSELF[3][index] == pytest.approx(shares[3].item(), abs=0.012)
