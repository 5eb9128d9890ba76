"""The cache of activations by name: as computed by hand, behind all changes, and nothing more than was asked for."""

from functools import partial

import by_hand
import published
import pytest
import torch
from by_hand import LIBRARIES, OURS, VIT_PYTORCH
from test_recording import hooks

from vit_course import attention
from vit_course.maps import (
    hide,
    intervene,
    patched,
    record_attention,
    replaced,
    reweighted,
    run_with_cache,
    without_branch,
    without_head,
    without_layer,
    without_neurons,
)
from vit_course.maps.interventions.activation_cache import PLACES
from vit_course.maps.interventions.forward_pass import ForwardPass

ALL = LIBRARIES | {"vit-pytorch": VIT_PYTORCH}
close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-10)


def logits(out):
    return out if isinstance(out, torch.Tensor) else out.logits


def first(out):
    return out[0] if isinstance(out, tuple) else out


def branch(library, model, layer, part, images):
    """(B, T, D), the output of a part of a layer."""
    seen = []
    module = library.block(model, layer).get_submodule(part)
    hook = module.register_forward_hook(lambda *given: seen.append(first(given[2])))
    model(images)
    hook.remove()
    return seen[0]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("limit", [0, 10_000])  # ours: the fused path, the explicit path
@torch.no_grad()
def test_every_activation_is_the_one_computed_by_hand(name, limit, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    library = ALL[name]
    model, images = library.model().double(), library.images().double()
    out, cache = run_with_cache(model, images)
    same = partial(close, rtol=1e-5, atol=1e-6) if name == "huggingface eager" else close  # its softmax is in float32
    same(logits(out), published.logits(model, images))
    of_layer = (*(f".{place}" for place in PLACES), "")
    assert list(cache) == ["embeddings", *(f"blocks.{layer}{each}" for layer in range(3) for each in of_layer)]
    seen = ForwardPass(model)
    with seen.listening(), record_attention(model) as maps:
        model(images)
    tokens, count = seen.tokens(), library.num_tokens
    same(cache["embeddings"], tokens[0])
    divided = name == "timm eager" or (name == "ours" and limit)
    for layer in range(3):
        found = {place: cache[f"blocks.{layer}.{place}"] for place in PLACES}
        own = library.block(model, layer).get_submodule(library.attention)
        q, k, v = by_hand.projected(library, own, by_hand.came_in(library, model, layer, library.attention, images))
        same(found["queries"], q / 12**0.5 if divided else q)
        same(found["keys"], k)
        same(found["values"], v)
        same(found["weights"].double(), maps.stacked()[:, layer].double())
        same(found["heads"], maps.stacked()[:, layer].to(v) @ v)
        same(found["attention"], branch(library, model, layer, library.attention, images))
        same(found["mlp"], branch(library, model, layer, library.mlp, images))
        last = by_hand.last_linear(library, model, layer)
        same(last(found["neurons"]), found["mlp"])
        same(cache[f"blocks.{layer}"], tokens[layer + 1])
        assert found["neurons"].shape[:2] == (2, count) and found["queries"].shape == (2, 3, count, 12)
    assert hooks(model) == 0


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_inside_interventions_it_has_what_is_used(name):
    library = ALL[name]
    model, images, picture = library.model().double(), library.images().double(), library.images(1).double()
    before = run_with_cache(model, images)[1]
    theirs = run_with_cache(model, picture)[1]
    several = [
        patched(slice(None), 0, picture), replaced("queries", 0, 1), replaced("values", 0, 2), without_neurons(0, [3]),
        reweighted(1, 0), without_head(1, 2, "zero"), without_branch(1, "attention", lambda x: x / 3),
        without_layer(1), hide(2, 2), without_branch(2, "mlp"),
    ]  # fmt: skip
    for split in (10, 0, 5):
        with intervene(model, several[:split]), intervene(model, several[split:]):
            out, cache = run_with_cache(model, images)
            close(logits(out), published.logits(model, images), rtol=1e-5, atol=1e-6)
        close(cache["embeddings"], theirs["embeddings"].expand_as(cache["embeddings"]))
        assert cache["blocks.0.queries"][:, 1].abs().max() == 0 and cache["blocks.0.values"][:, 2].abs().max() == 0
        assert cache["blocks.0.neurons"][..., 3].abs().max() == 0 and cache["blocks.0.neurons"][..., 2].abs().min() > 0
        rows = cache["blocks.1.weights"][:, 0]
        close(rows, rows.mean(dim=1, keepdim=True).expand_as(rows), rtol=1e-5, atol=1e-6)
        assert cache["blocks.1.heads"][:, 2].abs().max() == 0 and cache["blocks.1.heads"][:, 1].abs().max() > 0
        close(cache["blocks.1"], cache["blocks.0"])
        assert cache["blocks.2.weights"][..., 3].max() == 0 and cache["blocks.2.mlp"].abs().max() == 0
        close(cache["blocks.2"], cache["blocks.1"] + cache["blocks.2.attention"])
        with intervene(model, several[:6]):  # without the change of the branch
            whole = run_with_cache(model, images, "blocks.1.attention")[1]["blocks.1.attention"]
        close(cache["blocks.1.attention"], whole / 3)
    after = run_with_cache(model, images)[1]
    assert all(torch.equal(after[one], before[one]) for one in before) and hooks(model) == 0


@torch.no_grad()
def test_only_the_names_that_are_asked_for():
    model, images = OURS.model(), OURS.images()
    for names, kept in (
        (["blocks.2.mlp", "embeddings"], ["embeddings", "blocks.2.mlp"]),
        ("blocks.?", ["blocks.0", "blocks.1", "blocks.2"]),
        (["blocks.*.heads", "blocks.0.heads"], ["blocks.0.heads", "blocks.1.heads", "blocks.2.heads"]),
        ([], []),
    ):
        out, cache = run_with_cache(model, images, names)
        assert list(cache) == kept and torch.equal(out, model(images))
    with record_attention(model) as maps:
        run_with_cache(model, images)
    assert maps.queries_and_keys()[0].shape == (2, 3, 3, 7, 12), "what is heard is not changed"


def test_what_it_refuses():
    model, images = OURS.model(), OURS.images()
    for names in ("blocks.3", ["blocks.0.scores"], ["blocks.*", "mlp"], [0]):
        with pytest.raises(ValueError, match=r"names must be those of .*'embeddings', 'blocks.0' to 'blocks.2', and "):
            run_with_cache(model, images, names)
    square = published.huggingface_vit()
    square.config.intermediate_size = 36
    square = type(square)(square.config).eval()
    images = torch.randn(1, 3, 21, 21)
    with pytest.raises(
        ValueError, match=r"run_with_cache of 'blocks\.0\.neurons': layer 0 .* does not show the neurons"
    ):
        run_with_cache(square, images)
    assert len(run_with_cache(square, images, ["blocks.*.mlp", "blocks.*.heads"])[1]) == 6
    assert hooks(model) == hooks(square) == 0
