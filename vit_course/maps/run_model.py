"""Runs a model of any library, in eval mode for a while, or with a block that is skipped."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vit_course.config import ViTConfig


class Skipped:
    """Replaces the `forward` of a block by a stored output, in the thread that made this object."""

    def __init__(self, forward: Callable, output: object):
        self.forward, self.output, self.thread = forward, output, threading.get_ident()

    def __call__(self, *args, **kwargs):
        return self.output if self.here else self.forward(*args, **kwargs)

    @property
    def here(self) -> bool:
        """Whether this is the thread that skips the block."""
        return threading.get_ident() == self.thread


def run(model: nn.Module, images: torch.Tensor) -> Any:
    """Runs the model and returns its output, or its tokens if it is ours and has no head."""
    config = getattr(model, "config", None)
    return model.features(images) if isinstance(config, ViTConfig) and not config.num_classes else model(images)


def first_tensor(output: object) -> torch.Tensor:
    """Returns the tokens from the output of a block, which may be a tuple."""
    return output[0] if isinstance(output, tuple) else output


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """Context manager that puts a model into eval mode, and restores the mode of each module afterwards."""
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in training.items():
            module.training = mode


def check_evaluated(model: nn.Module) -> None:
    """Raises a `ValueError` for a model in training mode."""
    if model.training:
        raise ValueError("the model is in training mode, in which dropout changes it too: call model.eval() first")
