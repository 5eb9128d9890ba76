"""Models as tutorials write them: recorded right, layer by layer and head by head, or refused by name."""

import warnings
from functools import partial

import pytest
import timm
import torch
from timm.models import create_feature_extractor
from torch import nn
from torch.nn.attention import flex_attention as flex
from torch.utils.checkpoint import checkpoint
from tutorial_attention import HEADS, SEEN
from tutorial_models import GRID, ROWS, SIZE, Described, Tutorial

from vit_course.maps import attention_gradients, interpret, record_attention

BATCH = 2


def make(name):
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        return ROWS[name].make().eval()


def recorded(name, model, images, no_grad=torch.no_grad):
    SEEN.clear()
    with no_grad(), record_attention(model) as maps:
        ROWS[name].call(model, images)
    truth = list(SEEN)
    return maps, truth


def rollout(maps):
    """(L, h, T, T) -> (T, T), by hand (Abnar and Zuidema 2020): half of each layer is the residual connection."""
    size = maps.shape[-1]
    flow = torch.eye(size, dtype=maps.dtype)
    for layer in maps:
        flow = (layer.mean(0) / 2 + torch.eye(size, dtype=maps.dtype) / 2) @ flow
    return flow


@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not row.refused])
def test_maps_are_those_that_the_attention_computed(name, how):
    row, model = ROWS[name], make(name)
    maps, truth = recorded(name, model, torch.randn(BATCH, 3, *SIZE), how)
    parts = [each if each.ndim == 4 else each[:, None] for each in truth]  # (B, h, T, T)
    by_pass = torch.cat(parts, dim=1).unflatten(1, (row.passes, row.layers, row.heads))
    expected = by_pass.transpose(0, 1).flatten(0, 1)  # (passes B, L, h, T, T)
    stacked = maps.stacked()
    assert stacked.shape == expected.shape
    torch.testing.assert_close(stacked, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(interpret.rollout(stacked)[0], rollout(expected[0]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.refused])
def test_what_cannot_be_told_is_refused_by_name(name):
    maps, _ = recorded(name, make(name), torch.randn(BATCH, 3, *SIZE))
    with pytest.raises(ValueError, match=ROWS[name].refused):
        maps.stacked()


# The places of the class token "c", the registers "r" and the patches "p"; and the grid by columns.
ORDERS = [("cp", False, True), ("pc", False, False), ("cp", True, False), ("cpr", False, False), ("p", False, False)]


@pytest.mark.parametrize(("order", "by_columns", "right"), ORDERS)
@pytest.mark.parametrize("kind", [Described, Tutorial])
def test_what_somebody_says_of_the_tokens_is_tested_on_a_copy(kind, order, by_columns, right):
    model, images = kind(order=order, by_columns=by_columns).eval(), torch.randn(BATCH, 3, *SIZE)
    kept = []
    model.blocks[0].attn.register_forward_hook(lambda *given: kept.append(1))
    maps, _ = recorded("described", model, images)
    state, said = torch.get_rng_state(), {} if kind is Described else dict(grid=GRID, prefix=["class token"])
    if right:
        tokens = maps.tokens(**said)
        assert tokens.tested and (tokens.grid, tokens.prefix) == (GRID, ("class token",))
        assert tokens.pixels(12) == ((24, 16, 32, 24) if kind is Described else None)
    else:
        with pytest.raises(
            ValueError, match=r"was tested: |12 tokens, but 4 x 3 patches with class token make 13|15 tok"
        ):
            maps.tokens(**said)
    assert maps.stacked().shape[2:] == (
        HEADS,
        12 + order.count("c") + 2 * order.count("r"),
        maps.by_layer[0][0].shape[-1],
    )
    assert kept == [1] and torch.get_rng_state().equal(state), "the model itself has run once"


def test_without_a_word_of_the_tokens_it_is_asked_for():
    maps, _ = recorded("matrix products", Tutorial().eval(), torch.randn(BATCH, 3, *SIZE))
    with pytest.raises(ValueError, match=r"nothing says where the patches lie: give grid=\(rows, columns\)"):
        maps.tokens()
    with pytest.raises(ValueError, match="of 13 tokens 4 x 3 are patches, and nothing says what the others are"):
        maps.tokens(grid=GRID)


def test_a_graph_of_calls_has_no_modules():
    model = timm.create_model("vit_tiny_patch16_224", img_size=SIZE, patch_size=8, depth=3, embed_dim=24, num_heads=2)
    graph = create_feature_extractor(model.eval(), ["blocks.2.add_1"])
    with torch.no_grad(), record_attention(graph) as maps:
        graph(torch.randn(BATCH, 3, *SIZE))
    with pytest.raises(ValueError, match="VisionTransformer was traced or scripted"):
        maps.stacked()


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("how", ["plain", "bias", "mask"])
def test_flex_attention_is_recorded(how):
    q, k, v = torch.randn(3, 2, 4, 9, 6)
    bias, kept = torch.randn(9, 9), torch.ones(9, 9, dtype=torch.bool).tril()
    options, scores = {}, q @ k.mT / 6**0.5
    if how == "bias":
        options, scores = {"score_mod": lambda score, b, h, i, j: score + bias[i, j]}, scores + bias
    if how == "mask":
        options = {"block_mask": flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 9, 9, device="cpu")}
        scores = scores.masked_fill(~kept, -torch.inf)
    model = nn.Identity()
    model.forward = lambda x: flex.flex_attention(q, k, v, **options)
    with torch.no_grad(), record_attention(model) as maps:
        model(torch.randn(2, 9, 6))
    torch.testing.assert_close(maps.stacked(), scores.softmax(-1)[:, None], rtol=0, atol=1e-6)


def test_gradients_behind_activation_checkpointing_are_right_or_refused_with_the_reason():
    images, classes = torch.randn(BATCH, 3, *SIZE), torch.tensor([0, 1])
    model = timm.create_model("vit_tiny_patch16_224", img_size=SIZE, patch_size=8, depth=2, embed_dim=24, num_heads=2)
    attention_gradients(model.eval(), images, classes)
    model.set_grad_checkpointing(True)
    with pytest.raises(
        ValueError, match=r"checkpointing is on in VisionTransformer: .*set_grad_checkpointing\(False\)"
    ):
        attention_gradients(model, images, classes)
    own = Tutorial().eval()
    expected, forwards = attention_gradients(own, images, classes), [block.forward for block in own.blocks]
    for reentrant in (False, True):
        for block, forward in zip(own.blocks, forwards, strict=True):
            block.forward = partial(checkpoint, forward, use_reentrant=reentrant)
        if reentrant:
            with pytest.raises(ValueError, match="behind activation checkpointing"):
                attention_gradients(own, images, classes)
        else:
            torch.testing.assert_close(attention_gradients(own, images, classes), expected, rtol=0, atol=1e-6)
