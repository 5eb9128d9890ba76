"""What runs in this thread: the interventions that are active, and whether recordings take part."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from vit_course.maps.interventions.intervention_mode import InterventionMode


class _Active(threading.local):
    """The modes of this thread's interventions, outermost first, and whether what runs is hidden from recordings."""

    def __init__(self) -> None:
        self.modes: list[InterventionMode] = []
        self.unrecorded = False


_ACTIVE = _Active()


def active_mode(model: nn.Module) -> "InterventionMode | None":
    """Returns the mode that changes a model in this thread, the innermost of several, or None."""
    return next((mode for mode in reversed(_ACTIVE.modes) if mode.model is model), None)


@contextmanager
def active(mode: "InterventionMode") -> Iterator[None]:
    """Applies the mode to what this thread runs inside the with block."""
    _ACTIVE.modes.append(mode)
    try:
        with mode:
            yield
    finally:
        _ACTIVE.modes.remove(mode)


@contextmanager
def interventions_first() -> Iterator[None]:
    """Lets the active interventions change a call before a mode that was entered before this block sees it."""
    with ExitStack() as stack:
        for mode in _ACTIVE.modes:
            stack.enter_context(mode)  # the innermost comes first; `busy` keeps it from acting twice
        yield


@contextmanager
def unrecorded() -> Iterator[None]:
    """Hides what this thread runs inside the with block from all recordings."""
    before, _ACTIVE.unrecorded = _ACTIVE.unrecorded, True
    try:
        yield
    finally:
        _ACTIVE.unrecorded = before


def is_recorded(thread: int) -> bool:
    """Whether a recording that was opened in this thread records what runs now."""
    return threading.get_ident() == thread and not _ACTIVE.unrecorded


def changes_in(attention: nn.Module) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The changes of an attention layer that runs, as the innermost mode that runs it has them; else None twice."""
    found = (mode.changes_in(attention) for mode in reversed(_ACTIVE.modes))
    return next((changes for changes in found if changes != (None, None)), (None, None))
