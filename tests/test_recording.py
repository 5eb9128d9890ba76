import dataclasses

import pytest
import torch
from conftest import cases
from torch import nn

from vit_course import attention
from vit_course.attention import SelfAttention, attention_weights
from vit_course.config import ViTConfig
from vit_course.maps import Tokens, interpret
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT

CONFIG = ViTConfig(
    image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40,
    dropout=0.3, attention_dropout=0.3,
)  # fmt: skip


@pytest.fixture
def model():
    return ViT(CONFIG).eval()


def hooks(model) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def by_hand(model, images):
    z = model.positions(model.class_token(model.patch_embedding(images)))
    maps = []
    for block in model.encoder.blocks:
        q, k, _ = block.attention.split_heads(block.norm1(z))
        maps.append(attention_weights(q, k))
        z = block(z)
    return torch.stack(maps, dim=1)


@cases("limit", [0, 10_000])  # the fused path, the explicit path
def test_maps_are_the_weights_and_the_output_is_untouched(limit, model, odd_images, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    expected = model(odd_images)
    with record_attention(model) as maps:
        out = model(odd_images)
    assert torch.equal(out, expected)
    stacked = maps.stacked()
    assert stacked.shape == (2, 2, 3, 7, 7) and not stacked.requires_grad
    torch.testing.assert_close(stacked.sum(-1), torch.ones(2, 2, 3, 7))
    torch.testing.assert_close(stacked, by_hand(model, odd_images))
    assert hooks(model) == 0


def test_train_mode_same_random_output_and_weights_before_dropout(model, odd_images):
    model.train()
    torch.manual_seed(3)
    expected = model(odd_images)
    torch.manual_seed(3)
    with record_attention(model) as maps:
        out = model(odd_images)
    assert torch.equal(out, expected)
    torch.testing.assert_close(maps.stacked().sum(-1), torch.ones(2, 2, 3, 7))


@cases("dtype", [torch.float16, torch.bfloat16])
def test_rows_sum_to_one_in_half_precision(model, odd_images, dtype):
    with record_attention(model.to(dtype)) as maps:
        model(odd_images.to(dtype))
    stacked = maps.stacked()
    assert stacked.dtype == torch.float32
    torch.testing.assert_close(stacked.sum(-1), torch.ones(2, 2, 3, 7), rtol=0, atol=1e-6)


def test_tokens_of_ours_have_names_and_places(odd_images):
    changed = dataclasses.replace(CONFIG, num_registers=2)
    for config, prefix in (
        (CONFIG, ("class token",)),
        (changed, ("class token", "register 1", "register 2")),
        (dataclasses.replace(changed, pool="mean", num_classes=0), ("register 1", "register 2")),
        (dataclasses.replace(CONFIG, pool="mean"), ()),
    ):
        model = ViT(config).eval()
        with record_attention(model) as maps:
            model.features(odd_images)
        tokens = maps.tokens()
        assert tokens == Tokens(prefix, (2, 3)) and tokens.num_prefix == len(prefix)
        assert [tokens.name(token) for token in (0, tokens.num_prefix, tokens.num_prefix + 4)] == [
            prefix[0] if prefix else "row 0, column 0", "row 0, column 0", "row 1, column 1"
        ]  # fmt: skip
        assert interpret.patch_part(maps.stacked(), tokens.grid, tokens.num_prefix).shape == (2, 2, 3, 6, 6)
    with pytest.raises(ValueError, match=r"6 tokens, and 2 x 3 patches with class token make 7"):
        maps.tokens(prefix=1)
    with pytest.raises(ValueError, match=r"a grid of 3 x 4 has 12 patches, the maps have 6 tokens"):
        maps.tokens(grid=(3, 4))


def test_gradients_still_flow(model, odd_images):
    with record_attention(model):
        model(odd_images).sum().backward()
    assert model.patch_embedding.projection.weight.grad.abs().sum() > 0


def test_no_hook_left_after_an_exception(model, odd_images):
    with pytest.raises(RuntimeError, match="halfway"), record_attention(model):
        model(odd_images)
        raise RuntimeError("halfway")
    assert hooks(model) == 0


def test_no_hook_left_when_the_forward_pass_fails(model):
    with pytest.raises(ValueError), record_attention(model):
        model(torch.zeros(2, 3, 9, 12))
    assert hooks(model) == 0


def test_nested_recordings_see_their_own_passes(model, odd_images):
    with record_attention(model) as outer:
        model(odd_images)
        with record_attention(model) as inner:
            model(odd_images[:1])
        model(odd_images)
    assert inner.stacked().shape[0] == 1 and outer.stacked().shape[0] == 5
    torch.testing.assert_close(outer.stacked()[2:3], inner.stacked())
    assert hooks(model) == 0


def test_batches_are_put_one_after_the_other(model, odd_images):
    with record_attention(model) as maps:
        model(odd_images[:1])
        model(odd_images[1:])
    torch.testing.assert_close(maps.stacked(), by_hand(model, odd_images))


def test_any_module_that_holds_self_attention():
    with record_attention(nn.Sequential(nn.LayerNorm(12), layer := SelfAttention(12, 3))) as maps:
        layer(torch.randn(2, 5, 12))
    assert maps.stacked().shape == (2, 1, 3, 5, 5)


def test_nothing_recorded_raises(model):
    with record_attention(model) as maps:
        pass
    with pytest.raises(ValueError, match="2 of 2 attention layers recorded nothing"):
        maps.stacked()


def test_nothing_to_record_raises():
    layer = nn.Linear(2, 2)
    with record_attention(layer) as maps:
        layer(torch.randn(3, 2))
    with pytest.raises(ValueError, match="nothing was recorded: run the model inside the with block"):
        maps.stacked()


def test_maps_of_different_shapes_raise():
    layer = SelfAttention(12, 3)
    with record_attention(layer) as maps:
        layer(torch.randn(2, 5, 12))
        layer(torch.randn(2, 6, 12))
    with pytest.raises(ValueError, match=r"different shapes .*\(3, 5, 5\), \(3, 6, 6\)"):
        maps.stacked()


@cases("thing", [None, "model", torch.zeros(3), SelfAttention])
def test_what_is_no_module(thing):
    sentence = "model must be a torch.nn.Module, got (NoneType|str|Tensor|the class SelfAttention)"
    with pytest.raises(TypeError, match=sentence), record_attention(thing):
        pass
