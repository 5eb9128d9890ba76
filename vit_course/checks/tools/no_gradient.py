"""For functions through which no gradient must flow, so that NumPy inside is as good as PyTorch."""

import functools
from collections.abc import Callable, Mapping, Sequence

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, table


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
    module: str,
    answer: Callable,
    reference: Callable,
    draws: Sequence[tuple],
    axes: str,
    right: Callable | None = None,
    errors: str = "errors",
    seen: Mapping | None = None,
) -> None:
    """`same_function` by the tables "mistakes" and `errors` beside the check, for a result without a gradient.

    Args:
        module, errors, seen: see `known`.
        answer, reference, draws, axes: see `same_function`.
        right: with a keyword for each step of the table, where the reference itself has none.
    """
    with named_by_details(*known(module, errors, seen)):
        mistakes = table(module, "mistakes", right or reference)
        same_function(any_precision(answer), reference, draws, mistakes, axes, differentiable=False)
