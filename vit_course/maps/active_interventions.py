"""The interventions that are active in this thread, and how recording takes part in them."""

import functools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from vit_course.maps.intervention_mode import InterventionMode


class _Active(threading.local):
    """The modes of this thread, the outermost first.

    `unrecorded` while it runs a model for its own use, `paused` while that is the model without interventions.
    """

    def __init__(self) -> None:
        self.changing: list[InterventionMode] = []
        self.unrecorded = False
        self.paused = False


ACTIVE = _Active()


@contextmanager
def active(changing: InterventionMode) -> Iterator[None]:
    """Applies the mode to what this thread runs inside the with block."""
    ACTIVE.changing.append(changing)
    try:
        with changing:
            yield
    finally:
        ACTIVE.changing.remove(changing)


@contextmanager
def outside_interventions() -> Iterator[None]:
    """Runs the tracer outside the active interventions, so that it sees the changed weights."""
    with ExitStack() as stack:
        for changing in ACTIVE.changing:
            stack.enter_context(changing)  # a call meets the innermost mode first, and a mode acts once on a call
        yield


@contextmanager
def paused_interventions() -> Iterator[None]:
    """Switches the active interventions off inside the with block."""
    before, paused = [(changing, changing.busy) for changing in ACTIVE.changing], ACTIVE.paused
    ACTIVE.paused = True
    for changing, _ in before:
        changing.busy = True
    try:
        yield
    finally:
        ACTIVE.paused = paused
        for changing, busy in before:
            changing.busy = busy


@contextmanager
def unrecorded() -> Iterator[None]:
    """Hides what this thread runs inside the with block from all recordings."""
    before, ACTIVE.unrecorded = ACTIVE.unrecorded, True
    try:
        yield
    finally:
        ACTIVE.unrecorded = before


def changes_in(layer: nn.Module) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The changes of an attention layer that runs: its hidden keys, and the weights that replace its own.

    -> (1 or B, 1, T, T), True where a key is hidden, or None; (B, h, T, T) or None.
    """
    found = [
        running
        for changing in ACTIVE.changing
        if (running := changing.running) is not None and layer in set(running.block.modules())
    ]
    hidden = [running.hidden for running in found if running.hidden is not None]
    replaced = [running.replaced for running in found if running.replaced is not None]
    return functools.reduce(torch.logical_or, hidden) if hidden else None, replaced[-1] if replaced else None


def is_recorded(thread: int) -> bool:
    """Whether a recording that was opened in this thread records what runs now."""
    return threading.get_ident() == thread and not ACTIVE.unrecorded
