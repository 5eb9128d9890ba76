"""Interventions: equal to changes of the model made by hand, composable, recorded as they are, and gone afterwards."""

import threading

import by_hand
import published
import pytest
import torch
import torch.nn.functional as F
from by_hand import LIBRARIES, OURS
from test_recording import hooks

from vit_course import attention
from vit_course.maps import (
    attention_gradients,
    cut,
    hide,
    intervene,
    patched,
    record_attention,
    reweighted,
    without_branch,
    without_head,
    without_layer,
)

pytestmark = pytest.mark.slow


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=3e-6)


def changed(model, interventions, images):
    before = hooks(model)
    with torch.no_grad(), intervene(model, interventions) as same:
        out = published.logits(model, images)
    assert same is model and hooks(model) == before
    assert not any("forward" in vars(module) for module in model.modules())
    return out


def same_as(library, model, interventions, other, images):
    """Equal to the model changed by hand, and by far not to the model itself."""
    found = changed(model, interventions, images)
    with torch.no_grad():
        close(found, published.logits(other, images))
        assert (found - published.logits(model, images)).abs().max() > 1e-3


def mean(x):
    return x.mean(dim=1, keepdim=True).expand_as(x)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("by", ["token mean", "zero", "picture", "pictures"])
def test_a_head_replaced(name, by):
    library = LIBRARIES[name]
    model, images = library.model(), library.images()
    pictures = library.images(2 if by == "pictures" else 1)
    alone = by_hand.one_head(library, model, 1, 2)
    with torch.no_grad():
        there = alone(by_hand.came_in(library, model, 1, library.attention, pictures))
    fill = {"token mean": mean, "zero": torch.zeros_like}.get(by, lambda x: there.expand_as(x))

    def replaced(x, out):
        said = alone(x)
        return out - said + fill(said)

    other = by_hand.with_part(library, model, 1, library.attention, replaced)
    same_as(library, model, [without_head(1, 2, by=pictures if "picture" in by else by)], other, images)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("part", ["attention", "mlp", ""])
@pytest.mark.parametrize("by", ["token mean", "zero", "picture"])
def test_a_branch_or_a_layer_replaced(name, part, by):
    library = LIBRARIES[name]
    model, images, picture = library.model(), library.images(), library.images(1)
    path = getattr(library, part) if part else ""
    given = []
    by_hand.with_part(library, model, 1, path, lambda x, out: given.append(out if part else out - x) or out)(picture)
    fill = {"token mean": mean, "zero": torch.zeros_like}.get(by, lambda x: given[0].expand_as(x))
    other = by_hand.with_part(library, model, 1, path, lambda x, out: fill(out) if part else x + fill(out - x))
    how = picture if by == "picture" else by
    same_as(library, model, [without_branch(1, part, how) if part else without_layer(1, how)], other, images)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("limit", [0, 10_000])  # ours: the fused path, the explicit path
