"""Exercise without_labels.masking: a given mask as the places of visible patches, and the way back."""

import functools
from collections.abc import Callable

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.plain import plain
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse, table
from vit_course.checks.tools.usual import right_in_part
from vit_course.checks.tools.words import describe


def masking(answer, draw):
    """`answer(hidden)`: bool (B, N) -> visible (B, V) and restore (B, N), both int64."""
    draws = []
    # Of so many patches, four times as many in the second draw, a sort that is not stable mixes equal values.
    for times, (visible, hidden) in ((1, draw.sizes(2, 5, 9)), (4, draw.sizes(2, 5, 9)), (1, (1, 6))):
        (batch,), patches = draw.sizes(1, 2, 4), times * (visible + hidden)
        draws.append((draw.uniform(batch, patches).argsort(dim=1) < times * hidden,))
    with named_by_details(*known(__name__, "errors")):
        _pair(call(answer, *draws[0]))
    for place, (name, axes, right) in enumerate((("visible", "(B, V)", _visible), ("restore", "(B, N)", _restore))):
        one = _one_of(answer, place)
        mistakes = table(__name__, name)
        for part in table(__name__, f"{name}-in-part"):
            mistakes.append(right_in_part(one, right, part.slug, part.sentence, part.function))
        try:
            with named_by_details(*known(__name__, "errors")):
                same_function(one, right, draws, mistakes, axes, differentiable=False)
        except Wrong as wrong:
            details = [f"Result:   {name}, {axes}", *wrong.details]
            raise Wrong(wrong.mistake, wrong.sentence, details, wrong.expected, wrong.received) from None


def _pair(result) -> list:
    found = describe(result)
    refuse(__name__, "pair", locals())
    return list(result)


def _one_of(answer: Callable, place: int) -> Callable:
    @functools.wraps(answer, updated=())
    def one(hidden):
        return _pair(plain(answer(hidden)))[place]

    return one


def _order(hidden: torch.Tensor) -> torch.Tensor:
    # (B, N): the visible places, then the hidden ones
    return hidden.int().argsort(dim=1, stable=True)


def _visible(hidden: torch.Tensor) -> torch.Tensor:
    return _order(hidden)[:, : int((~hidden[0]).sum())]


def _restore(hidden: torch.Tensor) -> torch.Tensor:
    return _order(hidden).argsort(dim=1)
