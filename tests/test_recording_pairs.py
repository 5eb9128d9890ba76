"""What a recording keeps: queries and keys, from which all maps follow, and weights where nothing else was seen."""

import pytest
import timm
import torch
import torch.nn.functional as F
import transformers
from conftest import cases
from test_recording_others import MODELS
from torch import nn

from vit_course.attention import SelfAttention, attention_weights
from vit_course.config import ViTConfig
from vit_course.maps import kept
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT

SIZES = dict(image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40)


@pytest.fixture
def model():
    return ViT(ViTConfig(**SIZES)).eval()


def recorded(model, *inputs, times=1):
    with torch.no_grad(), record_attention(model) as maps:
        for _ in range(times):
            model(*inputs)
    return maps


@cases("name", ["ours", "timm", "torchvision", "huggingface"])
@cases("dtype", [torch.float32, torch.bfloat16])
def test_queries_and_keys_make_the_maps(name, dtype, model):
    model = (model if name == "ours" else MODELS[name]().eval()).to(dtype)
    size = {"ours": (8, 12), "torchvision": (8, 8)}.get(name, (8, 16))
    maps = recorded(model, torch.randn(2, 3, *size, dtype=dtype), times=2)
    q, k = maps.queries_and_keys()
    stacked = maps.stacked()
    assert q.dtype == k.dtype == stacked.dtype == torch.float32
    assert q.shape == k.shape == (*stacked.shape[:4], 8 if name == "ours" else 6)
    torch.testing.assert_close(attention_weights(q, k), stacked)
    torch.testing.assert_close(maps.by_layer[1][0], stacked[:2, 1])
    assert len(maps.by_layer) == stacked.shape[1] and len(maps.by_layer[1:]) == stacked.shape[1] - 1


def test_a_scale_of_its_own_is_in_the_queries():
    class Layer(nn.Module):
        def forward(self, q):
            return F.scaled_dot_product_attention(q, 2 * q, q, scale=0.3)

    maps = recorded(Layer(), x := torch.randn(2, 3, 5, 4))
    torch.testing.assert_close(maps.stacked()[:, 0], (0.6 * x @ x.mT).softmax(-1))
    torch.testing.assert_close(attention_weights(*maps.queries_and_keys()), maps.stacked())


def test_keys_shared_by_heads():
    class Layer(nn.Module):
        def forward(self, q):
            few = q[:, :2]
            return F.scaled_dot_product_attention(q, few, few, enable_gqa=True)

    x = torch.randn(2, 4, 5, 6)
    q, k = recorded(Layer(), x).queries_and_keys()
    assert torch.equal(q[:, 0], x) and torch.equal(k[:, 0], x[:, [0, 0, 1, 1]])


@cases(
    ("make", "reason"),
    [
        (lambda: MODELS["timm eager"]().eval(), "computes its weights openly, as eager attention does"),
        (lambda: MODELS["huggingface eager"]().eval(), "computes its weights openly"),
    ],
)
def test_where_only_weights_were_seen_it_is_said(make, reason):
    maps = recorded(make(), torch.randn(2, 3, 8, 16))
    assert maps.stacked().shape == (2, 3, 2, 9, 9)
    with pytest.raises(
        ValueError, match=f"queries and keys of layer 0 were not seen, only its weights, as it {reason}"
    ):
        maps.queries_and_keys()


def test_masks_leave_weights_alone():
    layer = nn.TransformerEncoderLayer(12, 2, 20, batch_first=True).eval()
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[1, 5:] = True
    with torch.no_grad(), record_attention(layer) as maps:
        layer(torch.randn(2, 7, 12), src_key_padding_mask=padding)
    assert maps.stacked()[1, ..., 5:].max() == 0
    with pytest.raises(ValueError, match="has a mask, a bias or projections of its own"):
        maps.queries_and_keys()


def test_a_layer_with_a_way_of_its_own():
    class Doubled(SelfAttention):
        def weights(self, x):
            return super().weights(2 * x)

    class Turned(SelfAttention):
        def split_heads(self, x):
            q, k, v = super().split_heads(x)
            return q, 2 * k, v

    x = torch.randn(2, 5, 12)
    maps = recorded(layer := Doubled(12, 3), x)
    torch.testing.assert_close(maps.stacked()[:, 0], layer.weights(x))
    with pytest.raises(ValueError, match="as it has a way of its own to make them"):
        maps.queries_and_keys()
    maps = recorded(layer := Turned(12, 3), x)
    torch.testing.assert_close(maps.stacked()[:, 0], layer.weights(x))
    torch.testing.assert_close(maps.queries_and_keys()[1][:, 0], layer.split_heads(x)[1])


def test_nothing_is_projected_twice_and_no_map_is_made_until_asked(model, odd_images, monkeypatch):
    calls, made = [], []
    for block in model.encoder.blocks:
        block.attention.qkv.register_forward_hook(lambda *_: calls.append(1))
    monkeypatch.setattr(kept, "attention_weights", lambda *pair: made.append(1) or attention_weights(*pair))
    maps = recorded(model, odd_images)
    assert len(calls) == 2 and not made
    maps.queries_and_keys()
    assert not made
    maps.stacked()
    assert len(calls) == 2 and len(made) == 2


def test_what_is_asked_of_a_layer_beside_its_pass_is_not_recorded(model, odd_images):
    with torch.no_grad(), record_attention(model) as maps:
        tokens = model.embed(odd_images)
        model.encoder.blocks[0].attention.weights(torch.randn_like(tokens))
        model(odd_images)
        model.encoder.blocks[1].attention.weights(torch.randn_like(tokens))
    torch.testing.assert_close(maps.stacked(), recorded(model, odd_images).stacked())


def test_changes_in_place_are_said_or_do_no_harm(model, odd_images):
    class Changed(nn.Module):
        def __init__(self, fused):
            super().__init__()
            self.fused = fused

        def forward(self, x):
            if self.fused:
                out = F.scaled_dot_product_attention(x, x, x)
                x.zero_()
                return out
            weights = (x @ x.mT).softmax(-1)
            out = weights @ x
            weights.zero_()
            return out

    x = torch.randn(2, 3, 5, 4)
    torch.testing.assert_close(recorded(Changed(True), x.clone()).stacked()[:, 0], attention_weights(x, x))
    with pytest.raises(ValueError, match="what was recorded has been changed in place since"):
        recorded(Changed(False), x).stacked()
    with torch.inference_mode(), record_attention(layer := Changed(False)) as maps:  # where no changes are counted
        layer(x)
    torch.testing.assert_close(maps.stacked()[:, 0], (x @ x.mT).softmax(-1))
    layer = nn.MultiheadAttention(12, 2, batch_first=True)
    maps = recorded(layer, *3 * (torch.randn(2, 5, 12),))
    with torch.no_grad():
        layer.in_proj_weight.mul_(2)
    with pytest.raises(ValueError, match="changed in place since, by the model or by a training step"):
        maps.stacked()


def test_published_sizes_keep_a_fraction_of_their_maps():
    model = timm.create_model("vit_tiny_patch16_224", depth=2).eval()
    maps = recorded(model, torch.randn(1, 3, 224, 224))
    q, k = maps.queries_and_keys()
    assert q.numel() + k.numel() < maps.stacked().numel()
    eager = transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=1, attn_implementation="eager")).eval()
    assert recorded(eager, torch.randn(1, 3, 224, 224)).stacked().shape == (1, 1, 12, 197, 197)
