"""Indices of layers, heads and tokens, as interventions take them: one, several, or a slice."""

from collections.abc import Sequence

import torch

from vit_course._support.inputs.rules import is_int, shown
from vit_course._support.inputs.tensors import check_numbers, check_tensor

Indices = int | Sequence[int] | torch.Tensor | slice
ALL = slice(None)


def need_indices(what: str, value: Indices) -> tuple[int, ...] | slice:
    """Returns a tuple of indices, from one or several, or the slice itself.

    Raises:
        ValueError: a value that is neither an index, several indices nor a slice of indices.
    """
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        if value.step == 0 or not all(one is None or is_int(one) for one in ends):
            raise ValueError(f"{what} must be a slice of ints, with a step other than 0, got {shown(value)}")
        return value
    if isinstance(value, torch.Tensor):
        check_tensor(what, value)
        check_numbers(what, value)
    several = value.tolist() if isinstance(value, torch.Tensor) else value
    places = [several] if is_int(several) else several
    if not isinstance(places, (list, tuple, range)) or not places or not all(is_int(n) and n >= 0 for n in places):
        raise ValueError(f"{what} must be an int of at least 0, several such ints or a slice, got {shown(value)}")
    return tuple(places)


def resolve_indices(what: str, places: tuple[int, ...] | slice, count: int, name: str) -> list[int]:
    """Returns the list of indices, after checking that they are below `count`.

    Raises:
        ValueError: an index that is too large, or an empty slice.
    """
    if isinstance(places, slice):
        if not (chosen := list(range(count)[places])):
            raise ValueError(f"{name}: {shown(places)} must choose at least one {what} of {count}, but it chooses none")
        return chosen
    if max(places) >= count:
        raise ValueError(f"{name}: {what} must be from 0 to {count - 1}, got {max(places)}")
    return list(places)
