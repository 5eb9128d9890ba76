import pytest
import torch
import torch.nn.functional as F
from conftest import cases
from torch import nn

from vit_course import attention
from vit_course.attention import AttentionHead, SelfAttention, attention_weights

B, T, D, h = 2, 5, 12, 3
d = D // h


def copy_into_torch(ours: SelfAttention) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(D, h, batch_first=True).eval()
    theirs.in_proj_weight.data, theirs.in_proj_bias.data = ours.qkv.weight.data, ours.qkv.bias.data
    theirs.out_proj.load_state_dict(ours.projection.state_dict())
    return theirs


def test_queries_and_keys_of_different_width():
    with pytest.raises(ValueError, match="queries have width 4, keys have width 6"):
        attention_weights(torch.zeros(5, 4), torch.zeros(5, 6))


def test_loop_of_heads_equals_fused_equals_torch():
    layer = SelfAttention(D, h).eval()
    x = torch.randn(B, T, D)
    outputs, maps = [], []
    for i in range(h):
        head = AttentionHead(D, d)
        for j, part in enumerate((head.query, head.key, head.value)):
            rows = slice(j * D + i * d, j * D + (i + 1) * d)
            part.weight.data, part.bias.data = layer.qkv.weight.data[rows], layer.qkv.bias.data[rows]
        out, weights = head(x)
        assert out.shape == (B, T, d) and weights.shape == (B, T, T)
        outputs.append(out)
        maps.append(weights)
    by_loop = layer.projection(torch.cat(outputs, dim=-1))
    by_torch, torch_maps = copy_into_torch(layer)(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(layer(x), by_loop, atol=1e-6, rtol=0)
    torch.testing.assert_close(layer(x), by_torch, atol=1e-6, rtol=0)
    torch.testing.assert_close(layer.weights(x), torch.stack(maps, dim=1), atol=1e-6, rtol=0)
    torch.testing.assert_close(layer.weights(x), torch_maps, atol=1e-6, rtol=0)
    assert AttentionHead(D, d, qkv_bias=False).query.bias is None


@cases("limit", [0, 10_000])
def test_explicit_and_fused_path_give_the_same_numbers_and_gradients(limit, monkeypatch):
    layer = SelfAttention(D, h, attention_dropout=0.5).eval()
    x = torch.randn(B, T, D)
    q, k, v = layer.split_heads(x)
    expected = layer.projection(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, T, D))
    gradient = torch.autograd.grad(expected.square().sum(), layer.qkv.weight)[0]
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    out = layer(x)
    torch.testing.assert_close(out, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(torch.autograd.grad(out.square().sum(), layer.qkv.weight)[0], gradient)


def test_long_sequences_take_the_fused_path(monkeypatch):
    calls = []
    fused = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k))
    layer = SelfAttention(D, h)
    layer(torch.randn(1, attention.EXPLICIT_TOKENS, D))
    assert len(calls) == 0
    layer(torch.randn(1, attention.EXPLICIT_TOKENS + 1, D))
    assert len(calls) == 1


@cases("limit", [0, 10_000])
@cases("rates", [{"dropout": 0.5}, {"attention_dropout": 0.5}])
def test_dropout_only_in_training(rates, limit, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    layer = SelfAttention(D, h, **rates)
    x = torch.randn(B, T, D)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
