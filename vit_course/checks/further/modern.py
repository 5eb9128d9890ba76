"""Exercise further.modern: a block with four later parts, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, bugs_left


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
    same_function(answer, block, draws, [*bugs_left(*BUGS), *MISTAKES], axes="(B, T, D)")


def _norm(x):
    return F.layer_norm(x, x.shape[-1:])


def _turn(x):
    d = x.shape[-1]
    angles = torch.arange(x.shape[-2])[:, None] * 100.0 ** (-torch.arange(0, d, 2) / d)  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (B, h, T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)


def _cut(x, heads):
    """(B, T, D) -> (B, h, T, d)"""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def _norm_and_turn(x, heads):
    return _turn(_norm(_cut(x, heads)))


def _add_scaled(z, out, scale):
    return z + scale * out


def block(
    z,
    qkv,
    projection,
    gate,
    expand,
    contract,
    scales,
    num_heads,
    norm_attention=_norm,
    queries=_norm_and_turn,
    keys=_norm_and_turn,
    values=_cut,
    share=lambda scores: scores.softmax(dim=-1),
    join=lambda out: out.transpose(1, 2).flatten(2),
    add_attention=_add_scaled,
    norm_swiglu=_norm,
    gated=lambda gate, other: F.silu(gate) * other,
    add_swiglu=_add_scaled,
):
    """The right answer, and with some of its steps replaced a wrong one."""
    q, k, v = (norm_attention(z) @ qkv.T).chunk(3, dim=-1)  # (B, T, D) each
    q, k, v = queries(q, num_heads), keys(k, num_heads), values(v, num_heads)  # (B, h, T, d) each
    weights = share(q @ k.mT / q.shape[-1] ** 0.5)  # (B, h, T, T)
    z = add_attention(z, join(weights @ v) @ projection.T, scales[0])
    y = norm_swiglu(z)
    return add_swiglu(z, gated(y @ gate.T, y @ expand.T) @ contract.T, scales[1])


def _parallel(z, qkv, projection, gate, expand, contract, scales, num_heads):
    """Both branches read the block's input."""
    given = qkv, projection, gate, expand, contract, scales, num_heads
    first = block(z, *given, add_swiglu=lambda z, out, scale: z)
    second = block(z, *given, add_attention=lambda z, out, scale: z)
    return first + second - z


def _in_both(step):
    """The same wrong step for queries and keys."""
    return {"queries": step, "keys": step}


def _scale_the_stream(z, out, scale):
    return scale * z + out


def _add_nothing(z, out, scale):
    return scale * out


BUGS = [
    Mistake(
        "norm-over-all-heads",
        "QK-norm is taken over all heads together, before they are cut apart.",
        _in_both(lambda x, heads: _turn(_cut(_norm(x), heads))),
    ),
    Mistake(
        "values-turned",
        "The values are turned as well, so the output depends on where a token stands.",
        {"values": lambda x, heads: _turn(_cut(x, heads))},
    ),
    Mistake(
        "scale-on-the-stream",
        "LayerScale multiplies the residual stream, not what a branch adds to it.",
        {"add_attention": _scale_the_stream, "add_swiglu": _scale_the_stream},
    ),
]

