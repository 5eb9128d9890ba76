"""Compares the learner's function with the right one, and with the wrong ones that people write."""

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import ask, call
from vit_course.checks.tools.common import usual_mistakes
from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.tensors import agree, equal, on_cpu
from vit_course.checks.tools.words import beside, describe

_SIZES = ("wrong-shape", "raised-error", "wrong-values")  # where it is right for some sizes and not for others


def same_function(
    answer: Callable,
    reference: Callable,
    draws: Sequence[tuple],
    mistakes: Sequence[Mistake] = (),
    axes: str = "",
    otherwise: Sequence[Mistake] = (),
    differentiable: bool = True,
    mistakes_change: bool = True,
    numbers: bool = True,
) -> None:
    """Raises `Wrong` unless the learner's function gives the same as `reference` on every draw.

    Also found: an input that was changed, a result that is random or depends on earlier calls, sizes that are
    hard-coded, a batch of one that is taken for something else, a gradient that is cut, wholly or in part.

    Args:
        answer: the learner's function.
        reference: the right one: tensors (and other values) in, one tensor out.
        draws: tuples of arguments, in at least two different sizes.
        mistakes: tried in order where the result is not right; the first that gives the learner's result on
            every draw names the mistake. After them, the usual mistakes of any function are tried, named by the axes.
        axes: of the result, such as "(B, N, D)".
        otherwise: less specific mistakes, tried last.
        differentiable: whether a gradient must reach each floating-point input that `reference` lets it reach.
        mistakes_change: whether a mistake's function may change its arguments. If not, they are not copied, which takes
            long for models.
        numbers: whether to show two numbers that differ; those of hidden weights say nothing.
    """
    results = []
    several, draws = len(draws), [*draws, *_batch_of_one(reference, draws[0])]
    for index, arguments in enumerate(draws):
        try:
            result = call(answer, *_copies(arguments))
            again = call(answer, *_copies(arguments))
            if on_cpu(result) and on_cpu(again) and not agree(result, again):
                raise _two_results(result, again)
            equal(result, reference(*_copies(arguments)), axes=axes, numbers=numbers)
        except Wrong as wrong:
            if wrong.mistake == "keeps-results":
                raise  # each further call would let the kept results grow
            if index >= several and wrong.mistake in _SIZES:
                sentence = "Correct for a batch of several, but not for a batch of one: an axis of size 1 is not kept."
                wrong = Wrong("batch-of-one", sentence, wrong.details, wrong.expected, wrong.received)
            # An error with several images is explained by those draws alone: with one image, axes may fit by chance.
            tried = draws if index >= several else draws[:several]
            batched = axes.startswith("(B")  # otherwise the first axis may be steps or places
            every = [*mistakes, *usual_mistakes(answer, reference, tried, axes), *otherwise]
            raise _explained(wrong, answer, reference, every, tried, index, mistakes_change, batched) from None
        results.append(result)
    if not agree(call(answer, *_copies(draws[0])), results[0]):
        raise Wrong("keeps-state", "After calls with other inputs, your function gives a different result than before.")
    if differentiable:
        _gradient_flows(answer, reference, draws[0])


def keeps_dtype(answer: Callable, arguments: tuple, *dtypes: torch.dtype) -> None:
    """Raises `Wrong` where the result has another dtype than the floating-point inputs, once they have one of these.

    An error raises nothing: PyTorch lacks some operations for some dtypes.
    """
    for dtype in dtypes:
        given = [(9 * one.abs()).to(dtype) if _is_float(one) else one for one in _copies(arguments)]
        try:
            result = call(answer, *given)
        except Wrong:
            continue
        if isinstance(result, torch.Tensor) and result.dtype != dtype:
            sentence = "The result has another dtype than the input."
            raise Wrong("wrong-dtype", sentence, beside(dtype, result.dtype))


