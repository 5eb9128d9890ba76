"""Mistakes that can happen in any function of tensors: the right result with one wrong operation after it."""

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import torch

from vit_course.checks.tools.calling import ask
from vit_course.checks.tools.mistakes import Mistake, by_results
from vit_course.checks.tools.tensors import agree

Row = tuple[str, str, Callable[[torch.Tensor], torch.Tensor]]


def usual_mistakes(answer: Callable, reference: Callable, draws: Sequence[tuple], axes: str) -> list[Mistake]:
    """Mistakes to try after those of the exercise itself, with sentences that name the axes.

    Args:
        answer: the learner's function.
        reference: the right one, which returns a tensor.
        draws: the arguments for both. A mistake that changes the result of none of them is left out.
        axes: of the result, such as "(B, h, T, S)"; "" where they have no names.
    """
    names = [name.strip() for name in axes.strip("()").split(",") if name.strip()]
    rights = [reference(*copy.deepcopy(arguments)) for arguments in draws]
    wrong = (row for row in _rows(names) if any(_differs(row[2], right) for right in rights))
    found = [Mistake(slug, sentence, _after(reference, change)) for slug, sentence, change in wrong]
    sentence = "Every number is the correct one times a factor."
    found.append(Mistake("scaled", sentence, lambda *a: _fitted(answer, reference, *a)))
    for place, name in enumerate(names):
        sentence = f"Along the axis {name}, the first entry is correct, but not all of the others."
        found.append(right_in_part(answer, reference, "first-entry-right", sentence, _first(place)))
    return by_results(found)


def right_in_part(answer: Callable, reference: Callable, slug: str, sentence: str, part: Callable) -> Mistake:
    """The mistake of a result that is right in one part only.

    Args:
        answer, reference: see `usual_mistakes`.
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


def right_at(
    answer: Callable, reference: Callable, draws: Sequence[tuple], slug: str, sentence: str, usual: Sequence[tuple]
) -> Mistake:
    """The mistake of a function that is right at the usual size alone.

    Args:
        answer, reference, draws: see `usual_mistakes`; the first draw is of another size.
        slug, sentence: of the mistake.
        usual: arguments of the usual size, and else of sizes as in the draws.
    """

    def function(*arguments):
        if _right_on(answer, reference, draws[0]) or not all(_right_on(answer, reference, one) for one in usual):
            raise LookupError("right at other sizes too, or wrong at this one")
        return ask(answer, *copy.deepcopy(arguments))

    return Mistake(slug, sentence, function)


def _right_on(answer: Callable, reference: Callable, arguments: tuple) -> bool:
    try:
        return agree(given(answer, *arguments), reference(*arguments))
    except LookupError:
        return False


def given(answer: Callable, *arguments) -> torch.Tensor:
    """The learner's result, for a mistake that is recognised by it.

    Raises:
        LookupError: there is no tensor. Passed on, the learner's own error could match that of a mistake.
    """
    try:
        received = ask(answer, *copy.deepcopy(arguments))  # copied, because it may change them
    except Exception:
        received = None
    if not isinstance(received, torch.Tensor):
        raise LookupError("no tensor")
    return received


def _differs(change: Callable, right: torch.Tensor) -> bool:
    try:
        return not agree(change(right), right)
    except Exception:  # the result lacks this axis
        return True


def _after(reference: Callable, change: Callable) -> Callable:
    return lambda *arguments: change(reference(*arguments))


def _first(place: int) -> Callable:
    return lambda out, *_: out.narrow(place, 0, 1)


def _fitted(answer: Callable, reference: Callable, *arguments) -> torch.Tensor:
    # The right numbers times the factor that comes nearest to what the learner's function gives.
    received, right = given(answer, *arguments), reference(*arguments)
    if received.shape != right.shape or received.dtype != right.dtype or agree(received, right) or not right.ndim:
        raise LookupError("not of the same kind, nothing wrong with the numbers, or one number alone")
    return right * (received * right).sum() / right.square().sum()


def _rows(names: list[str]) -> Iterator[Row]:
    yield "axis-of-one-dropped", "Axes of length 1 are dropped, but they are axes like the others.", torch.squeeze
    for place, name in enumerate(names):
        yield from _along(place, name)
    yield from _orders(names)
    for place in range(-1, len(names)):
        sentence = "The result has one axis too many, of length 1."
        yield "axis-too-many", sentence, lambda out, place=place: out.unsqueeze(place)
    yield "zeros", "Every number is 0.", torch.zeros_like
    yield "sign-changed", "Every number has the opposite sign.", torch.neg


def _along(i: int, name: str) -> Iterator[Row]:
    # Mistakes along one axis, which is dropped, reduced, repeated or reversed.
    yield "axis-of-one-dropped", f"The axis {name} is dropped when its length is 1.", lambda out: out.squeeze(i)
    for slug, done, change in (
        ("axis-summed-up", "its numbers are added up", lambda out: out.sum(i, keepdim=True)),
        ("axis-averaged", "its numbers are averaged", lambda out: out.float().mean(i, keepdim=True)),
        ("first-entry-only", "only its first entry is left", lambda out: out.narrow(i, 0, 1)),
        ("last-entry-only", "only its last entry is left", lambda out: out.narrow(i, out.shape[i] - 1, 1)),
    ):
        yield slug, f"The axis {name} is gone: {done}.", lambda out, change=change: change(out).squeeze(i)
        yield slug, f"The axis {name} has length 1: {done}.", change
        sentence = f"All entries along the axis {name} are the same: {done} and repeated everywhere."
        yield slug, sentence, lambda out, change=change: change(out).expand_as(out)
    yield "backwards", f"The numbers are correct, but run backwards along the axis {name}.", lambda out: out.flip(i)


def _orders(names: list[str]) -> Iterator[Row]:
    asked = f"({', '.join(names)})"
    for order in list(permutations(range(len(names))))[1:] if len(names) < 5 else ():
        found = f"({', '.join(names[place] for place in order)})"
        sentence = f"The axes are in the order {found}; the exercise asks for {asked}."
        yield "axes-in-another-order", sentence, lambda out, order=order: out.permute(order)
