"""Exercise further.modern: a block with four later parts, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table


def modern(answer, draw):
    """`answer(z, qkv, projection, gate, expand, contract, scales, num_heads)`: (B, T, D), ... -> (B, T, D)."""
    draws = []
    for _ in range(2):
        batch, tokens, heads, half, more = draw.sizes(5, low=3)
        width = 2 * half * heads
        inner, scale = width + more, width**-0.5
        # Matrices of this size make scores uneven, and branches about as large as the stream.
        into = [1.5 * scale * draw.normal(rows, width) for rows in (3 * width, width, inner, inner)]
        contract, scales = 1.5 * scale * draw.normal(width, inner), draw.normal(2, width)
        draws.append((draw.normal(batch, tokens, width), *into, contract, scales, heads))
    same_function(answer, block, draws, table(__name__, "mistakes", block), axes="(B, T, D)")


def _norm(x):
    return F.layer_norm(x, x.shape[-1:])


def _turn(x):
    d = x.shape[-1]
    angles = torch.arange(x.shape[-2])[:, None] * 100.0 ** (-torch.arange(0, d, 2) / d)  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (B, h, T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)


def _cut(x, heads):
    return x.unflatten(2, (heads, -1)).transpose(1, 2)  # (B, h, T, d)


def _within(x, heads):
    return _turn(_norm(_cut(x, heads)))


def block(
    z,
    qkv,
    projection,
    gate,
    expand,
    contract,
    scales,
    num_heads,
    within=_within,
    values=lambda v: v,
    add=lambda z, out, scale: z + scale * out,
    scale=lambda d, heads, tokens: d**0.5,
    share=lambda scores: scores.softmax(-1),
    gated=lambda gate, other: F.silu(gate) * other,
    before=_norm,
    of_keys=None,
    second=None,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    q, k, v = (before(z) @ qkv.T).chunk(3, dim=-1)  # (B, T, D) each
    q, k, v = within(q, num_heads), (of_keys or within)(k, num_heads), values(_cut(v, num_heads))  # (B, h, T, d) each
    weights = share(q @ k.mT / scale(q.shape[-1], num_heads, z.shape[1]))  # (B, h, T, T)
    z = add(z, (weights @ v).transpose(1, 2).flatten(2) @ projection.T, scales[0])
    y = before(z)
    return (second or add)(z, gated(y @ gate.T, y @ expand.T) @ contract.T, scales[1])


def _over_all(x, heads):
    return _turn(_cut(_norm(x), heads))


def _on_the_stream(z, out, scale):
    return scale * z + out
