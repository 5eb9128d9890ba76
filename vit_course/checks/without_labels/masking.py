"""Exercise without_labels.masking: a given mask as the positions of visible patches, and the way back."""

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.common import right_in_part
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse, wrong_functions
from vit_course.checks.tools.plain import plain
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
    kinds = (
        ("visible", "(B, V)", _visible, VISIBLE, VISIBLE_IN_PART),
        ("restore", "(B, N)", _restore, RESTORE, RESTORE_IN_PART),
    )
    for position, (name, axes, right, whole, in_part) in enumerate(kinds):
        one = _one_of(answer, position)
        mistakes = wrong_functions(whole)
        for part in wrong_functions(in_part):
            mistakes.append(right_in_part(one, right, part.slug, part.sentence, part.function))
        try:
            with named_by_details(*ERRORS):
                same_function(one, right, draws, mistakes, axes, differentiable=False)
        except Wrong as wrong:
            details = [f"Result:   {name}, {axes}", *wrong.details]
            raise Wrong(wrong.mistake, wrong.sentence, details, wrong.expected, wrong.received) from None


def _pair(result) -> list:
    found = describe(result)
    refuse(PAIR, dict(result=result, found=found))
    return list(result)


def _one_of(answer: Callable, position: int) -> Callable:
    @functools.wraps(answer, updated=())
    def one(hidden):
        return _pair(plain(answer(hidden)))[position]

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
        "only integer tensors of a single element|Boolean value of Tensor|too many indices|can't convert|one element",
        "count-of-each-image",
        "The number of visible patches is a tensor with an entry for each image, not one number.",
    ),
    Known(
        "is invalid for input of size",
        "reshape-does-not-fit",
        "The positions do not fit into the shape of a reshape: the number of visible patches is another one.",
    ),
]

PAIR = [
    Slip("returned-nothing", "The result is None: nothing was returned.", lambda result: result is None),
    Slip(
        "one-result",
        "The result is {found}; the exercise asks for two tensors, visible and restore.",
        lambda result: not isinstance(result, (tuple, list)),
    ),
    Slip(
        "number-of-results",
        "The result is {found}; the exercise asks for two tensors, visible and restore.",
        lambda result: len(result) != 2,
    ),
]

