"""For functions through which no gradient must flow, so that NumPy inside is as good as PyTorch."""

import functools
from collections.abc import Callable, Sequence

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details


def any_precision(answer: Callable) -> Callable:
    """The learner's function, its result in float32 where it is in float64, which is what NumPy computes in."""
    if not callable(answer):
        return answer

    @functools.wraps(answer, updated=())
    def rounded(*arguments):
        result = answer(*arguments)
        return result.float() if isinstance(result, torch.Tensor) and result.dtype == torch.float64 else result

    return rounded


def same_without_gradient(
    answer: Callable,
    reference: Callable,
    draws: Sequence[tuple],
    axes: str,
    mistakes: Sequence[Mistake],
    errors: Sequence[Known] = (),
) -> None:
    """`same_function` for a result without a gradient.

    Args:
        answer, reference, draws, axes, mistakes: see `same_function`.
        errors: what errors and shapes say.
    """
    with named_by_details(*errors):
        same_function(any_precision(answer), reference, draws, mistakes, axes, differentiable=False)
