"""Runs a model of any library, or a block that is skipped."""

import threading
from collections.abc import Callable
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