VISIBLE = [
    Slip("results-exchanged", "The two results are returned in the wrong order.", lambda hidden: _restore(hidden)),
    Slip(
        "hidden-for-visible",
        "`visible` holds the positions of the hidden patches.",
        lambda hidden: _visible(~hidden),
        lambda hidden: _order(~hidden)[:, : _visible(hidden).shape[1]],
    ),
    Slip(
        "first-image-for-all",
        "Every image gets the visible positions of the first image.",
        lambda hidden: _visible(hidden[:1].expand_as(hidden)),
        lambda hidden: _visible(hidden[:1]),
        lambda hidden: _visible(hidden[:1])[0],
    ),
    Slip(
        "not-cut",
        "`visible` has all N positions: those of the hidden patches are still at the end.",
        lambda hidden: _order(hidden),
    ),
    Slip(
        "cut-at-the-hidden-number",
        "`visible` has as many positions as there are hidden patches.",
        lambda hidden: _order(hidden)[:, : int(hidden[0].sum())],
    ),
    Slip(
        "counted-over-the-batch",
        "The visible patches of the whole batch are counted, not those of one image.",
        lambda hidden: _order(hidden)[:, : int((~hidden).sum())],
    ),
    Slip(
        "a-quarter-visible",
        "A quarter of the patches is taken to be visible, whatever the mask says.",
        lambda hidden: _order(hidden)[:, : hidden.shape[1] // 4],
    ),
    Slip(
        "class-token-counted",
        "The positions are counted as if there were a class token in front of the patches.",
        lambda hidden: _visible(hidden) + 1,
        lambda hidden: F.pad(_visible(hidden) + 1, (1, 0)),
        lambda hidden: F.pad(_visible(hidden), (1, 0)),
    ),
    Slip(
        "counted-over-the-batch",
        "The positions are counted on from image to image, as in one long row of patches.",
        lambda hidden: _visible(hidden) + hidden.shape[1] * torch.arange(len(hidden))[:, None],
        lambda hidden: (~hidden).flatten().nonzero()[:, 0],
    ),
    Slip(
        "images-joined",
        "The positions of all images are in one row; each image needs a row of its own.",
        lambda hidden: (~hidden).nonzero()[:, 1],
    ),
    Slip(
        "pairs-of-indices",
        "There are pairs of an image and a position; the exercise asks for positions, a row for each image.",
        lambda hidden: (~hidden).nonzero(),
    ),
    Slip(
        "mask-not-positions",
        "`visible` is a mask with an entry for each patch; the exercise asks for positions.",
        lambda hidden: ~hidden,
        lambda hidden: (~hidden).int(),
        lambda hidden: (~hidden).long(),
        lambda hidden: (~hidden).float(),
        lambda hidden: hidden,
    ),
    Slip(
        "sorted-over-the-batch",
        "The sort runs over the images of the batch, not over the patches of an image.",
        lambda hidden: hidden.int().argsort(dim=0, stable=True)[:, : _visible(hidden).shape[1]],
    ),
    Slip(
        "first-positions",
        "`visible` holds the first positions of the image, whatever the mask says.",
        lambda hidden: torch.arange(_visible(hidden).shape[1]).expand(len(hidden), -1),
    ),
]

VISIBLE_IN_PART = [
    Slip(
        "not-in-the-order-of-the-picture",
        (
            "`visible` holds the right positions, but not in the order of the picture, as after a sort that "
            "mixes equal values."
        ),
        lambda out, hidden: out.sort(dim=1).values,
    ),
]

RESTORE = [
    Slip(
        "order-not-inverse",
        "`restore` is the order into which the patches are brought; it does not bring them back.",
        lambda hidden: _order(hidden),
    ),
    Slip(
        "mask-tokens-first",
        "`restore` expects the mask tokens in front of the visible ones.",
        lambda hidden: _restore(~hidden),
    ),
    Slip(
        "order-of-hidden-first",
        "`restore` is an order of the positions, the hidden ones first; it brings no token back.",
        lambda hidden: _order(~hidden),
    ),
    Slip(
        "visible-alone",
        "`restore` was made from the visible positions alone; it needs an entry for every patch.",
        lambda hidden: _visible(hidden).argsort(dim=1),
        lambda hidden: _visible(hidden),
    ),
    Slip("hidden-positions", "`restore` holds the positions of the hidden patches.", lambda hidden: _visible(~hidden)),
    Slip(
        "hidden-counted-from-zero",
        "The count of the mask tokens starts at 0, so hidden positions get visible tokens.",
        lambda hidden: torch.where(hidden, hidden.cumsum(1) - 1, _restore(hidden)),
    ),
    Slip(
        "one-mask-token",
        "All hidden positions of an image get the same mask token.",
        lambda hidden: torch.where(hidden, _visible(hidden).shape[1], _restore(hidden)),
        lambda hidden: torch.where(hidden, hidden.shape[1] - 1, _restore(hidden)),
        lambda hidden: torch.where(hidden, -1, _restore(hidden)),
    ),
    Slip(
        "counts-exchanged",
        "Hidden positions get visible tokens, and visible positions get mask tokens.",
        lambda hidden: torch.where(hidden, (~hidden).cumsum(1) - 1, _visible(hidden).shape[1] + hidden.cumsum(1) - 1),
    ),
    Slip(
        "positions-for-tokens",
        "At visible positions, `restore` holds the position itself, not where its token stands among the visible ones.",
        lambda hidden: torch.where(hidden, _restore(hidden), torch.arange(hidden.shape[1])),
    ),
    Slip(
        "class-token-counted",
        "Every entry is one too large, as if there were a class token in front.",
        lambda hidden: _restore(hidden) + 1,
        lambda hidden: F.pad(_restore(hidden) + 1, (1, 0)),
    ),
    Slip(
        "counted-from-one",
        "Visible tokens or mask tokens are counted from 1, so they come from one position further on.",
        lambda hidden: _restore(hidden) + hidden,
        lambda hidden: _restore(hidden) + ~hidden,
    ),
    Slip(
        "first-image-for-all",
        "Every image gets what belongs to the first one.",
        lambda hidden: _restore(hidden[:1].expand_as(hidden)),
        lambda hidden: _restore(hidden[:1]),
        lambda hidden: _restore(hidden[:1])[0],
    ),
    Slip(
        "counted-over-the-batch",
        "The entries are counted on from image to image, as in one long row of patches.",
        lambda hidden: _restore(hidden) + hidden.shape[1] * torch.arange(len(hidden))[:, None],
    ),
    Slip(
        "sorted-over-the-batch",
        "The sort runs over the images of the batch, not over the patches of an image.",
        lambda hidden: _order(hidden).argsort(dim=0),
    ),
    Slip(
        "nothing-moved",
        "`restore` leaves every token where it is.",
        lambda hidden: torch.arange(hidden.shape[1]).expand_as(hidden),
    ),
    Slip(
        "mask-not-positions",
        "`restore` is a mask; the exercise asks where each token is to be found.",
        lambda hidden: hidden,
        lambda hidden: ~hidden,
        lambda hidden: hidden.int(),
        lambda hidden: hidden.long(),
    ),
]

RESTORE_IN_PART = [
    Slip(
        "mask-tokens-mixed",
        "The visible tokens go to their positions, but the mask tokens are not in their order.",
        lambda out, hidden: out.masked_fill(hidden, 0),
    ),
    Slip(
        "visible-tokens-mixed",
        "The mask tokens go to their positions, but the visible tokens do not.",
        lambda out, hidden: out.masked_fill(~hidden, 0),
    ),
    Slip(
        "tokens-mixed",
        "Visible tokens and mask tokens go to the right positions, but neither of them in their order.",
        lambda out, hidden: (out < _visible(hidden).shape[1]).int(),
    ),
]
