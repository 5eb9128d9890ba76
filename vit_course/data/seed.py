"""One seed for everything that draws."""

import random

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments


def seed_everything(seed: int) -> None:
    """Seeds Python, NumPy and PyTorch, so that a run can be repeated.

    Args:
        seed: from 0 to 2**32 - 1, the range of NumPy.

    Raises:
        ValueError: not an int, or out of that range.
    """
    check_arguments(seed=seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (a learner's own code may draw from it)
    torch.manual_seed(seed)
