"""Exercise further.modern: a block with four later parts, to be debugged."""

from itertools import permutations

import torch
import torch.nn.functional as F

from vit_course.checks.tools.attention_slips import (
    SCALE_NONE,
    SCALE_OTHERS,
    SCALE_ROOT_OF_ALL_HEADS,
    SHARE_AXES,
    SHARE_OTHERS,
)
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Slip, wrong_functions


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
    same_function(answer, block, draws, wrong_functions(MISTAKES, block, pairs=4), axes="(B, T, D)")


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
    parts=lambda x: x.chunk(3, dim=-1),
    join=lambda out: out.transpose(1, 2).flatten(2),
    reads=lambda z, first: first,
    of_keys=None,
    second=None,
    before_second=None,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    q, k, v = parts(before(z) @ qkv.T)  # (B, T, D) each
    q, k, v = within(q, num_heads), (of_keys or within)(k, num_heads), values(_cut(v, num_heads))  # (B, h, T, d) each
    weights = share(q @ k.mT / scale(q.shape[-1], num_heads, z.shape[1]))  # (B, h, T, T)
    first = add(z, join(weights @ v) @ projection.T, scales[0])
    y = (before_second or before)(reads(z, first))
    return (second or add)(first, gated(y @ gate.T, y @ expand.T) @ contract.T, scales[1])


def _over_all(x, heads):
    return _turn(_cut(_norm(x), heads))


def _on_the_stream(z, out, scale):
    return scale * z + out


def _added(z, out, scale):
    return z + scale * out


def _alone(z, out, scale):
    return scale * out


def _same(x):
    return x


