"""Restores global state that the learner's code may change: settings, random states, functions of libraries."""

import builtins
import contextlib
import math
import os
import random
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

_LIBRARIES = (builtins, math, np, torch, F, nn, torch.Tensor, nn.Module, nn.Linear, nn.LayerNorm, nn.Parameter)
_PYTORCH = Path(torch.__file__).parent
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type)


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _anomaly() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - not of pathlib, which calls functions that an answer may have replaced
    except OSError:  # it was removed, such as by another program
        return None


def _change_working_directory(wanted: str | None) -> None:
    if wanted is not None:
        with contextlib.suppress(OSError):
            os.chdir(wanted)


def _change_environment(wanted: dict[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)


def _torch_print_options() -> dict:
    return dict(vars(torch._tensor_str.PRINT_OPTS))


# name: (getter, setter)
_SETTINGS: dict[str, tuple[Callable, Callable]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "threads": (torch.get_num_threads, torch.set_num_threads),
    "deterministic algorithms": (_deterministic, lambda it: torch.use_deterministic_algorithms(it[0], warn_only=it[1])),
    "anomaly detection": (_anomaly, lambda it: torch.set_anomaly_enabled(*it)),
    "precision of products": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "print options of torch": (_torch_print_options, lambda it: vars(torch._tensor_str.PRINT_OPTS).update(it)),
    "print options of numpy": (np.get_printoptions, lambda it: np.set_printoptions(**it)),
    "recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "working directory": (_working_directory, _change_working_directory),
    "environment": (os.environ.copy, _change_environment),
    "module path": (sys.path.copy, lambda it: sys.path.__setitem__(slice(None), it)),
}
# For NumPy its legacy global generator, the only one that the learner's code could advance for others.
_RANDOM: tuple[tuple[Callable, Callable], ...] = (
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_rng_state, torch.set_rng_state),
)


class Settings:
    """The settings of Python, NumPy and PyTorch at one moment."""

    def __init__(self):
        self._kept = {name: get() for name, (get, _) in _SETTINGS.items()}

    def restore(self) -> None:
        """Puts back what has changed since."""
        for name, (get, put) in _SETTINGS.items():
            if get() != self._kept[name]:
                put(self._kept[name])


class Library:
    """The functions and classes of PyTorch, Python and this package at one moment."""

    def __init__(self):
        ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "vit_course" and module]
        self._kept = [
            (place, {name: thing for name, thing in vars(place).items() if isinstance(thing, _FUNCTIONS)})
            for place in (*_LIBRARIES, *ours)
        ]

    def restore(self) -> str | None:
        """Puts back what was replaced since; returns the first name, such as "torch.allclose", or None."""
        replaced = []
        for place, kept in self._kept:
            now = vars(place)
            for name, thing in kept.items():
                # A lone underscore is what Jupyter keeps its last result in.
                if now.get(name) is not thing and name != "_":
                    replaced.append((f"{place.__name__}.{name}", now.get(name)))
                    setattr(place, name, thing)
        # Only after everything is restored: until then, any function called here could be a replaced one.
        return next((name for name, thing in replaced if not _by_pytorch(thing)), None)


def _by_pytorch(thing) -> bool:
    # Parts of PyTorch that are loaded when they are first used, such as by an optimiser, wrap some of its functions.
    code = getattr(thing, "__code__", None)
    return code is not None and Path(code.co_filename).is_relative_to(_PYTORCH)


def _hooks_on_all_modules() -> list[dict]:
    # Such as register_module_forward_hook adds. Restored after the check, not after each call: a check may read them.
    found = vars(torch.nn.modules.module).items()
    return [table for name, table in found if re.fullmatch(r"_global_\w*hooks\w*", name) and isinstance(table, dict)]


@contextlib.contextmanager
def all_as_before() -> Iterator[None]:
    """Restores settings, random states, warnings and libraries at the end of the `with` block."""
    settings, library, states = Settings(), Library(), [get() for get, _ in _RANDOM]
    hooks = [(table, dict(table)) for table in _hooks_on_all_modules()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        library.restore()
        settings.restore()
        for table, kept in hooks:
            table.clear()
            table.update(kept)
        for (_, put), state in zip(_RANDOM, states, strict=True):
            put(state)


_local = threading.local()


class Left(Exception):
    """A call has changed what it must leave alone: `what`, such as "gradients" or "torch.allclose"."""

    def __init__(self, what: str):
        super().__init__(f"{what} is not what it was before the call")
        self.what = what


@contextlib.contextmanager
def calls_restored() -> Iterator[None]:
    """Within the `with` block, `run` restores settings and libraries after each call in this thread."""
    _local.kept = Settings(), Library()
    try:
        yield
    finally:
        _local.kept = None


def run(function: Callable, *arguments, **keywords):
    """Calls the function and returns its result; within `calls_restored`, restores settings and libraries afterwards.

    Raises:
        Left: the function returned, but has replaced a library function or switched gradients on or off.
    """
    kept = getattr(_local, "kept", None)
    if kept is None:
        return function(*arguments, **keywords)
    (settings, library), gradients = kept, torch.is_grad_enabled()
    _local.kept, error = None, None  # a nested `run` is part of this call
    try:
        result = function(*arguments, **keywords)
    except Exception as raised:  # others, such as `_Stop`, end the check, maybe late
        error = raised
    _local.kept = kept
    gradients_after = torch.is_grad_enabled()
    torch.set_grad_enabled(gradients)
    settings.restore()
    replaced = library.restore()
    if error is not None:
        raise error
    if replaced:
        raise Left(replaced)
    if gradients_after != gradients:
        raise Left("gradients")
    return result
