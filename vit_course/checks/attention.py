"""Checks of chapter 04: attention weights, heads, self-attention."""

import math

import torch
from torch import nn

from vit_course.attention import SelfAttention, attention_weights
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import Mistake, build, call, count, equal, fill, same_answers, same_function, tensor


@exercise("Weights from queries and keys", difficulty=1, minutes=8)
def weights(answer, draw):
    """`answer(q, k)`: (B, h, T, d), (B, h, S, d) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5), draw.sizes(5)):
        draws.append((draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)))

    def scores(q, k, divisor):
        return q @ k.transpose(-2, -1) / divisor

    same_function(
        answer,
        attention_weights,
        draws,
        axes="(B, h, T, S)",
        mistakes=[
            Mistake(
                "softmax-over-queries",
                "The softmax runs over the queries: the numbers that one key gets sum to 1, "
                "where the numbers that one query gives should.",
                lambda q, k: scores(q, k, math.sqrt(q.shape[-1])).softmax(dim=-2),
            ),
            Mistake(
                "no-scale",
                "The scores go into the softmax as they are, so their spread grows with the width of the head.",
                lambda q, k: scores(q, k, 1).softmax(dim=-1),
            ),
            Mistake(
                "scale-by-d",
                "The scores are divided by the width itself, and the weights come out too even.",
                lambda q, k: scores(q, k, q.shape[-1]).softmax(dim=-1),
            ),
            Mistake(
                "scale-by-tokens",
                "The scores are divided by the root of a number of tokens, not of the width of the vectors.",
                lambda q, k: scores(q, k, math.sqrt(k.shape[-2])).softmax(dim=-1),
            ),
            Mistake(
                "multiplied-by-root",
                "The scores are multiplied by the root of the width where they should shrink.",
                lambda q, k: scores(q, k, 1 / math.sqrt(q.shape[-1])).softmax(dim=-1),
            ),
            Mistake(
                "no-softmax",
                "These are scores: they are negative in places and no row sums to 1.",
                lambda q, k: scores(q, k, math.sqrt(q.shape[-1])),
            ),
            Mistake(
                "softmax-over-heads",
                "The softmax runs over the heads, so heads compete for a token.",
                lambda q, k: scores(q, k, math.sqrt(q.shape[-1])).softmax(dim=1),
            ),
            Mistake(
                "scaled-after-softmax",
                "The division comes after the softmax: the rows no longer sum to 1.",
                lambda q, k: scores(q, k, 1).softmax(dim=-1) / math.sqrt(q.shape[-1]),
            ),
        ],
    )


@exercise("The cut into heads", difficulty=2, minutes=8)
def split_heads(answer, draw):
    """`answer(x, num_heads)`: (B, T, D) -> (B, h, T, d), head 0 being the first d numbers of each token."""
    draws = []
    for batch, tokens, heads, width in (draw.sizes(4), draw.sizes(4)):
        draws.append((draw.normal(batch, tokens, heads * width), heads))

    def reference(x, h):
        return x.unflatten(2, (h, -1)).transpose(1, 2)

    same_function(
        answer,
        reference,
        draws,
        axes="(B, h, T, d)",
        mistakes=[
            Mistake(
                "bare-reshape",
                "A reshape straight to the final shape mixes tokens: one head's row holds pieces of several tokens.",
                lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1),
            ),
            Mistake(
                "interleaved-heads",
                "Each head takes every h-th number of a token, where it should take d neighbours.",
                lambda x, h: x.unflatten(2, (-1, h)).permute(0, 3, 1, 2),
            ),
            Mistake(
                "heads-after-tokens",
                "The heads are an axis behind the tokens: a product over the last two axes would compare heads.",
                lambda x, h: x.unflatten(2, (h, -1)),
            ),
            Mistake(
                "heads-before-batch",
                "The heads come before the batch.",
                lambda x, h: x.unflatten(2, (h, -1)).permute(2, 0, 1, 3),
            ),
            Mistake(
                "token-and-width-swapped",
                "The last two axes are swapped.",
                lambda x, h: x.unflatten(2, (h, -1)).permute(0, 2, 3, 1),
            ),
        ],
    )


@exercise("Counts for ViT-S/16", difficulty=1, minutes=7)
def counts(answer, draw, parts):
    """`answer()` -> {"head_width", "weights_per_image", "layer_parameters", "twice_the_heads"}."""
    width, heads, tokens = 384, 6, 197
    same_answers(
        call(answer),
        {
            "head_width": width // heads,
            "weights_per_image": heads * tokens * tokens,
            "layer_parameters": sum(p.numel() for p in SelfAttention(width, heads).parameters()),
            "parameters_with_twice_the_heads": sum(p.numel() for p in SelfAttention(width, 2 * heads).parameters()),
        },
        parts,
        mistakes={
            "head_width": {
                width: ("width-not-divided", "Every head has the full width D: they are meant to share it."),
                width // 12: ("heads-of-another-model", "12 heads are those of ViT-B/16."),
            },
            "weights_per_image": {
                tokens * tokens: ("one-head-only", "This counts one head; each head has weights of its own."),
                heads * 196 * 196: (
                    "class-token-forgotten",
                    "This counts the patches; the class token is a token too.",
                ),
                heads * tokens: ("one-query-only", "This counts the weights of one query; every token asks."),
            },
            "layer_parameters": {
                3 * width * width + 3 * width: (
                    "projection-forgotten",
                    "This counts q, k and v; one layer is missing.",
                ),
                4 * width * width: ("biases-forgotten", "This counts the matrices without their biases."),
                heads * (3 * width * width + 3 * width) + width * width + width: (
                    "width-not-divided",
                    "Here every head has matrices of the full width D.",
                ),
            },
            "parameters_with_twice_the_heads": {
                2 * (4 * width * width + 4 * width): (
                    "more-heads-more-parameters",
                    "Twice the heads do not have twice the parameters: each becomes narrower.",
                ),
            },
        },
    )


@exercise("Self-attention from a fused matrix, mended", difficulty=2, minutes=10)
def mended(answer, draw):
    """`answer(x, qkv, projection, num_heads)`: (B, T, D) and two weight matrices -> (B, T, D)."""
    draws = []
    for batch, tokens, heads, width in (draw.sizes(4), draw.sizes(4)):
        hidden = heads * width
        # Weights of this size make the weights uneven enough that no mistake hides in the rounding.
        scale = hidden**-0.5
        draws.append(
            (
                draw.normal(batch, tokens, hidden),
                2 * scale * draw.normal(3 * hidden, hidden),
                scale * draw.normal(hidden, hidden),
                heads,
            )
        )

    def attention(x, qkv, projection, heads, order=(0, 1, 2), dim=-1, root=None, merge=None, project=True):
        parts = (x @ qkv.T).unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = (parts[index] for index in order)
        divisor = math.sqrt(root or q.shape[-1])
        out = (q @ k.transpose(-2, -1) / divisor).softmax(dim=dim) @ v
        out = merge(out) if merge else out.transpose(1, 2).flatten(2)
        return out @ projection.T if project else out

    def with_root_of_width(x, qkv, projection, heads):
        return attention(x, qkv, projection, heads, root=x.shape[-1])

    same_function(
        answer,
        attention,
        draws,
        axes="(B, T, D)",
        mistakes=[
            Mistake(
                "sqrt-of-hidden-width",
                "The scores are divided by the root of the hidden width, not of the width of a head.",
                with_root_of_width,
            ),
            Mistake(
                "merged-by-bare-reshape",
                "The heads are put together by a bare reshape, so a token's output holds pieces of other tokens.",
                lambda x, w, p, h: attention(x, w, p, h, merge=lambda out: out.reshape(x.shape)),
            ),
            Mistake(
                "both-bugs",
                "Two things are wrong: the number under the root, and the way the heads are put together.",
                lambda x, w, p, h: attention(x, w, p, h, root=x.shape[-1], merge=lambda out: out.reshape(x.shape)),
            ),
            Mistake(
                "key-value-swapped",
                "Keys and values have changed places.",
                lambda x, w, p, h: attention(x, w, p, h, order=(0, 2, 1)),
            ),
            Mistake(
                "query-key-swapped",
                "Queries and keys have changed places.",
                lambda x, w, p, h: attention(x, w, p, h, order=(1, 0, 2)),
            ),
            Mistake(
                "softmax-over-queries",
                "The softmax runs over the queries, so no output is an average of values.",
                lambda x, w, p, h: attention(x, w, p, h, dim=-2),
            ),
            Mistake(
                "no-projection",
                "The output projection is missing: the heads lie side by side and never meet.",
                lambda x, w, p, h: attention(x, w, p, h, project=False),
            ),
            Mistake(
                "projection-transposed",
                "The output projection is multiplied in the wrong orientation.",
                lambda x, w, p, h: attention(x, w, p.T, h),
            ),
        ],
    )


@exercise("Self-attention as a module", difficulty=3, minutes=20)
def module(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D), its parameters named as you like."""
    for _ in range(2):
        batch, tokens = draw.sizes(2)
        # Coprime, so that a layer whose heads take every h-th number, as good as any, gives the same in `_values`.
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        layer = build(answer, hidden, heads)
        x = draw.normal(batch, tokens, hidden)
        out = tensor(call(layer, x), x.shape, "(B, T, D)", "the output")
        layer.eval()
        _parameters(layer, hidden, heads)
        order = draw.permutation(tokens)
        equal(
            call(layer, x[:, order]),
            call(layer, x)[:, order],
            "tokens-mixed",
            "Shuffled tokens do not give the same output, shuffled: the cut into heads mixes tokens.",
            axes="(B, T, D)",
        )
        equal(
            call(layer, x[:1]),
            call(layer, x)[:1],
            "batch-mates-matter",
            "The output for one image changes with the other images of the batch.",
            axes="(B, T, D)",
        )
        out.sum().backward()
        if any(p.grad is None for p in layer.parameters() if p.requires_grad):
            raise Wrong("unused-parameters", "Some of the parameters have no part in the output.")
        _values(layer, x, heads)