def same_values(
    answer: Callable, reference: Callable, draws: Sequence[tuple], mistakes: Sequence[Mistake] = ()
) -> None:
    """As `same_function`, for a function that returns no tensor: an int, a float, a bool, a str or a shape."""
    results = []
    several, draws = len(draws), [*draws, *_one_of_the_batch(draws[0])]
    for index, arguments in enumerate(draws):
        try:
            expected = reference(*_copies(arguments))
        except Exception:
            if index < several:
                raise
            continue  # an axis of which one entry is too few
        try:
            received = call(answer, *_copies(arguments))
            if received is None:
                raise Wrong("returned-nothing", "The result is None: nothing was returned.")
            try:
                same_answer(received, expected)
            except Wrong as wrong:
                if wrong.mistake != "wrong-answer":
                    raise
                details = [f"Expected: {describe(expected)}", f"Received: {describe(received)}"]
                raise Wrong("wrong-values", "The result is wrong.", details) from None
        except Wrong as wrong:
            if index >= several and wrong.mistake in _SIZES:
                sentence = "Correct for a batch of several, but not for a batch of one."
                wrong = Wrong("batch-of-one", sentence, wrong.details)
            raise _explained(wrong, answer, reference, mistakes, draws, index) from None
        results.append(expected)
    try:
        same_answer(call(answer, *_copies(draws[0])), results[0])
    except Wrong:
        sentence = "After calls with other inputs, your function gives a different result than before."
        raise Wrong("keeps-state", sentence) from None


def _explained(
    wrong: Wrong,
    answer,
    reference,
    mistakes: Sequence[Mistake],
    draws: Sequence[tuple],
    index: int,
    copied=True,
    batched=False,
) -> Wrong:
    # Adds the input to the details, and names the first foreseen mistake that matches: its function does the same as
    # the learner's on every draw, errors included.
    names = inspect.signature(reference).parameters
    given = ", ".join(f"{name} = {describe(value)}" for name, value in zip(names, draws[index], strict=False))
    slug, sentence = wrong.mistake, wrong.sentence
    if index > 0 and slug in _SIZES:
        slug, sentence = _for_some_sizes(answer, reference, draws)
    elif slug in _SIZES and batched and _right_for_one(answer, reference, draws[index]):
        slug, sentence = "batch-of-several", "Correct for a batch of one, but not for a batch of several."
    if slug not in ("random-result", "input-changed"):  # these are named already
        theirs = [_attempt(partial(ask, answer), arguments) for arguments in draws]
        for mistake, function in ((one, function) for one in mistakes for function in one.functions(reference)):
            ours = (_attempt(function, arguments, copied) for arguments in draws)  # computed lazily
            if all(map(_alike, theirs, ours)):
                slug, sentence = mistake.slug, mistake.sentence
                break
    return Wrong(slug, sentence, [f"Input:    {given}", *wrong.details], wrong.expected, wrong.received)


def _for_some_sizes(answer, reference, draws: Sequence[tuple]) -> tuple[str, str]:
    right = {index for index, arguments in enumerate(draws) if _is_right(answer, reference, arguments)}
    ones = [_axes_of_one(arguments) for arguments in draws]
    often = set().union(*(ones[index] for index in right))  # axes that had length 1 in a draw that was right
    if len(right) < len(draws) and all(ones[index] - often for index in range(len(draws)) if index not in right):
        return "axis-of-one", "Correct as long as every axis is longer than 1, but not always when one has length 1."
    first_wrong = next(index for index in range(len(draws)) if index not in right)
    if not _is_right(answer, reference, _with_numbers_of(draws[first_wrong], draws[0])):
        return "some-numbers", "Correct for the first numbers that were tried, but not for others in the same sizes."
    sentence = "Correct for the first inputs that were tried, but not for others: a size or a number may be hard-coded."
    return "hard-coded-size", sentence


def _with_numbers_of(others: tuple, arguments: tuple) -> tuple:
    # The arguments, with the numbers of others in the sizes that they have.
    both = zip(arguments, others, strict=True)
    return tuple(
        other.flatten()[torch.arange(one.numel()) % other.numel()].reshape(one.shape)
        if _is_float(one) and _is_float(other)
        else one
        for one, other in both
    )


