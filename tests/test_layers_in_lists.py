"""Layers that are no modules of their own, as vit-pytorch's: changed as the same layers in modules."""

import copy

import by_hand
import published
import pytest
import torch
import vit_pytorch
from published import shaken
from test_recording import hooks
from torch import nn

from vit_course.explorer import explore
from vit_course.maps import (
    cut,
    describe,
    effects,
    hide,
    intervene,
    patched,
    record_attention,
    replaced,
    reweighted,
    without_branch,
    without_head,
    without_layer,
    without_neurons,
)
from vit_course.maps.interventions.forward_pass import ForwardPass

pytestmark = pytest.mark.slow

SIZE = (14, 21)


class Layer(nn.Module):
    def __init__(self, attention, mlp):
        super().__init__()
        self.attention, self.mlp = attention, mlp

    def forward(self, x):
        x = self.attention(x) + x
        return self.mlp(x) + x


class InModules(nn.Module):
    """vit-pytorch's transformer, each of its layers a module."""

    def __init__(self, layers, norm):
        super().__init__()
        self.layers, self.norm = nn.Sequential(*(Layer(*pair) for pair in layers)), norm

    def forward(self, x):
        return self.norm(self.layers(x))


class InModulesViT(vit_pytorch.ViT):
    """vit-pytorch's ViT with such a transformer."""


describe(
    InModulesViT, "transformer.layers", "attention", "to_patch_embedding.0", {"class token": "cls_token"},
    "transformer.norm",
)  # fmt: skip


@pytest.fixture
def pair():
    """A model whose layers are no modules, and the same whose layers are."""
    model = shaken(published.vit_pytorch_vit(SIZE)).double()
    other = copy.deepcopy(model)
    other.transformer, other.__class__ = InModules(other.transformer.layers, other.transformer.norm), InModulesViT
    return model, other


def images(count=2):
    return torch.randn(count, 3, *SIZE).double()


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


def changes(picture, tokens):
    slices = slice(1, None)
    return [
        [without_head(1, 2)], [without_head(slices, 0, picture)], [reweighted(2, 1)], [reweighted(0, [0, 2], picture)],
        [without_branch(1, "attention")], [without_branch([0, 2], "mlp", "token mean")],
        [without_branch(1, "mlp", picture)],
        [without_layer(1)], [without_layer(2, picture)], [without_layer(0, lambda x: x.roll(1, 1))],
        [hide(2)], [hide([0, 3], slices)], [cut(0, slice(2, 5), 1)], [patched([2, 3], 1, picture)],
        [patched(0, 0, picture), patched(1, 2, torch.ones(1, tokens, 36))], [without_neurons(1, 3)],
        [replaced("queries", 1, 0)], [replaced("keys", slices, 1, picture)], [replaced("values", 0, 1, "token mean")],
        [patched(1, 1, picture), without_layer(1, lambda x: x / 2), hide(0), without_head(2, 1)],
    ]  # fmt: skip


@torch.no_grad()
def test_every_change_is_that_of_layers_in_modules(pair):
    model, other = pair
    x, before = images(), hooks(model)
    plain = model(x)
    close(plain, other(x))
    for several in changes(images(1), 7):
        with intervene(model, several):
            found = model(x)
        with intervene(other, several):
            close(found, other(x))
        assert (found - plain).abs().max() > 1e-6, several[0].name
        half = len(several) // 2 or 1
        with intervene(model, several[:half]), intervene(model, several[half:]):
            nested = model(x)
        with intervene(other, several[:half]), intervene(other, several[half:]):
            close(nested, other(x))
    assert hooks(model) == before and torch.equal(model(x), plain)


def test_by_hand():
    library = by_hand.VIT_PYTORCH
    model, x = library.model().double(), images()
    for layer, part in ((1, library.attention), (2, library.mlp)):
        branch = "attention" if part == library.attention else "mlp"
        other = by_hand.with_part(library, model, layer, part, lambda _, out: torch.zeros_like(out))
        with torch.no_grad(), intervene(model, [without_branch(layer, branch)]):
            close(model(x), other(x).detach())
    halved = by_hand.without_columns(library, model, 1, 2, by=0.5)
    with torch.no_grad(), intervene(model, [without_head(1, 2, lambda y: y / 2)]):
        close(model(x), halved(x).detach())


@torch.no_grad()
def test_recorded_and_nested_as_they_are_used(pair):
    model, other = pair
    x, several = images(), [patched(1, 1, images(1)), hide(2), reweighted(2, 1)]
    found = []
    for one in (model, other):
        with intervene(one, several), record_attention(one) as inside:
            one(x)
        with record_attention(one) as outside, intervene(one, several[:1]), intervene(one, several[1:]):
            one(x)
        found += [inside.stacked(), outside.stacked()]
    for maps in found[1:]:
        close(maps, found[0])


def test_effects(pair):
    model, other = pair
    x = images(1)
    for options in (
        {}, {"by": images(1), "batch_size": 4}, {"kind": "patches", "of": 2}, {"kind": "branches"},
        {"kind": "layers", "of": 0},
    ):  # fmt: skip
        found, expected = (effects(one, x, progress=False, **options).values for one in pair)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-9)
        assert expected.max() > 1e-6
    with intervene(model, [hide(1)]), intervene(other, [hide(1)]):
        found, expected = (effects(one, x, progress=False, of=3).values for one in pair)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-9)


@torch.no_grad()
def test_a_pass_and_what_follows(pair):
    x, y, seen = images(), images(), []
    for model in pair:
        seen.append(ForwardPass(model))
        with seen[-1].listening():
            out = model(x)
        close(seen[-1].read(y, seen[-1].tokens()[-1]), out)  # the model no longer knows which picture it sees
    for one, other in zip(*([*each.tokens(), each.features] for each in seen), strict=True):
        close(one, other)
    assert len(seen[0].tokens()) == 4


def test_the_explorer_shows_and_tests_them(pair):
    x, names = images(1)[0].float(), list("abcde")
    shown = [explore(model.float(), x, effects=True, labels=names) for model in pair]
    for one, other in zip(*(each._panels[0]["says"]["lens"] for each in shown), strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-4, atol=1e-5)
    change = [{"kind": "head", "layer": 1, "head": 2, "by": "zero"}, {"kind": "hide", "patches": [3]}]
    rows = [torch.from_numpy(each._changes[0].turned([change])) for each in shown]
    torch.testing.assert_close(*rows, rtol=1e-3, atol=1e-6)
    assert rows[0].max() > 1e-5 and [each._changes[0].panel(change)["says"] is not None for each in shown] == [True] * 2