def _parameters(layer: nn.Module, hidden: int, heads: int) -> None:
    found = count(layer)
    matrices = 4 * hidden * hidden
    biases = {0, hidden, 2 * hidden, 3 * hidden, 4 * hidden}
    if found - matrices in biases:
        return
    known = {
        3 * hidden * hidden: (
            "no-projection",
            "There are parameters for queries, keys and values, and none after them.",
        ),
        matrices - hidden * hidden * 2: (
            "shared-query-key",
            "Queries, keys and values do not have matrices of their own.",
        ),
    }
    for base, (slug, sentence) in known.items():
        if found - base in biases:
            raise Wrong(slug, sentence, [f"Received: {found} parameters at D = {hidden}, h = {heads}"])
    if found == 0:
        raise Wrong(
            "no-parameters", "The module has no parameters: its layers are not attributes, or lie in a plain list."
        )
    if found >= 3 * hidden * hidden * heads:
        raise Wrong(
            "heads-of-full-width",
            "Each head has matrices of the full width D; the heads are meant to share it.",
            [f"Received: {found} parameters at D = {hidden}, h = {heads}"],
        )
    raise Wrong(
        "wrong-parameters",
        "The number of parameters is not that of self-attention.",
        [
            f"Expected: {matrices} in matrices and up to {4 * hidden} in biases, at D = {hidden}, h = {heads}",
            f"Received: {found}",
        ],
    )


