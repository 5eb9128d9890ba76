"""Exercise without_labels.masking: a given mask as the positions of visible patches, and the way back."""

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F

from vit_course.checks.report import Wrong
from vit_course.checks.tools.builtin_values import to_builtin
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.common import right_in_part
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details
from vit_course.checks.tools.words import describe


def masking(answer, draw):
    """`answer(hidden)`: bool (B, N) -> visible (B, V) and restore (B, N), both int64."""
    draws = []
    # Of so many patches, four times as many in the second draw, a sort that is not stable mixes equal values.
    for times, (visible, hidden) in ((1, draw.sizes(2, 5, 9)), (4, draw.sizes(2, 5, 9)), (1, (1, 6))):
        (batch,), patches = draw.sizes(1, 2, 4), times * (visible + hidden)
        draws.append((draw.uniform(batch, patches).argsort(dim=1) < times * hidden,))
    with named_by_details(*ERRORS):
        _pair(call(answer, *draws[0]))
    results = (
        ("visible", "(B, V)", _visible, VISIBLE, VISIBLE_IN_PART),
        ("restore", "(B, N)", _restore, RESTORE, RESTORE_IN_PART),
    )
    for place, (name, axes, right, mistakes, in_part) in enumerate(results):
        one = _one_of(answer, place)
        try:
            with named_by_details(*ERRORS):
                mistakes = [*mistakes, right_in_part(one, right, *in_part)]
                same_function(one, right, draws, mistakes, axes, differentiable=False)
        except Wrong as wrong:
            details = [f"Result:   {name}, {axes}", *wrong.details]
            raise Wrong(wrong.mistake, wrong.sentence, details, wrong.expected, wrong.received) from None


def _pair(result) -> list:
    if result is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    sentence = f"The result is {describe(result)}; the exercise asks for two tensors, visible and restore."
    if not isinstance(result, (tuple, list)):
        raise Wrong("one-result", sentence)
    if len(result) != 2:
        raise Wrong("number-of-results", sentence)
    return list(result)


def _one_of(answer: Callable, place: int) -> Callable:
    @functools.wraps(answer, updated=())
    def one(hidden):
        return _pair(to_builtin(answer(hidden)))[place]

    return one


def _order(hidden: torch.Tensor) -> torch.Tensor:
    # (B, N): the visible positions, then the hidden ones
    return hidden.int().argsort(dim=1, stable=True)


def _visible(hidden: torch.Tensor) -> torch.Tensor:
    return _order(hidden)[:, : int((~hidden[0]).sum())]


def _restore(hidden: torch.Tensor) -> torch.Tensor:
    return _order(hidden).argsort(dim=1)


ERRORS = [
    Known(
        "only integer tensors of a single element",
        "count-of-each-image",
        "The number of visible patches is a tensor with an entry for each image, not one number.",
    ),
]

VISIBLE = [
    Mistake("results-exchanged", "The two results are returned in the wrong order.", lambda hidden: _restore(hidden)),
    Mistake(
        "hidden-for-visible",
        "`visible` holds the positions of the hidden patches.",
        lambda hidden: _visible(~hidden),
        lambda hidden: _order(~hidden)[:, : _visible(hidden).shape[1]],
    ),
    Mistake(
        "first-image-for-all",
        "Every image gets the visible positions of the first image.",
        lambda hidden: _visible(hidden[:1].expand_as(hidden)),
        lambda hidden: _visible(hidden[:1]),
        lambda hidden: _visible(hidden[:1])[0],
    ),
    Mistake(
        "counted-over-the-batch",
        "The visible patches of the whole batch are counted, not those of one image.",
        lambda hidden: _order(hidden)[:, : int((~hidden).sum())],
    ),
    Mistake(
        "class-token-counted",
        "The positions are counted as if there were a class token in front of the patches.",
        lambda hidden: _visible(hidden) + 1,
        lambda hidden: F.pad(_visible(hidden) + 1, (1, 0)),
    ),
    Mistake(
        "counted-over-the-batch",
        "The positions are counted on from image to image, as in one long row of patches.",
        lambda hidden: _visible(hidden) + hidden.shape[1] * torch.arange(len(hidden))[:, None],
        lambda hidden: (~hidden).flatten().nonzero()[:, 0],
    ),
    Mistake(
        "images-joined",
        "The positions of all images are in one row; each image needs a row of its own.",
        lambda hidden: (~hidden).nonzero()[:, 1],
    ),
    Mistake(
        "mask-not-positions",
        "`visible` is a mask with an entry for each patch; the exercise asks for positions.",
        lambda hidden: ~hidden,
        lambda hidden: (~hidden).long(),
        lambda hidden: hidden,
    ),
]

# What is right in one part only: slug, sentence, and the part, a function of result and mask.
VISIBLE_IN_PART = (
    "not-in-the-order-of-the-picture",  # taught
    "`visible` holds the right positions in another order than the picture's, as after a sort that mixes equal values.",
    lambda out, hidden: out.sort(dim=1).values,
)

RESTORE = [
    Mistake(
        "order-not-inverse",
        "`restore` is the order into which the patches are brought; it does not bring them back.",
        lambda hidden: _order(hidden),
    ),
    Mistake(
        "hidden-counted-from-zero",
        "The count of the mask tokens starts at 0, so hidden positions get visible tokens.",
        lambda hidden: torch.where(hidden, hidden.cumsum(1) - 1, _restore(hidden)),
    ),
    Mistake(
        "one-mask-token",
        "All hidden positions of an image get the same mask token.",
        lambda hidden: torch.where(hidden, _visible(hidden).shape[1], _restore(hidden)),
        lambda hidden: torch.where(hidden, hidden.shape[1] - 1, _restore(hidden)),
        lambda hidden: torch.where(hidden, -1, _restore(hidden)),
    ),
    Mistake(
        "class-token-counted",
        "Every entry is one too large, as if there were a class token in front.",
        lambda hidden: _restore(hidden) + 1,
        lambda hidden: F.pad(_restore(hidden) + 1, (1, 0)),
    ),
    Mistake(
        "first-image-for-all",
        "Every image gets what belongs to the first one.",
        lambda hidden: _restore(hidden[:1].expand_as(hidden)),
        lambda hidden: _restore(hidden[:1]),
        lambda hidden: _restore(hidden[:1])[0],
    ),
    Mistake(
        "counted-over-the-batch",
        "The entries are counted on from image to image, as in one long row of patches.",
        lambda hidden: _restore(hidden) + hidden.shape[1] * torch.arange(len(hidden))[:, None],
    ),
    Mistake(
        "mask-not-positions",
        "`restore` is a mask; the exercise asks where each token is to be found.",
        lambda hidden: hidden,
        lambda hidden: hidden.long(),
    ),
]

RESTORE_IN_PART = (
    "mask-tokens-mixed",
    "`restore` is correct at the visible positions, but not at the hidden ones.",
    lambda out, hidden: out.masked_fill(hidden, 0),
)
