"""Exercise attention.mended: self-attention from a fused matrix, to be repaired."""

import math

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("Self-attention from a fused matrix, repaired", section="All heads in one product", difficulty=2, minutes=12)
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
