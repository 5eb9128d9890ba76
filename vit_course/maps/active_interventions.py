"""What is changed in this thread at present, for those who change it and those who look on."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from vit_course.maps.intervention_mode import Changing


class _InForce(threading.local):
    """What this thread is changing, the outermost first; `aside` while it runs a model for itself alone."""

    def __init__(self) -> None:
        self.changing: list[Changing] = []
        self.aside = False


IN_FORCE = _InForce()


class Skipped:
    """In the place of a layer's `forward`: what the layer gave before."""

    def __init__(self, forward: Callable, output: object):
        self.forward, self.output, self.thread = forward, output, threading.get_ident()

    def __call__(self, *args, **kwargs):
        return self.output if self.here else self.forward(*args, **kwargs)

    @property
    def here(self) -> bool:
        """Whether it is this thread that skips the layer."""
        return threading.get_ident() == self.thread


@contextmanager
def in_force(changing: Changing) -> Iterator[None]:
    """Changes what runs inside the with block in this thread."""
    IN_FORCE.changing.append(changing)
    try:
        with changing:
            yield
    finally:
        IN_FORCE.changing.remove(changing)


@contextmanager
def once_more() -> Iterator[None]:
    """Inside, what looks on sees what is computed with all that is in force, as if that had come after it."""
    with ExitStack() as stack:
        for changing in IN_FORCE.changing:
            stack.enter_context(changing)  # it acts where a call meets it first, and only there
        yield


@contextmanager
def looking_on() -> Iterator[None]:
    """Inside, nothing is changed and no change is counted."""
    before = [(changing, changing.busy) for changing in IN_FORCE.changing]
    for changing, _ in before:
        changing.busy = True
    try:
        yield
    finally:
        for changing, busy in before:
            changing.busy = busy


@contextmanager
def aside() -> Iterator[None]:
    """Inside, no recording hears what this thread runs."""
    before, IN_FORCE.aside = IN_FORCE.aside, True
    try:
        yield
    finally:
        IN_FORCE.aside = before


def changed_in(layer: nn.Module) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """-> (1 or B, 1, T, T), True where a score counts no more in the attention layer that runs, and (B, h, T, T), the
    weights that are used instead of its own; or None."""
    found = [
        running
        for changing in IN_FORCE.changing
        if (running := changing.running) is not None and layer in set(running.block.modules())
    ]
    hidden = [running.hidden for running in found if running.hidden is not None]
    replaced = [running.replaced for running in found if running.replaced is not None]
    return functools.reduce(torch.logical_or, hidden) if hidden else None, replaced[-1] if replaced else None


def heard(thread: int) -> bool:
    """Whether a recording that was opened in this thread hears what runs now."""
    return threading.get_ident() == thread and not IN_FORCE.aside
