"""Calls the learner's function; whatever goes wrong is a `Wrong` with a name."""

import contextlib
import copy
import inspect
from collections.abc import Callable, Mapping

import torch

from vit_course.checks.errors import raised
from vit_course.checks.report import NotAttempted, Wrong
from vit_course.checks.snapshot import Left, run
from vit_course.checks.tools.builtin_values import to_builtin
from vit_course.checks.tools.words import describe


def call(function: Callable, *arguments, **keywords):
    """The learner's result, or a `Wrong` for anything but a normal return. Changed inputs are found too."""
    if function is None or not callable(function):
        raise Wrong("not-callable", f"The check needs a function or a class; it got {describe(function)}.")
    before = copy.deepcopy(arguments)
    try:
        result = ask(function, *arguments, **keywords)
    except (Wrong, NotAttempted):
        raise
    except Left as left:
        if left.what == "gradients":
            sentence = "After the call, gradients are switched on or off for everything that follows."
            raise Wrong("gradients-left", sentence) from None
        raise Wrong("library-changed", f"Your code has replaced {left.what}; it was put back.") from None
    except NotImplementedError as error:
        if not error.args:  # torch raises its own, with a text
            raise NotAttempted from None
        raise raised(error) from error
    except Exception as error:
        raise raised(error) from error
    for index, (old, new) in enumerate(zip(before, arguments, strict=True)):
        if not _unchanged(old, new):
            sentence = f"{_called(function, index)} is not the same after the call: your code changed it."
            raise Wrong("input-changed", sentence)
    return result


def _called(function: Callable, index: int) -> str:
    # The learner's name for an argument, where the signature shows it.
    with contextlib.suppress(TypeError, ValueError, IndexError):
        parameter = list(inspect.signature(function).parameters.values())[index]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return f"The argument {parameter.name}"
    return f"Argument {index + 1}"


def ask(function: Callable, *arguments, **keywords):
    """What the learner's function returns, made plain, or raises; for a check that wants to see the error itself."""
    return to_builtin(run(function, *arguments, **keywords))


def _unchanged(old, new) -> bool:
    # Compares tensors and dicts of tensors, such as a state dict; anything else counts as unchanged.
    if isinstance(old, torch.Tensor):
        return isinstance(new, torch.Tensor) and old.shape == new.shape and torch.equal(old, new)
    if isinstance(old, Mapping):
        return old.keys() == new.keys() and all(_unchanged(old[key], new[key]) for key in old)
    return True
