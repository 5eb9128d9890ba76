"""Records how much of its tolerance every comparison uses, for tests/portable.py.

While the variable VIT_COURSE_SPREAD names a folder, each measured number of a chapter, each picture and each assertion
with a tolerance adds a line to a file there: where it stands, what was expected, what was found, and which share of the
tolerance the difference uses. A share above 1 is left out: it fails the test, or the test wants two numbers to differ.
"""

import json
import linecache
import math
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = "VIT_COURSE_SPREAD"
PACKAGE = Path(__file__).parents[1] / "vit_course"
NUMBER = r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)"
# How pytest writes an assertion such as `assert (a - b).abs().max() < 1e-5` with its values.
BELOW = re.compile(rf"^\(?({NUMBER}) <=? ({NUMBER})\b")
LARGEST_ERROR = 0.01  # a bound above this is about quality, not about rounding


def is_asked_for() -> bool:
    return FOLDER in os.environ


def note(where: str | None, expected: float, found: float, share: float) -> None:
    """Adds one comparison to the file of this process."""
    folder = os.environ.get(FOLDER)
    if folder and where and share <= 1:
        row = {"where": where, "expected": float(expected), "found": float(found), "share": float(share)}
        with Path(folder, f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def note_arrays(found, expected, rtol: float, atol: float) -> None:
    """Records the element of two arrays that uses most of its tolerance, for the line of the test that compares."""
    found, expected = (_array(value) for value in (found, expected))
    if found.dtype.kind not in "fiub" or expected.dtype.kind not in "fiub" or not found.size:
        return
    found, expected = np.broadcast_arrays(found.astype(float), expected.astype(float))
    with np.errstate(divide="ignore", invalid="ignore"):  # infinities and zeros among them
        apart, allowed = np.abs(found - expected), atol + rtol * np.abs(expected)
        shares = np.where(apart == 0, 0.0, apart / allowed)
    if not np.isfinite(shares).any():
        return
    worst = np.unravel_index(np.nanargmax(np.where(np.isfinite(shares), shares, -1)), shares.shape)
    note(_test_line(), expected[worst], found[worst], shares[worst])


def _array(value) -> np.ndarray:
    return np.asarray(value.detach().double().cpu() if hasattr(value, "detach") and not value.is_complex() else value)


def _test_line() -> str | None:
    """Where the comparison stands: the line of a file of tests, or of a cell; None within the package.

    A check of the course compares wrong answers, too.
    """
    frame = sys._getframe(2)
    while frame:
        path = Path(frame.f_code.co_filename)
        if path.name.startswith("test_") and "site-packages" not in path.parts:
            return f"{path.name}:{frame.f_lineno}"
        if "ipykernel" in path.parent.name:
            return f"a cell: {linecache.getline(str(path), frame.f_lineno).strip()}"
        if PACKAGE in path.parents:
            return None
        frame = frame.f_back
    return None


@pytest.hookimpl
def pytest_assertion_pass(item, lineno, orig, expl):
    if found := BELOW.match(expl):
        value, bound = map(float, found.groups())
        if 0 < bound <= LARGEST_ERROR:
            note(f"{item.path.name}:{lineno}", 0.0, value, abs(value) / bound)


@pytest.hookimpl
def pytest_configure(config):
    if is_asked_for():
        listen()


def listen() -> None:
    """Wraps the functions by which tests and chapters compare numbers, so that they record each comparison first."""
    import torch

    _listen(torch.testing, "assert_close", _of_torch)
    _listen(np.testing, "assert_allclose", lambda a, b, rtol=1e-7, atol=0, *_, **__: note_arrays(a, b, rtol, atol))
    for module in (torch, np):
        _listen(module, "allclose", lambda a, b, rtol=1e-5, atol=1e-8, *_, **__: note_arrays(a, b, rtol, atol))
    approximate = type(pytest.approx(1.0))
    equal = approximate.__eq__

    def noted(self, actual):
        if isinstance(actual, (int, float)) and math.isfinite(self.expected) and self.tolerance:
            note(_test_line(), self.expected, actual, abs(actual - self.expected) / self.tolerance)
        return equal(self, actual)

    approximate.__eq__ = noted


def _of_torch(actual, expected, *, rtol=None, atol=None, **_) -> None:
    import torch

    if isinstance(actual, (list, tuple)):
        for pair in zip(actual, expected, strict=False):
            _of_torch(*pair, rtol=rtol, atol=atol)
    elif isinstance(actual, torch.Tensor) and isinstance(expected, torch.Tensor) and actual.shape == expected.shape:
        if rtol is None:
            rtol, atol = torch.testing._comparison.default_tolerances(actual, expected)
        note_arrays(actual, expected, rtol, atol)


def _listen(module, name: str, hear) -> None:
    compare = getattr(module, name)

    def heard(*arguments, **options):
        hear(*arguments, **options)
        return compare(*arguments, **options)

    setattr(module, name, heard)