MISTAKES = [
    Mistake(
        "first-scale-on-the-stream",
        "The branch of SwiGLU is correct; in that of attention the scale is still on the residual stream.",
        {"add_attention": _scale_the_stream},
    ),
    Mistake(
        "second-scale-on-the-stream",
        "The branch of attention is correct; in the other one the scale is still on the residual stream.",
        {"add_swiglu": _scale_the_stream},
    ),
    Mistake(
        "turned-before-the-norm",
        "Queries and keys are turned first and normalised afterwards.",
        _in_both(lambda x, heads: _norm(_turn(_cut(x, heads)))),
    ),
    Mistake(
        "no-qk-norm",
        "Queries and keys are turned, but not normalised.",
        _in_both(lambda x, heads: _turn(_cut(x, heads))),
    ),
    Mistake(
        "not-turned",
        "Queries and keys are normalised, but not turned.",
        _in_both(lambda x, heads: _norm(_cut(x, heads))),
    ),
    Mistake(
        "turned-across-heads",
        "Queries and keys are turned before the heads are cut, so the angles run on through all heads.",
        _in_both(lambda x, heads: _cut(_turn(x), heads)),
        _in_both(lambda x, heads: _norm(_cut(_turn(x), heads))),
    ),
    Mistake(
        "length-for-norm",
        "QK-norm divides each vector by its length, and does not subtract its mean.",
        _in_both(lambda x, heads: _turn(F.normalize(_cut(x, heads), dim=-1))),
    ),
    Mistake(
        "keys-not-turned", "Queries are turned and keys are not.", {"keys": lambda x, heads: _norm(_cut(x, heads))}
    ),
    Mistake(
        "keys-not-normalised",
        "Queries are normalised and keys are not.",
        {"keys": lambda x, heads: _turn(_cut(x, heads))},
    ),
    Mistake(
        "values-normalised", "The values are normalised as well.", {"values": lambda x, heads: _norm(_cut(x, heads))}
    ),
    Mistake(
        "causal",
        "Each token attends only to itself and to those before it in the row.",
        {"share": lambda s: s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf).softmax(dim=-1)},
    ),
    Mistake(
        "heads-interleaved",
        "The heads are cut in turn, so each gets every h-th number and not a stretch of numbers.",
        lambda z, qkv, *others: block(z, qkv.unflatten(0, (3, -1, others[-1])).transpose(1, 2).flatten(0, 2), *others),
    ),
    Mistake(
        "joined-by-bare-reshape",
        "The heads are joined by a bare reshape, so the output of a token holds pieces of other tokens.",
        {"join": lambda out: out.reshape(len(out), out.shape[2], -1)},
    ),
    Mistake(
        "scale-on-the-sum",
        "LayerScale multiplies the sum: the branch and the residual stream.",
        {
            "add_attention": lambda z, out, scale: scale * (z + out),
            "add_swiglu": lambda z, out, scale: scale * (z + out),
        },
    ),
    Mistake(
        "no-layer-scale",
        "LayerScale is missing.",
        {"add_attention": lambda z, out, scale: z + out, "add_swiglu": lambda z, out, scale: z + out},
    ),
    Mistake(
        "scales-exchanged",
        "Each branch has the scale of the other.",
        lambda *given: block(*given[:-2], given[-2].flip(0), given[-1]),
    ),
    Mistake(
        "one-scale-for-both",
        "Both branches have the same row of the scales.",
        lambda *given: block(*given[:-2], given[-2][[0, 0]], given[-1]),
        lambda *given: block(*given[:-2], given[-2][[1, 1]], given[-1]),
    ),
    Mistake(
        "first-residual-missing",
        "The output of attention replaces the residual stream instead of being added to it.",
        {"add_attention": _add_nothing},
    ),
    Mistake(
        "second-residual-missing",
        "The output of SwiGLU replaces the residual stream instead of being added to it.",
        {"add_swiglu": _add_nothing},
    ),
    Mistake(
        "no-norm-before-attention",
        "The input of attention has not passed through a norm.",
        {"norm_attention": lambda x: x},
    ),
    Mistake(
        "no-norm-before-swiglu", "The input of SwiGLU has not passed through a norm.", {"norm_swiglu": lambda x: x}
    ),
    Mistake("norm-at-the-end", "A norm follows, which belongs to the next block.", lambda *given: _norm(block(*given))),
    Mistake(
        "parallel", "Both branches read the block's input; the second should read the result of the first.", _parallel
    ),
    Mistake(
        "gate-and-value-exchanged",
        "SiLU is on the other of the two layers.",
        {"gated": lambda gate, other: gate * F.silu(other)},
    ),
    Mistake(
        "another-gate",
        "The gate has another function than SiLU.",
        {"gated": lambda gate, other: F.gelu(gate) * other},
        {"gated": lambda gate, other: gate.sigmoid() * other},
        {"gated": lambda gate, other: gate.relu() * other},
    ),
    Mistake(
        "one-layer-of-two",
        "Only one of the two layers side by side is used.",
        {"gated": lambda gate, other: F.silu(gate)},
        {"gated": lambda gate, other: F.silu(other)},
    ),
    Mistake(
        "gate-added", "The two layers are added, not multiplied.", {"gated": lambda gate, other: F.silu(gate) + other}
    ),
]
