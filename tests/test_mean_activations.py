"""Mean ablation: means over pictures equal to those taken by hand, put in place by every intervention, or refused."""

import by_hand
import published
import pytest
import torch
from by_hand import HEADS, LAYERS, LIBRARIES, OURS, TIMM, WIDTH
from test_intervene import mean, same_as
from test_intervene_refused import Net
from test_recording import hooks

from vit_course.maps import (
    intervene,
    mean_activations,
    record_attention,
    replaced,
    reweighted,
    run_with_cache,
    without_branch,
    without_head,
    without_layer,
    without_neurons,
)


def means_of(model, images, *places, **options):
    return mean_activations(model, images, *places, progress=False, **options)


def by_parts(library, model, images, layer):
    """-> what attention, MLP and layer add, (B, T, D) each."""
    seen = {}

    def seeing(name, x, out):
        seen[name] = out - x if name == "layer" else out
        return out

    parts = {"attention": library.attention, "mlp": library.mlp, "layer": ""}
    for name, part in parts.items():
        by_hand.with_part(library, model, layer, part, lambda x, out, name=name: seeing(name, x, out))(images)
    return seen


@pytest.mark.parametrize("name", LIBRARIES)
def test_they_are_means_by_hand_in_every_place(name, float64):
    library = LIBRARIES[name]
    model, images, count = library.model(), library.images(5), library.num_tokens
    means = means_of(model, images, batch_size=2)
    with torch.no_grad(), record_attention(model) as maps:
        model(images)
    torch.testing.assert_close(torch.stack(means.values["weights"]), maps.stacked().mean(dim=0), check_dtype=False)
    heads = torch.stack(means.values["heads"])
    assert heads.shape == (LAYERS, HEADS, count, WIDTH) and means.count == 5 and hooks(model) == 0
    with torch.no_grad():
        for layer in range(LAYERS):
            for place, added in by_parts(library, model, images, layer).items():
                torch.testing.assert_close(means.values[place][layer], added.mean(dim=0))
            came_in = by_hand.came_in(library, model, layer, library.attention, images)
            projection = library.block(model, layer).get_submodule(library.attention).get_submodule(library.projection)
            for head in range(HEADS):
                of_head = by_hand.one_head(library, model, layer, head)(came_in).mean(dim=0)
                columns = projection.weight[:, head * WIDTH : (head + 1) * WIDTH]
                torch.testing.assert_close(heads[layer, head] @ columns.T, of_head)
    height, width = library.size
    assert str(means) == f"means of heads, attention, mlp, layer, weights over 5 pictures of {height} x {width}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_they_take_the_place_of_what_is_computed(name):
    library = LIBRARIES[name]
    model, images, others = library.model(), library.images(), library.images(4)
    means = means_of(model, others)
    alone = by_hand.one_head(library, model, 1, 2)
    with torch.no_grad():
        there = alone(by_hand.came_in(library, model, 1, library.attention, others)).mean(dim=0)
        added = {place: each.mean(dim=0) for place, each in by_parts(library, model, others, 1).items()}
    for one, part, other in (
        (without_head(1, 2, by=means), library.attention, lambda x, out: out - alone(x) + there),
        (without_branch(1, "attention", means), library.attention, lambda x, out: added["attention"].expand_as(out)),
        (without_branch(1, "mlp", means), library.mlp, lambda x, out: added["mlp"].expand_as(out)),
        (without_layer(1, means), "", lambda x, out: x + added["layer"]),
    ):
        same_as(library, model, [one], by_hand.with_part(library, model, 1, part, other), images)
    token_mean = by_hand.with_part(library, model, 1, library.attention, lambda x, out: out - alone(x) + mean(alone(x)))
    with torch.no_grad(), intervene(model, [without_head(1, 2, by=means)]):
        assert (published.logits(model, images) - published.logits(token_mean, images)).abs().max() > 1e-3
    with torch.no_grad(), record_attention(model) as theirs:
        model(others)
    with torch.no_grad(), record_attention(model) as own:
        model(images)
    with torch.no_grad(), intervene(model, [reweighted(1, [0, 2], by=means)]), record_attention(model) as used:
        model(images)
    used, own, theirs = used.stacked()[:, 1], own.stacked()[:, 1], theirs.stacked()[:, 1].mean(dim=0)
    torch.testing.assert_close(used[:, 0], theirs[0].expand_as(used[:, 0]), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(used[:, 2], theirs[2].expand_as(used[:, 2]), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(used[:, 1], own[:, 1], rtol=1e-6, atol=1e-6)
    assert hooks(model) == 0


def test_of_one_picture_they_are_another_picture_and_active_changes_take_part():
    model, images, picture = OURS.model(), OURS.images(), OURS.images(1)
    means = means_of(model, picture)
    with torch.no_grad():
        for make in (lambda by: without_head(1, 2, by), lambda by: without_branch(0, "mlp", by)):
            with intervene(model, [make(means)]):
                found = model(images)
            with intervene(model, [make(picture)]):
                torch.testing.assert_close(found, model(images))
    with intervene(model, [without_layer(0)]):
        changed = means_of(model, picture, ["mlp", "layer"])
    assert not torch.allclose(changed.values["mlp"][1], means.values["mlp"][1])
    with record_attention(model) as maps:
        model(images)
        means_of(model, picture, "heads")
    assert len(maps.stacked()) == 2


def test_half_precision_is_added_up_in_single_precision():
    model, images = OURS.model(), OURS.images(1).expand(300, -1, -1, -1)
    one = means_of(model.bfloat16(), images[:1].bfloat16(), ["layer"])
    means = means_of(model, images.bfloat16(), ["layer"], batch_size=1)
    assert means.values["layer"][0].dtype == torch.float32
    torch.testing.assert_close(means.values["layer"][2], one.values["layer"][2])
    with torch.no_grad(), intervene(model, [without_layer(2, means)]):
        assert model(images[:2].bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("name", LIBRARIES)
def test_means_inside_the_branches(name, float64):
    library = LIBRARIES[name]
    model, images, places = library.model(), library.images(5), ("queries", "keys", "values", "neurons")
    means = means_of(model, images, places, batch_size=2)
    with torch.no_grad():
        cache = run_with_cache(model, images)[1]
        for place in places:
            torch.testing.assert_close(means.values[place][1], cache[f"blocks.1.{place}"].mean(dim=0))
        one = replaced("values", 1, slice(None), means)
        with intervene(model, [one, without_neurons(1, slice(None), means)]):
            used = run_with_cache(model, images)[1]
    for place in ("values", "neurons"):
        there = means.values[place][1]
        torch.testing.assert_close(used[f"blocks.1.{place}"], there.expand(5, *there.shape))


def test_means_that_do_not_belong_here():
    model, images = OURS.model(), OURS.images()
    means = means_of(model, images)
    for make in (
        lambda: without_head(0, 1, means_of(model, images, ["mlp", "layer"])),
        lambda: reweighted(0, 1, means_of(model, images, ["mlp", "layer"])),
    ):
        with pytest.raises(ValueError, match=r"by has no means of '(heads|weights)', only of mlp, layer"):
            make()
    message = "by has the means of another model: its layer 1 is not the one that runs here"
    with pytest.raises(ValueError, match=message), intervene(OURS.model(), [without_head(1, 2, means)]) as other:
        other(images)
    tokens = torch.randn(2, 5, 36)
    message = r"the mean of 'mlp' has shape \(7, 36\), but \(5, 36\) is needed here"
    with pytest.raises(ValueError, match=message), intervene(model, [without_branch(1, "mlp", means)]):
        model.encoder(tokens)
    turned = published.shaken(published.timm_vit((14, 21), dynamic_img_size=True))
    means = means_of(turned, TIMM.images())
    message = "the means, position by position, and the pictures must be of one size, got 14 x 21 and 21 x 14"
    with pytest.raises(ValueError, match=message), intervene(turned, [without_layer(1, means)]):
        turned(torch.randn(2, 3, 21, 14))
    assert hooks(model) == hooks(turned) == 0


def test_what_it_refuses():
    model, images = OURS.model(), OURS.images()
    for given, options, message in (
        (images[0], {}, r"images must have 4 axes \(N, C, H, W\), got shape \(3, 14, 21\)"),
        (images[:0], {}, "images must be at least one picture"),
        (images, {"places": ["head"]}, "places must be 'heads', .* 'values' or 'neurons', got 'head'"),
        (images, {"places": []}, "places must be at least one, got none"),
        (images, {"batch_size": 0}, "batch_size must be at least 1, got 0"),
        (images * torch.inf, {}, "mean activations must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            mean_activations(model, given, **options)
    with pytest.raises(ValueError, match=r"in training mode, .*call model.eval\(\) first"):
        mean_activations(model.train(), images)
    parallel, x = Net("parallel").eval(), torch.randn(2, 1, 5, 36)
    parallel.register_forward_pre_hook(lambda _, given: (given[0][:, 0],))
    assert [*means_of(parallel, x, ["heads", "layer"]).values] == ["heads", "layer"]
    said = r"mean_activations of 'attention': layer 1 \(layers.1\) does not add its attention"
    with pytest.raises(ValueError, match=said):
        means_of(parallel, x)
    assert hooks(model) == 0
