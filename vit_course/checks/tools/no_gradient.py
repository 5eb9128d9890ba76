"""For functions through which no gradient must flow, so that NumPy inside is as good as PyTorch."""

import functools
from collections.abc import Callable

import torch


def any_precision(answer: Callable) -> Callable:
    """The learner's function, its result in float32 where it is in float64, which is what NumPy computes in."""
    if not callable(answer):
        return answer

    @functools.wraps(answer, updated=())
    def rounded(*arguments):
        result = answer(*arguments)
        return result.float() if isinstance(result, torch.Tensor) and result.dtype == torch.float64 else result

    return rounded