def test_keys_hidden_and_paths_cut(name, limit, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    library = LIBRARIES[name]
    model, images, count = library.model(), library.images(), library.num_tokens
    hidden = torch.ones(count, count, dtype=torch.bool)
    hidden[:, [1, 4]] = False  # patches 0 and 3 behind the class token
    cutting = torch.ones(count, count, dtype=torch.bool)
    cutting[0, 2:5] = False
    for interventions, keep, layers in (
        ([hide([0, 3])], hidden, range(3)),
        ([hide(torch.tensor([0, 3]), layers=slice(1, None))], hidden, range(1, 3)),
        ([cut(0, range(2, 5), layers=[1])], cutting, range(1, 2)),
        ([cut(0, slice(2, 5)), hide((3, 0))], cutting & hidden, range(3)),
    ):
        other = by_hand.with_mask(library, model, layers, keep)
        same_as(library, model, interventions, other, images)
        expected = by_hand.maps_of(library, other, images)
        with torch.no_grad(), record_attention(model) as outside:
            changed(model, interventions, images)
        with torch.no_grad(), intervene(model, interventions), record_attention(model) as inside:
            model(images)
        for maps in (outside.stacked(), inside.stacked()):
            close(maps, expected)
            close(maps.sum(-1), torch.ones(2, 3, 3, count))
            assert maps[:, layers].masked_select(~keep).max() == 0
            assert maps[:, layers].masked_select(keep).min() > 0


def even(weights):
    return torch.full_like(weights, 1 / weights.shape[-1])


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("limit", [0, 10_000])  # ours: the fused path, the explicit path
def test_weights_replaced_are_those_that_are_used_and_recorded(name, limit, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    library = LIBRARIES[name]
    model, images, picture = library.model(), library.images(), library.images(1)
    with torch.no_grad(), record_attention(model) as maps:
        model(images)
    with torch.no_grad(), record_attention(model) as theirs:
        model(picture)
    own, other = maps.stacked()[:, 1], theirs.stacked()[:, 1].expand(2, -1, -1, -1)  # (B, h, T, T)
    # Every row the mean row: every token gets what the mean over tokens is.
    mean_head = by_hand.one_head(library, model, 1, 2)
    averaged = by_hand.with_part(
        library, model, 1, library.attention, lambda x, out: out - (said := mean_head(x)) + mean(said)
    )
    # Queries and keys that no token changes: equal scores.
    keep = torch.ones(library.num_tokens, library.num_tokens, dtype=torch.bool)
    keep[:, 3] = False
    hidden = by_hand.with_mask(library, model, range(1, 2), keep)

    def without_column(weights):
        return (weights * keep) / (weights * keep).sum(dim=-1, keepdim=True)

    for one, changed_model, used in (
        (reweighted(1, 2), averaged, torch.cat((own[:, :2], own[:, 2:].mean(2, True).expand_as(own[:, 2:])), dim=1)),
        (reweighted(1, slice(None), without_column), hidden, without_column(own)),
        (reweighted(1, [0, 1], picture), None, torch.cat((other[:, :2], own[:, 2:]), dim=1)),
        (reweighted(1, 1, even), None, torch.stack((own[:, 0], even(own[:, 1]), own[:, 2]), dim=1)),
    ):
        with torch.no_grad(), record_attention(model) as outside:
            if changed_model is None:
                changed(model, [one], images)
            else:
                same_as(library, model, [one], changed_model, images)
        with torch.no_grad(), intervene(model, [one]), record_attention(model) as inside:
            model(images)
        close(inside.stacked()[:, 1], used)
        close(outside.stacked()[:2, 1], used)
    both = changed(model, [hide(2), reweighted(1, 2)], images)
    with torch.no_grad(), intervene(model, [hide(2)]), intervene(model, [reweighted(1, 2)]):
        close(published.logits(model, images), both)
    with torch.no_grad(), intervene(model, [hide(2), reweighted(1, 2)]), record_attention(model) as maps:
        model(images)
    assert maps.stacked()[..., 3].max() == 0, "the mean row is that of the rows that were left"
    with pytest.raises(
        ValueError, match=r"reweighted\(1, 0\): each row of the new weights must be at least 0 and sum to 1"
    ):
        changed(model, [reweighted(1, 0, "zero")], images)


@pytest.mark.parametrize("name", LIBRARIES)
def test_tokens_patched(name):
    library = LIBRARIES[name]
    model, images, picture = library.model(), library.images(), library.images(1)
    noise = torch.randn(2, library.num_tokens, 36)
    with torch.no_grad():
        theirs = by_hand.came_in(library, model, 1, "", picture)
    for given, source in ((picture, theirs), (noise, noise)):

        def put(x, out, source=source):
            return torch.cat((out[:, :2], source.expand_as(out)[:, 2:4], out[:, 4:]), dim=1)

        other = by_hand.with_part(library, model, 0, "", put)  # what leaves layer 0 enters layer 1
        same_as(library, model, [patched([2, 3], 1, from_=given)], other, images)
    everything = changed(model, [patched(slice(None), 1, from_=picture)], images)
    with torch.no_grad():
        close(everything, published.logits(model, picture).expand_as(everything))


@pytest.mark.parametrize("name", LIBRARIES)
def test_they_compose_in_one_block_and_in_nested_ones(name):
    library = LIBRARIES[name]
    model, images, picture = library.model(), library.images(), library.images(1)
    keep = torch.ones(library.num_tokens, library.num_tokens, dtype=torch.bool)
    keep[:, 2] = False
    with torch.no_grad():
        source = by_hand.came_in(library, model, 1, "", picture)  # of the model without changes
    other = by_hand.without_columns(library, model, 1, 0)
    other = by_hand.with_mask(library, other, range(3), keep)
    other = by_hand.with_part(library, other, 2, library.mlp, lambda _, out: torch.zeros_like(out))
    other = by_hand.with_part(
        library, other, 0, "", lambda _, out: torch.cat((source.expand_as(out)[:, :1], out[:, 1:]), dim=1)
    )
    several = [patched(0, 1, from_=picture), hide(1), without_head(1, 0, "zero"), without_branch(2, "mlp")]
    same_as(library, model, several, other, images)
    for order in (several, several[::-1]):
        with torch.no_grad(), intervene(model, order[:2]), intervene(model, order[2:]):
            close(published.logits(model, images), published.logits(other, images))
    with torch.no_grad(), intervene(model, [hide(1)]), intervene(model, [hide(0)]), record_attention(model) as maps:
        model(images)
    assert maps.stacked()[..., 1:3].max() == 0 and hooks(model) == 0


def test_what_comes_first_changes_what_comes_next():
    model, images = OURS.model(), OURS.images()
    zero, mean_ = without_branch(1, "mlp"), without_branch(1, "mlp", "token mean")
    close(changed(model, [zero, mean_], images), changed(model, [zero], images))
    close(changed(model, [mean_, zero], images), changed(model, [zero], images))
    close(changed(model, [mean_, mean_], images), changed(model, [mean_], images))
    two, both = [without_head(1, 0), without_head(1, 2)], [without_head(1, [0, 2])]
    close(changed(model, two, images), changed(model, both, images))
    assert torch.equal(changed(model, [], images), model(images))


@pytest.mark.parametrize("name", LIBRARIES)
def test_functions_and_several_pictures(name):
    library = LIBRARIES[name]
    model, images, pictures = library.model(), library.images(3), [library.images(1), library.images(1)]
    other = by_hand.with_part(library, model, 1, library.mlp, lambda _, out: out.roll(1, 0))
    same_as(library, model, [without_branch(1, "mlp", by=lambda y: y.roll(1, 0))], other, images)
    halved = by_hand.without_columns(library, model, 1, 2, by=0.5)
    same_as(library, model, [without_head(1, 2, by=lambda y: y / 2)], halved, images)
    several = [without_branch(1, "mlp", pictures[0]), patched(1, 2, pictures[1])]
    with torch.no_grad():
        there, tokens = (
            by_hand.came_in(library, model, layer, part, one)
            for layer, part, one in ((1, library.mlp, pictures[0]), (2, "", pictures[1]))
        )
        there = library.block(model, 1).get_submodule(library.mlp)(there)
    other = by_hand.with_part(library, model, 1, library.mlp, lambda _, out: there.expand_as(out))
    other = by_hand.with_part(
        library, other, 1, "", lambda _, out: torch.cat((out[:, :1], tokens[:, 1:2].expand(3, -1, -1), out[:, 2:]), 1)
    )
    same_as(library, model, several, other, images)
    for wrong in (lambda y: y[:1], lambda y: None):
        with pytest.raises(ValueError, match=r"by must be a function that gives a tensor of shape \(3, "):
            changed(model, [without_layer(0, by=wrong)], images)


@pytest.mark.parametrize("name", sorted(LIBRARIES.keys() - {"torchvision"}))  # whose weights autograd does not see
def test_autograd_follows_and_gradients_are_of_the_weights_that_were_used(name):
    library = LIBRARIES[name]
    model, images = library.model(), library.images()
    with intervene(model, [hide(0), without_head(1, 2)]):
        published.logits(model, images).sum().backward()
        weights, gradients = attention_gradients(model, images, torch.tensor([1, 2]))
    projection = library.block(model, 1).get_submodule(library.attention).get_submodule(library.projection)
    columns = projection.weight.grad.unflatten(1, (3, 12)).abs().sum(dim=(0, 2))
    assert columns.min() > 0, "of a mean too"
    assert weights[..., 1].abs().max() == 0 and gradients.abs().max() > 0
    with intervene(model, [without_head(1, 2, "zero")]):
        model.zero_grad()
        published.logits(model, images).sum().backward()
    assert projection.weight.grad[:, 24:].abs().max() == 0 and projection.weight.grad[:, :24].abs().min() > 0


@pytest.mark.parametrize("name", LIBRARIES)
def test_nothing_is_left_after_an_exception(name):
    library = LIBRARIES[name]
    model, images = library.model(), library.images()
    x = torch.randn(2, 3, library.num_tokens, library.num_tokens)
    with torch.no_grad():
        before = published.logits(model, images)
        with pytest.raises(RuntimeError, match="halfway"), intervene(model, [hide(0), without_head(1, 0)]):
            published.logits(model, images)
            raise RuntimeError("halfway")
        broken = by_hand.with_part(library, model, 1, library.mlp, lambda *_: 1 / 0)
        with intervene(broken, [hide(0), without_branch(1, "mlp")]):
            with pytest.raises(ZeroDivisionError):
                broken(images)
            assert torch.equal(x.softmax(-1), F.softmax(x, dim=-1)) and x.softmax(-1).min() > 0, "no layer runs"
        assert torch.equal(published.logits(model, images), before)
    assert hooks(model) == hooks(broken) == 0


def test_other_models_and_other_threads_are_left_alone():
    model, other, images = OURS.model(), OURS.model(), OURS.images()
    with torch.no_grad():
        before, theirs, seen = model(images), other(images), []
        with intervene(model, [without_layer(0), hide(0), without_head(1, 1)]):
            thread = threading.Thread(target=lambda: seen.append(model(images).detach()))
            thread.start()
            thread.join()
            assert torch.equal(other(images), theirs) and not torch.allclose(model(images), before)
    assert torch.equal(seen[0], before)