MISTAKES = {
    "result": [
        Slip(
            "still-faulty",
            "All three bugs are still there: this gives the same output as the faulty version.",
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, within=_over_all, values=_turn, add=_on_the_stream
            ),
        ),
    ],
    "within": [
        Slip("norm-over-all-heads", "QK-norm is taken over all heads together, before they are cut apart.", _over_all),
        Slip(
            "turned-before-the-norm",
            "Queries and keys are turned first and normalised afterwards.",
            lambda x, heads: _norm(_turn(_cut(x, heads))),
        ),
        Slip("no-qk-norm", "Queries and keys are turned, but not normalised.", lambda x, heads: _turn(_cut(x, heads))),
        Slip("not-turned", "Queries and keys are normalised, but not turned.", lambda x, heads: _norm(_cut(x, heads))),
        Slip("neither-normalised-nor-turned", "Queries and keys are used as they come from the matrix.", _cut),
        Slip(
            "norm-twice",
            "Queries and keys are normalised over all heads, and again within each head.",
            lambda x, heads: _turn(_norm(_cut(_norm(x), heads))),
        ),
        Slip("turned-twice", "Queries and keys are turned twice.", lambda x, heads: _turn(_within(x, heads))),
        Slip(
            "turned-across-heads",
            "Queries and keys are turned before the heads are cut, so the angles run on through all heads.",
            lambda x, heads: _cut(_turn(x[:, None])[:, 0], heads),
            lambda x, heads: _norm(_cut(_turn(x[:, None])[:, 0], heads)),
        ),
        Slip(
            "cut-by-bare-reshape",
            "The heads are cut by a bare reshape, so one head holds pieces of several tokens.",
            lambda x, heads: _turn(_norm(x.reshape(len(x), heads, x.shape[1], -1))),
        ),
        Slip(
            "length-for-norm",
            "QK-norm divides each vector by its length, and does not subtract its mean.",
            lambda x, heads: _turn(F.normalize(_cut(x, heads), dim=-1)),
        ),
        Slip(
            "mean-kept-in-norm",
            "QK-norm divides each vector by the root of its mean square, and the mean is not subtracted.",
            lambda x, heads: _turn(F.rms_norm(_cut(x, heads), (x.shape[-1] // heads,))),
        ),
    ],
    "values": [
        Slip("values-turned", "The values are turned as well, so the output depends on where a token stands.", _turn),
        Slip("values-normalised", "The values are normalised as well.", _norm),
        Slip(
            "values-normalised-and-turned",
            "The values go through norm and turn as queries and keys do.",
            lambda v: _turn(_norm(v)),
        ),
    ],
    "add": [
        Slip(
            "scale-on-the-stream",
            "LayerScale multiplies the residual stream, not what a branch adds to it.",
            _on_the_stream,
        ),
        Slip(
            "scale-on-the-sum",
            "LayerScale multiplies the sum: the branch and the residual stream.",
            lambda z, out, scale: scale * (z + out),
        ),
        Slip("no-layer-scale", "LayerScale is missing.", lambda z, out, scale: z + out),
        Slip("residual-missing", "The residual connection is missing.", lambda z, out, scale: scale * out),
        Slip(
            "weighed-against-each-other",
            "What is taken from the branch is taken away from the residual stream.",
            lambda z, out, scale: (1 - scale) * z + scale * out,
        ),
    ],
    "scale": [
        *SCALE_ROOT_OF_ALL_HEADS,
        *SCALE_NONE,
        *SCALE_OTHERS,
    ],
    "share": [
        *SHARE_AXES,
        *SHARE_OTHERS,
        Slip(
            "causal",
            "Each token attends only to itself and to those before it in the row.",
            lambda s: s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf).softmax(-1),
        ),
    ],
    "gated": [
        Slip(
            "gate-and-value-exchanged",
            "SiLU is on the other of the two layers.",
            lambda gate, other: gate * F.silu(other),
        ),
        Slip("no-silu", "The two layers are multiplied without SiLU.", lambda gate, other: gate * other),
        Slip(
            "another-gate",
            "The gate has another function than SiLU.",
            lambda gate, other: F.gelu(gate) * other,
            lambda gate, other: gate.sigmoid() * other,
            lambda gate, other: gate.relu() * other,
        ),
        Slip(
            "one-layer-of-two",
            "Only one of the two layers side by side is used.",
            lambda gate, other: F.silu(gate),
            lambda gate, other: F.silu(other),
        ),
        Slip("gate-added", "The two layers are added, not multiplied.", lambda gate, other: F.silu(gate) + other),
    ],
    "before": [
        Slip("no-norm-before", "The norm before each branch is missing.", _same),
    ],
    "join": [
        Slip(
            "joined-by-bare-reshape",
            "The heads are joined by a bare reshape, so the output of a token holds pieces of other tokens.",
            lambda out: out.reshape(len(out), out.shape[2], -1),
        ),
        Slip(
            "joined-interleaved",
            "The heads are joined in turn: first a number of each head, then the next number of each.",
            lambda out: out.permute(0, 2, 3, 1).flatten(2),
        ),
    ],
    "reads": [
        Slip(
            "parallel",
            "Both branches read the block's input; the second should read the result of the first.",
            lambda z, first: z,
        ),
    ],
    "parts": [
        Slip(
            "parts-exchanged",
            "Queries, keys and values are taken from the matrix in another order.",
            *(lambda x, order=order: [x.chunk(3, dim=-1)[i] for i in order] for order in [*permutations(range(3))][1:]),
        ),
        Slip(
            "parts-interleaved",
            "The numbers of queries, keys and values are taken in turn; they come one after the other.",
            lambda x: x.unflatten(2, (-1, 3)).unbind(-1),
        ),
    ],
    "of_keys": [
        Slip("keys-as-before", "Queries are correct, but keys are normalised over all heads together.", _over_all),
        Slip("keys-not-turned", "Queries are turned and keys are not.", lambda x, heads: _norm(_cut(x, heads))),
        Slip("keys-not-normalised", "Queries are normalised and keys are not.", lambda x, heads: _turn(_cut(x, heads))),
    ],
    "second": [
        Slip(
            "second-scale-on-the-stream",
            "The branch of attention is correct; in the other one the scale is still on the residual stream.",
            _on_the_stream,
        ),
        Slip(
            "second-scale-missing",
            "The branch of attention is correct; the other one has no scale.",
            lambda z, out, scale: z + out,
        ),
        Slip(
            "second-residual-missing",
            "The output of SwiGLU replaces the residual stream instead of being added to it.",
            _alone,
        ),
    ],
    "before_second": [
        Slip("no-norm-before-swiglu", "The input of SwiGLU has not passed through a norm.", _same),
    ],
    "result-2": [
        Slip(
            "queries-as-before",
            "Keys are correct, but queries are normalised over all heads together.",
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s, h, within=_over_all, of_keys=_within),
        ),
        Slip(
            "queries-not-turned",
            "Keys are turned and queries are not.",
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, within=lambda x, heads: _norm(_cut(x, heads)), of_keys=_within
            ),
        ),
        Slip(
            "queries-not-normalised",
            "Keys are normalised and queries are not.",
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, within=lambda x, heads: _turn(_cut(x, heads)), of_keys=_within
            ),
        ),
        Slip(
            "first-scale-on-the-stream",
            "The branch of SwiGLU is correct; in that of attention the scale is still on the residual stream.",
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s, h, add=_on_the_stream, second=_added),
        ),
        Slip(
            "first-scale-missing",
            "The branch of SwiGLU is correct; that of attention has no scale.",
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, add=lambda z, out, scale: z + out, second=_added
            ),
        ),
        Slip(
            "first-residual-missing",
            "The output of attention replaces the residual stream instead of being added to it.",
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s, h, add=_alone, second=_added),
        ),
        Slip(
            "no-norm-before-attention",
            "The input of attention has not passed through a norm.",
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s, h, before=_same, before_second=_norm),
        ),
        Slip(
            "residual-from-norm",
            "The normed input of a branch is added to its output, not the input itself.",
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, add=lambda z, out, scale: _norm(z) + scale * out
            ),
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, add=lambda z, out, scale: _norm(z) + scale * out, second=_added
            ),
            lambda z, w, p, g, e, c, s, h: block(
                z, w, p, g, e, c, s, h, second=lambda z, out, scale: _norm(z) + scale * out
            ),
        ),
        Slip(
            "heads-interleaved",
            "The heads are cut in turn, so each gets every h-th number and not a stretch of numbers.",
            lambda z, w, p, g, e, c, s, h: block(
                z, w.unflatten(0, (3, -1, h)).transpose(1, 2).flatten(0, 2), p, g, e, c, s, h
            ),
        ),
        Slip(
            "no-projection",
            "The heads are joined, but their output does not go through the projection.",
            lambda z, w, p, g, e, c, s, h: block(z, w, torch.eye(len(p)), g, e, c, s, h),
        ),
        Slip(
            "scales-exchanged",
            "Each branch has the scale of the other.",
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s.flip(0), h),
        ),
        Slip(
            "one-scale-for-both",
            "Both branches have the same row of the scales.",
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s[[0, 0]], h),
            lambda z, w, p, g, e, c, s, h: block(z, w, p, g, e, c, s[[1, 1]], h),
        ),
        Slip(
            "norm-at-the-end",
            "A norm follows, which belongs to the next block.",
            lambda z, w, p, g, e, c, s, h: _norm(block(z, w, p, g, e, c, s, h)),
        ),
    ],
}
