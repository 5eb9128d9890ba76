"""A run of any model that leaves no traces, to test assumptions about the model."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from vit_course.maps.active_interventions import paused_interventions, unrecorded
from vit_course.maps.foreign_recording import EAGER
from vit_course.maps.run_model import evaluated


@contextmanager
def trial_run(model: nn.Module) -> Iterator[None]:
    """Runs the model in eval mode, uncompiled, unchanged and unrecorded inside the with block.

    Afterwards its modes, its buffers, such as a queue that its forward fills, and the state of PyTorch's random numbers
    are as before.
    """
    cards = {parameter.device for parameter in model.parameters() if parameter.device.type == "cuda"}
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    with torch.random.fork_rng(devices=list(cards)), EAGER, evaluated(model), unrecorded(), paused_interventions():
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    if not buffer.is_inference():
                        buffer.copy_(before)
