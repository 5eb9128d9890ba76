"""Looks at a tensor that came back: its kind, shape and dtype, then its numbers."""

from collections.abc import Sequence

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.words import beside, capital, describe, told_apart

TOLERANCE = dict(rtol=1e-4, atol=1e-5)


def tensor(
    received, shape: Sequence[int], axes: str = "", what: str = "the result", dtype: torch.dtype | None = torch.float32
) -> torch.Tensor:
    """Returns `received` if it is a finite CPU tensor of this shape and dtype, else raises `Wrong`.

    Args:
        received: what the learner's code returned.
        shape: expected.
        axes: what the axes are, such as "(B, N, D)", shown beside the shape.
        what: how to call it in the sentence.
        dtype: expected, or None for any.
    """
    if received is None:
        raise Wrong("returned-nothing", f"{capital(what)} is None: nothing was returned.")
    if isinstance(received, np.ndarray):
        raise Wrong("numpy-array", f"{capital(what)} is a numpy array where a torch tensor is expected.")
    if not isinstance(received, torch.Tensor):
        raise Wrong("wrong-type", f"{capital(what)} is {describe(received)} where a tensor is expected.")
    if received.device.type != "cpu":
        details = beside("device cpu", f"device {received.device}")
        raise Wrong("wrong-device", f"{capital(what)} is not on the device of the input.", details)
    if tuple(received.shape) != tuple(shape):
        details = beside(f"{tuple(shape)} {axes}".rstrip(), tuple(received.shape))
        raise Wrong("wrong-shape", f"{capital(what)} has the wrong shape.", details)
    if dtype is not None and received.dtype != dtype:
        raise Wrong("wrong-dtype", f"{capital(what)} has the wrong dtype.", beside(dtype, received.dtype))
    if received.is_floating_point() and not received.isfinite().all():
        bad = int((~received.isfinite()).sum())
        raise Wrong("not-finite", f"{capital(what)} holds numbers that are NaN or infinite: {bad} of them.")
    return received


def equal(
    received: torch.Tensor,
    expected: torch.Tensor,
    mistake: str = "wrong-values",
    sentence: str = "The shape is correct, but the numbers are not.",
    axes: str = "",
    what: str = "the result",
    context: Sequence[str] = (),
    numbers: bool = False,
) -> None:
    """Raises `Wrong(mistake, sentence)` with the first place where the two tensors differ, unless they agree.

    With `numbers`, shows the two numbers there; those of a module with hidden weights would say nothing.
    """
    received = tensor(received, expected.shape, axes, what, expected.dtype)
    if agree(received, expected):
        return
    apart = ~torch.isclose(received.detach(), expected.detach(), **TOLERANCE)
    place = tuple(apart.nonzero()[0].tolist())
    where, differ = (
        f"{list(place)}{f' {axes}' if axes else ''}",
        f"{int(apart.sum())} of {apart.numel()} numbers differ",
    )
    shown = [f"Received: {differ}" + ("" if apart.all() else f", the first at {where}")]
    if numbers:
        right, wrong = told_apart(expected[place], received[place])
        shown = [f"Expected: {right} at {where}", f"Received: {wrong}; {differ}"]
    if numbers and not place:  # one number, which needs no picture either
        raise Wrong(mistake, sentence, [*context, f"Expected: {right}", f"Received: {wrong}"])
    raise Wrong(mistake, sentence, [*context, *shown], expected=expected.detach(), received=received.detach())


def agree(a, b) -> bool:
    """Whether two tensors have one shape and the same numbers up to rounding."""
    return (
        on_cpu(a)
        and on_cpu(b)
        and a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a.detach(), b.detach(), **TOLERANCE, equal_nan=True)
    )


def on_cpu(thing) -> bool:
    """Whether the object is a tensor on the CPU, whose numbers can be read."""
    return isinstance(thing, torch.Tensor) and thing.device.type == "cpu"
