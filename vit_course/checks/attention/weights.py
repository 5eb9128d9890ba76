"""Exercise attention.weights: attention weights from queries and keys, with a mask of what each query may read."""

import torch

from vit_course.checks.attention.weights_seen import seen_in
from vit_course.checks.attention.weights_slips import MISTAKES, RAISED, share_out
from vit_course.checks.exercise import exercise
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import Known, by_results, named_by_details
from vit_course.checks.tools.usual import right_in_part, usual_slips


@exercise("4.1", "Weights with a mask", section="All queries at once", difficulty=2, minutes=10)
def weights(answer, draw):
    """`answer(q, k, keep)`: (B, h, T, d), (B, h, S, d), bool (B, T, S) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5, low=3, high=10), draw.sizes(5, low=3, high=10)):
        q, k = draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)
        draws.append((q, k, _mask(draw, batch, queries, keys)))
    usual = usual_slips(answer, share_out, draws, "sequence")
    sentence = "Of several heads, the first alone is right."
    usual.append(right_in_part(answer, share_out, "first-head-alone-right", sentence, lambda out, *_: out[:, :1]))
    mistakes = [*RAISED, *by_results(MISTAKES), *usual, *seen_in(answer)]
    q, k, _ = draws[0]
    axes = dict(zip("BhTd", zip(q.shape, ("sequences", "heads", "queries", "width"), strict=True), strict=True))
    with named_by_details(*_KNOWN), axes_named(axes | {"S": (k.shape[2], "keys")}, asked="(B, h, T, S)"):
        same_function(answer, share_out, draws, mistakes, axes="(B, h, T, S)")


def _mask(draw, batch: int, queries: int, keys: int) -> torch.Tensor:
    """(B, T, S), random, with at least one True and one False in each row and in each column."""
    keep = draw.uniform(batch, queries, keys) < 0.5
    shorter = min(queries, keys)
    step = (torch.arange(keys) - torch.arange(queries)[:, None]) % shorter  # (T, S)
    return (keep | (step == 0)) & (step != 1)


_KNOWN = [
    Known(r"operator\.invert\)", "mask-not-bool",
          "A mask of numbers is turned round by ~, which takes True and False."),
    Known(r"with a bool tensor is not supported", "bools-subtracted",
          "True and False are subtracted as if they were numbers."),
    Known(r"only supports boolean masks", "mask-not-bool",
          "What should say where to mask is not of type bool."),
]  # fmt: skip