def _values(layer: nn.Module, x: torch.Tensor, heads: int) -> None:
    # With all matrices alike the right output is known, whatever the parameters are called.
    width = x.shape[-1] // heads
    ours = SelfAttention(x.shape[-1], heads).eval()
    for each in (layer, ours):
        fill(each, width, scale=0.5)
    expected = ours(x).detach()
    received = call(layer, x)

    def variant(dim=-1, divisor=width**0.5):
        q, k, v = ours.split_heads(x)
        out = (q @ k.transpose(-2, -1) / divisor).softmax(dim=dim) @ v
        return ours.projection(out.transpose(1, 2).flatten(2)).detach()

    for mistake, sentence, output in (
        ("softmax-over-queries", "The softmax runs over the queries.", variant(dim=-2)),
        ("no-scale", "The scores go into the softmax without being scaled.", variant(divisor=1)),
        (
            "sqrt-of-hidden-width",
            "The scores are divided by the root of the hidden width, not of the width of a head.",
            variant(divisor=math.sqrt(x.shape[-1])),
        ),
        ("scale-by-d", "The scores are divided by the width of a head itself.", variant(divisor=width)),
    ):  # fmt: skip
        if not torch.allclose(expected, output, rtol=1e-3) and torch.allclose(received, output, rtol=1e-3, atol=1e-4):
            equal(received, expected, mistake, sentence, axes="(B, T, D)")
    equal(received, expected, axes="(B, T, D)", context=["All matrices were set to known values, all biases to 0."])