def _axes_of_one(arguments: tuple) -> set[tuple[int, int]]:
    # (which argument, which axis)
    tensors = [(index, a.shape) for index, a in enumerate(arguments) if isinstance(a, torch.Tensor)]
    return {(index, axis) for index, shape in tensors for axis, length in enumerate(shape) if length == 1}


def _right_for_one(answer, reference, arguments: tuple) -> bool:
    return any(_is_right(answer, reference, one) for one in _batch_of_one(reference, arguments))


def _is_right(answer, reference, arguments: tuple) -> bool:
    return _alike(_attempt(partial(ask, answer), arguments), _attempt(reference, arguments))


def _one_of_the_batch(arguments: tuple) -> list[tuple]:
    # The arguments cut to the first entry of their first axis; [] where it has only one entry.
    size = next((a.shape[0] for a in arguments if isinstance(a, torch.Tensor) and a.ndim), None)
    one = tuple(a[:1] if isinstance(a, torch.Tensor) and a.ndim and a.shape[0] == size else a for a in arguments)
    return [] if size in (None, 1) else [one]


def _batch_of_one(reference: Callable, arguments: tuple) -> list[tuple]:
    # A batch of one, if the first axis is a batch: then the result for one entry is the first of the results for all.
    if not (found := _one_of_the_batch(arguments)):
        return []
    (one,) = found
    try:
        alone, together = reference(*_copies(one)), reference(*_copies(arguments))
    except Exception:  # an axis of which one entry is too few
        return []
    return [one] if isinstance(together, torch.Tensor) and together.ndim and agree(alone, together[:1]) else []


def _two_results(first: torch.Tensor, second: torch.Tensor) -> Wrong:
    # Two calls with the same input differ: the second result either extends the first, or the results are random.
    if first.ndim == second.ndim:
        grown = [axis for axis in range(first.ndim) if second.shape[axis] > first.shape[axis]]
        if len(grown) == 1 and agree(second.narrow(grown[0], 0, first.shape[grown[0]]), first):
            sentence = "The second call gives the result of the first one and more: something is kept between calls."
            return Wrong("keeps-results", sentence)
    return Wrong("random-result", "Called twice with the same input, your function gives different results.")


def _attempt(function, arguments, copied: bool = True):
    try:
        return function(*(_copies(arguments) if copied else arguments))
    except Exception as error:
        return type(error), str(error)


def _alike(a, b) -> bool:
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return agree(a, b)
    if isinstance(a, float) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-4)
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # the learner's object may override ==
        return False


def _gradient_flows(answer: Callable, reference: Callable, arguments: tuple) -> None:
    names = inspect.signature(reference).parameters
    theirs, ours = _gradients(lambda *a: call(answer, *a), arguments), _gradients(reference, arguments)
    for name, received, expected in zip(names, theirs, ours, strict=False):
        if expected is not None and received is None:
            raise Wrong("gradient-cut", f"No gradient reaches {name}, so whatever computes it could not be trained.")
        if expected is not None and (received - expected).norm() > 1e-3 * expected.norm():
            sentence = f"The result is correct, but only a part of the gradient reaches {name}: the rest is cut off."
            details = beside(f"a gradient of length {expected.norm():.4g}", f"{received.norm():.4g}")
            raise Wrong("gradient-cut-in-part", sentence, details)


def _gradients(function: Callable, arguments: tuple) -> list[torch.Tensor | None]:
    inputs = [argument.requires_grad_() if _is_float(argument) else argument for argument in _copies(arguments)]
    floats = [argument for argument in inputs if _is_float(argument)]
    out = function(*inputs)
    if not floats or not out.requires_grad:
        return [None] * len(inputs)
    found = iter(torch.autograd.grad(out.square().sum(), floats, allow_unused=True))
    return [next(found) if _is_float(argument) else None for argument in inputs]


def _is_float(thing) -> bool:
    return isinstance(thing, torch.Tensor) and thing.is_floating_point()


def _copies(arguments: tuple) -> tuple:
    return copy.deepcopy(arguments)
