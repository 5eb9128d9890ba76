"""Slips that happen in any function of tensors: the right result, and then one thing too much."""

import copy
from collections.abc import Callable, Sequence
from itertools import permutations

import torch

from vit_course.checks.tools.calling import ask
from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.tensors import agree


def usual_slips(answer: Callable, reference: Callable, draws: Sequence[tuple], first: str = "image") -> list[Mistake]:
    """Mistakes to try after those of the exercise itself; for draws of which one has axes of length 1.

    Args:
        answer: the learner's function.
        reference: the right one, which returns a tensor.
        draws: the arguments that both will be given.
        first: what one entry of the first axis is, such as "image".
    """
    found, rights = [], [reference(*arguments) for arguments in draws]
    for slug, sentence, changes in (*_AXES, *_entries(first), *_NUMBERS):
        wrong = [change for change in changes if any(_differs(change, right) for right in rights)]
        found += [Mistake(slug, sentence, _after(reference, change)) for change in wrong]
    sentence = "Every number is the right one times a factor."
    found.append(Mistake("scaled", sentence, lambda *a: _fitted(answer, reference, *a)))
    slug, sentence = f"first-{first}-alone-right", f"Of several, the first {first} alone is right."
    return [*found, right_in_part(answer, reference, slug, sentence, lambda out, *_: out[:1])]


def right_in_part(answer: Callable, reference: Callable, slug: str, sentence: str, part: Callable) -> Mistake:
    """The mistake of a result that is wrong and has a part that is right.

    Args:
        answer, reference: see `usual_slips`.
        slug, sentence: of the mistake.
        part: (result, *arguments) -> the part of it.
    """

    def function(*arguments) -> torch.Tensor:
        received, right = given(answer, *arguments), reference(*arguments)
        if received.shape != right.shape or received.dtype != right.dtype:
            raise LookupError("not of the same kind")
        of_right = part(right, *arguments)
        if not agree(part(received, *arguments), of_right):
            raise LookupError("wrong in this part too")
        if agree(received, right) and of_right.numel() < right.numel():
            raise LookupError("right in every part")
        return received

    return Mistake(slug, sentence, function)


def _after(reference: Callable, change: Callable) -> Callable:
    return lambda *arguments: change(reference(*arguments))


def _differs(change: Callable, right: torch.Tensor) -> bool:
    # What changes nothing in these draws, such as the loss of an axis that is never short, is no mistake in them.
    try:
        return not agree(change(right), right)
    except Exception:  # an axis that the result has not
        return True


def _each(change: Callable) -> list[Callable]:
    # The change along each axis, counted from either end; of an axis that a tensor lacks it raises.
    return [lambda out, axis=axis: change(out, axis) for axis in (0, 1, 2, -1, -2, -3)]


_AXES = (
    (
        "axis-of-one-dropped",
        "An axis whose length is 1 is dropped, and it is an axis like the others.",
        (torch.squeeze, *_each(torch.squeeze)),
    ),
    ("axis-too-many", "The result has one axis too many, of length 1.", _each(torch.unsqueeze)),
    (
        "axes-in-another-order",
        "The numbers are right and the axes stand in another order.",
        [lambda out, order=order: out.permute(order) for n in (2, 3, 4) for order in list(permutations(range(n)))[1:]],
    ),
    ("axes-joined", "Two axes have become one.", [lambda out, k=k: out.flatten(k, k + 1) for k in range(3)]),
    (
        "axis-summed-up",
        "One axis is gone: its numbers were added up or averaged.",
        [
            lambda out, how=how, axis=axis, keep=keep: how(out, axis, keep)
            for how in (torch.sum, torch.mean)
            for axis in range(4)
            for keep in (True, False)
        ],
    ),
)
_NUMBERS = (
    ("backwards", "The numbers are right and run backwards along an axis.", _each(lambda out, axis: out.flip(axis))),
    ("zeros", "Every number is 0.", [torch.zeros_like]),
    ("sign-changed", "Every number has the other sign.", [torch.neg]),
)


def _entries(first: str) -> list[tuple]:
    return [
        (
            f"only-the-first-{first}",
            f"Of all, only the first {first} comes back.",
            [lambda out: out[:1], lambda out: out[0], lambda out: out[:1].expand_as(out)],
        ),
        (
            "one-mean-for-all",
            "The first axis was averaged away: every entry of the result is the same mean.",
            [lambda out: out.float().mean(dim=0).expand_as(out)],
        ),
        (f"only-the-last-{first}", f"Of all, only the last {first} comes back.", [lambda out: out[-1:]]),
    ]


def _fitted(answer: Callable, reference: Callable, *arguments) -> torch.Tensor:
    # The right numbers times the factor that comes nearest to what the learner's function gives.
    received, right = given(answer, *arguments), reference(*arguments)
    if received.shape != right.shape or received.dtype != right.dtype or agree(received, right):
        raise LookupError("not of the same kind, or nothing wrong with the numbers")
    return right * (received * right).sum() / right.square().sum()


def given(answer: Callable, *arguments) -> torch.Tensor:
    """What the learner's function gives, for a mistake that is known by it.

    Raises:
        LookupError: no tensor. The learner's own error would be taken for that of the mistake.
    """
    try:
        received = ask(answer, *copy.deepcopy(arguments))  # which it may change
    except Exception:
        received = None
    if not isinstance(received, torch.Tensor):
        raise LookupError("no tensor")
    return received
