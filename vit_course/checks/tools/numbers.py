"""A number that the learner's function gave back, whatever its type."""

import math

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.words import describe


def without_graph(loss) -> None:
    """A `Wrong` where a loss is a tensor from which a gradient could still be taken; of anything else nothing."""
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        raise Wrong("graph-returned", "The returned loss still has its graph, which keeps all its inputs in memory.")


def real(value) -> float:
    """A learner's number as a float; anything but one number is a `Wrong`."""
    if isinstance(value, (torch.Tensor, np.ndarray)) and math.prod(value.shape) == 1:
        value = value.item()
    if value is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise Wrong("wrong-type", f"The result is {describe(value)} where a number is expected.")
    return float(value)
