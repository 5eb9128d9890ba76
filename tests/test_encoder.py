import math

import torch
from conftest import cases
from torch import nn

from vit_course.encoder import MLP, NORM_EPSILON, Encoder, EncoderBlock

B, T, D, h, M, L = 2, 5, 12, 3, 20, 4


def test_mlp_exact_gelu_by_the_formula():
    mlp = MLP(D, M)
    x = torch.randn(B, T, D)
    hidden = mlp.expand(x)
    exact = hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
    torch.testing.assert_close(mlp(x), mlp.contract(exact), atol=1e-6, rtol=0)


def test_tanh_gelu_is_offered_and_differs():
    x = torch.randn(B, T, D)
    exact, approximate = MLP(D, M), MLP(D, M, gelu="tanh")
    approximate.load_state_dict(exact.state_dict())
    hidden = approximate.expand(x)
    inner = math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)
    torch.testing.assert_close(
        approximate(x), approximate.contract(0.5 * hidden * (1 + inner.tanh())), atol=1e-6, rtol=0
    )
    assert 0 < (exact(x) - approximate(x)).abs().max() < 1e-2


def test_block_equals_torchs_pre_norm_layer():
    ours = EncoderBlock(D, h, M).eval()
    theirs = nn.TransformerEncoderLayer(
        D, h, M, activation="gelu", norm_first=True, batch_first=True, layer_norm_eps=NORM_EPSILON
    ).eval()
    theirs.self_attn.in_proj_weight.data, theirs.self_attn.in_proj_bias.data = (
        ours.attention.qkv.weight.data,
        ours.attention.qkv.bias.data,
    )
    pairs = [
        (theirs.self_attn.out_proj, ours.attention.projection),
        (theirs.norm1, ours.norm1),
        (theirs.norm2, ours.norm2),
        (theirs.linear1, ours.mlp.expand),
        (theirs.linear2, ours.mlp.contract),
    ]
    for norm in (ours.norm1, ours.norm2):  # not the same numbers, so that a swap shows
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    for target, source in pairs:
        target.load_state_dict(source.state_dict())
    x = torch.randn(B, T, D)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=0)


def test_encoder_is_its_blocks_in_order_then_a_norm():
    encoder = Encoder(L, D, h, M, gelu="tanh").eval()
    x = torch.randn(B, T, D)
    expected = x
    for i in range(L):
        expected = encoder.blocks[i](expected)
    torch.testing.assert_close(encoder(x), encoder.norm(expected))
    assert len(encoder.blocks) == L and encoder.blocks[2].mlp.gelu.approximate == "tanh"
    torch.testing.assert_close(encoder(x).mean(-1), torch.zeros(B, T), atol=1e-5, rtol=0)


@cases("part", [MLP(D, M, dropout=0.5), Encoder(L, D, h, M, dropout=0.5)])
def test_dropout_only_in_training(part):
    x = torch.randn(B, T, D)
    part.train()
    assert not torch.equal(part(x), part(x))
    part.eval()
    assert torch.equal(part(x), part(x))
