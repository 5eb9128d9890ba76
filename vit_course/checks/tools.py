"""What checks are written with: call the learner's object, look at what comes back, name what is wrong.

Each of these raises `Wrong` at the first thing that is wrong, so a check reads as a list of demands.
"""

import copy
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from vit_course.checks.exercise import raised
from vit_course.checks.report import NotAttempted, Wrong

TOLERANCE = dict(rtol=1e-4, atol=1e-5)


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give: what it computes, and the sentence that says what was done.

    Args:
        slug: short and stable.
        sentence: what was done wrong; never what to write instead.
        function: the wrong function, called with the same arguments as the learner's; it may raise.
    """

    slug: str
    sentence: str
    function: Callable


def call(function: Callable, *arguments, **keywords):
    """The learner's result, or a `Wrong` for anything but a normal return. Changed inputs are found too."""
    if function is None or not callable(function):
        raise Wrong("not-callable", f"The check needs a function or a class; it got {describe(function)}.")
    before = copy.deepcopy(arguments)
    try:
        result = function(*arguments, **keywords)
    except (Wrong, NotAttempted):
        raise
    except NotImplementedError as error:
        if not error.args:  # torch raises its own, with a text
            raise NotAttempted from None
        raise raised(error) from error
    except Exception as error:
        raise raised(error) from error
    for index, (old, new) in enumerate(zip(before, arguments, strict=True)):
        if not _unchanged(old, new):
            raise Wrong("input-changed", f"Argument {index + 1} is not the same after the call: your code changed it.")
    return result


def _unchanged(old, new) -> bool:
    # Tensors, and dicts of them such as a state dict; of anything else nothing is said.
    if isinstance(old, torch.Tensor):
        return isinstance(new, torch.Tensor) and old.shape == new.shape and torch.equal(old, new)
    if isinstance(old, Mapping):
        return old.keys() == new.keys() and all(_unchanged(old[key], new[key]) for key in old)
    return True


def build(cls: type, *arguments, **keywords) -> nn.Module:
    """An instance of the learner's module class."""
    if isinstance(cls, nn.Module):
        raise Wrong(
            "instance-not-class",
            f"The check needs the class itself, to build it in several sizes; it got {describe(cls)}.",
        )
    if not isinstance(cls, type) and not inspect.isfunction(cls):
        raise Wrong("not-callable", f"The check needs a class derived from nn.Module; it got {describe(cls)}.")
    module = call(cls, *arguments, **keywords)
    if not isinstance(module, nn.Module):
        raise Wrong("not-a-module", f"The check needs a class derived from nn.Module; it built {describe(module)}.")
    return module


def tensor(
    received, shape: Sequence[int], axes: str = "", what: str = "the result", dtype: torch.dtype | None = torch.float32
) -> torch.Tensor:
    """`received`, where it is a finite CPU tensor of this shape and dtype.

    Args:
        received: what the learner's code returned.
        shape: expected.
        axes: what the axes are, such as "(B, N, D)", shown beside the shape.
        what: how to call it in the sentence.
        dtype: expected, or None for any.
    """
    if received is None:
        raise Wrong("returned-nothing", f"{_capital(what)} is None: nothing was returned.")
    if isinstance(received, np.ndarray):
        raise Wrong("numpy-array", f"{_capital(what)} is a numpy array where a torch tensor is expected.")
    if not isinstance(received, torch.Tensor):
        raise Wrong("wrong-type", f"{_capital(what)} is {describe(received)} where a tensor is expected.")
    if received.device.type != "cpu":
        raise Wrong(
            "wrong-device",
            f"{_capital(what)} is not on the device of the input.",
            ["Expected: device cpu", f"Received: device {received.device}"],
        )
    if tuple(received.shape) != tuple(shape):
        axes = f" {axes}" if axes else ""
        raise Wrong(
            "wrong-shape",
            f"{_capital(what)} has the wrong shape.",
            [f"Expected: {tuple(shape)}{axes}", f"Received: {tuple(received.shape)}"],
        )
    if dtype is not None and received.dtype != dtype:
        raise Wrong(
            "wrong-dtype",
            f"{_capital(what)} has the wrong dtype.",
            [f"Expected: {dtype}", f"Received: {received.dtype}"],
        )
    if received.is_floating_point() and not received.isfinite().all():
        bad = int((~received.isfinite()).sum())
        raise Wrong("not-finite", f"{_capital(what)} holds numbers that are NaN or infinite: {bad} of them.")
    return received


def equal(
    received: torch.Tensor,
    expected: torch.Tensor,
    mistake: str = "wrong-values",
    sentence: str = "The shape is right, the numbers are not.",
    axes: str = "",
    what: str = "the result",
    context: Sequence[str] = (),
) -> None:
    """Raises `Wrong(mistake, sentence)` with the first place where the two part, unless they agree."""
    received = tensor(received, expected.shape, axes, what, expected.dtype)
    if agree(received, expected):
        return
    apart = ~torch.isclose(received.detach(), expected.detach(), **TOLERANCE)
    place = tuple(apart.nonzero()[0].tolist())
    raise Wrong(
        mistake,
        sentence,
        [
            *context,
            f"Expected: {number(expected[place])} at {list(place)}{f' {axes}' if axes else ''}",
            f"Received: {number(received[place])}; {int(apart.sum())} of {apart.numel()} numbers differ",
        ],
        expected=expected.detach(),
        received=received.detach(),
    )


def same_function(
    answer: Callable,
    reference: Callable,
    draws: Sequence[tuple],
    mistakes: Sequence[Mistake] = (),
    axes: str = "",
    differentiable: bool = True,
) -> None:
    """The learner's function gives what `reference` gives, on every draw.

    Also found: an input that was changed, a result that is random or depends on earlier calls, sizes that are
    hard-coded, a gradient that is cut.

    Args:
        answer: the learner's function.
        reference: the right one: tensors (and other values) in, one tensor out.
        draws: tuples of arguments, in at least two different sizes.
        mistakes: tried in order where the result is not right; the first that gives the learner's result on
            every draw names the mistake.
        axes: of the result, such as "(B, N, D)".
        differentiable: whether a gradient must reach each floating-point input that `reference` lets it reach.
    """
    results = []
    for index, arguments in enumerate(draws):
        try:
            result = call(answer, *_copies(arguments))
            again = call(answer, *_copies(arguments))
            if _on_cpu(result) and _on_cpu(again) and not agree(result, again):
                raise Wrong("random-result", "Called twice with the same input, your function gives two results.")
            equal(result, reference(*_copies(arguments)), axes=axes)
        except Wrong as wrong:
            raise _explained(wrong, answer, reference, mistakes, draws, index) from None
        results.append(result)
    if not agree(call(answer, *_copies(draws[0])), results[0]):
        raise Wrong("keeps-state", "After calls with other inputs, your function gives another result than before.")
    if differentiable:
        _gradient_flows(answer, reference, draws[0])


def same_values(
    answer: Callable, reference: Callable, draws: Sequence[tuple], mistakes: Sequence[Mistake] = ()
) -> None:
    """As `same_function`, for a function that returns no tensor: an int, a float, a bool, a str or a shape.

    Args:
        answer, reference, draws, mistakes: see `same_function`.
    """
    results = []
    for index, arguments in enumerate(draws):
        expected = reference(*_copies(arguments))
        try:
            received = call(answer, *_copies(arguments))
            if received is None:
                raise Wrong("returned-nothing", "The result is None: nothing was returned.")
            try:
                same_answer(received, expected)
            except Wrong as wrong:
                if wrong.mistake != "wrong-answer":
                    raise
                details = [f"Expected: {describe(expected)}", f"Received: {describe(received)}"]
                raise Wrong("wrong-values", "The result is not right.", details) from None
        except Wrong as wrong:
            raise _explained(wrong, answer, reference, mistakes, draws, index) from None
        results.append(received)
    if call(answer, *_copies(draws[0])) != results[0]:
        raise Wrong("keeps-state", "After calls with other inputs, your function gives another result than before.")


def same_answers(received, expected: Mapping, parts, mistakes: Mapping[str, Mapping] | None = None) -> None:
    """A dict of answers worked out or predicted, each a part of its own; the right one is never shown.

    Args:
        received: the learner's dict.
        expected: the right answers by name: an int, a float (within 0.1 %), a bool, a tuple of ints for a shape, or
            a str for a choice.
        parts: of the check, for partial credit.
        mistakes: by name, from a wrong answer to (slug, sentence). For a choice these are the other options.
    """
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    missing = sorted(set(expected) - set(received))
    extra = sorted(describe(name) for name in received if name not in expected)
    if missing or extra:
        raise Wrong(
            "wrong-keys",
            "The names in the dict are not the ones asked for.",
            [f"Missing: {', '.join(missing) or 'none'}", f"Not asked for: {', '.join(extra) or 'none'}"],
        )
    for name, value in expected.items():
        with parts(name):
            same_answer(received[name], value, (mistakes or {}).get(name, {}))


def same_answer(received, expected, mistakes: Mapping | None = None) -> None:
    """One answer, or a `Wrong` that does not give the right one away; see `same_answers`."""
    mistakes = mistakes or {}
    if isinstance(received, torch.Tensor) and received.numel() == 1:
        received = received.item()
    if isinstance(received, (torch.Size, list)):
        received = tuple(received)
    if isinstance(received, np.generic):
        received = received.item()
    if isinstance(received, str):
        received = str(received).strip().lower()
    kinds = (int, float) if type(expected) in (int, float) else type(expected)
    if not isinstance(received, kinds) or (isinstance(received, bool) and type(expected) is not bool):
        names = {int: "a number", float: "a number", bool: "True or False", tuple: "a shape (a tuple)", str: "a choice"}
        raise Wrong("wrong-type", f"This is {describe(received)} where {names[type(expected)]} is expected.")
    if _is(received, expected):
        if type(expected) is int and type(received) is float:
            raise Wrong("float-count", f"{received} is a float where something is counted: a count is an int.")
        return
    for wrong, (slug, sentence) in mistakes.items():
        if _is(received, wrong):
            raise Wrong(slug, sentence)
    if isinstance(expected, str):
        options = sorted({expected, *mistakes})
        raise Wrong("no-such-option", f"{describe(received)} is none of the options {', '.join(options)}.")
    raise Wrong("wrong-answer", f"{received} is not right.")


def _is(received, value) -> bool:
    if isinstance(value, float) and not isinstance(received, (tuple, str)):
        return abs(received - value) <= 1e-3 * abs(value)
    return received == value


def fill(module: nn.Module, head_dim: int, seed: int = 0, scale: float = 1.0) -> None:
    """Sets every parameter by its shape alone, so that modules can be compared whatever their names and layout.

    Entry [i, j] of a matrix becomes w[i mod d, j mod d] with one symmetric d x d matrix w, so queries, keys, values,
    fused or apart, head by head or not, transposed or not, all hold the same; vectors become 0.

    Args:
        module: the learner's or ours.
        head_dim: d.
        seed: of w.
        scale: of w.
    """
    w = torch.randn(head_dim, head_dim, generator=torch.Generator().manual_seed(seed))
    w = scale * (w + w.T) / 2
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim < 2:
                parameter.zero_()
                continue
            shape = [size for size in parameter.shape if size > 1][-2:]
            if len(shape) < 2:
                parameter.zero_()
                continue
            rows, columns = torch.arange(shape[0]) % head_dim, torch.arange(shape[1]) % head_dim
            parameter.copy_(w[rows[:, None], columns].expand(*parameter.squeeze().shape).reshape(parameter.shape))


def count(module: nn.Module) -> int:
    """How many numbers the module learns."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def agree(a, b) -> bool:
    """Whether two tensors have one shape and the same numbers up to rounding."""
    return (
        _on_cpu(a)
        and _on_cpu(b)
        and a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a.detach(), b.detach(), **TOLERANCE, equal_nan=True)
    )


def describe(thing) -> str:
    """What a thing is, in a few words that are the same on every machine."""
    if isinstance(thing, torch.Tensor):
        return f"tensor {tuple(thing.shape)}"
    if isinstance(thing, np.ndarray):
        return f"a numpy array {thing.shape}"
    if isinstance(thing, float):
        return f"{thing:.6g}"
    if thing is None or isinstance(thing, (bool, int)):
        return str(thing)[:40]
    if isinstance(thing, str):
        return repr(thing if len(thing) < 30 else thing[:27] + "...")
    if isinstance(thing, (tuple, list)):
        inside = ", ".join(describe(item) for item in thing[:4]) + (", ..." if len(thing) > 4 else "")
        return f"a {type(thing).__name__} ({inside})"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return f"an object of type {type(thing).__name__}"


def number(value: torch.Tensor) -> str:
    """One number of a tensor, rounded so that it prints the same on every machine."""
    value = value.item()
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _copies(arguments: tuple) -> tuple:
    return copy.deepcopy(arguments)


def _explained(
    wrong: Wrong, answer, reference, mistakes: Sequence[Mistake], draws: Sequence[tuple], index: int
) -> Wrong:
    # The same with the input in front, under the name of a foreseen mistake where it is one: a function that does what
    # the learner's does on every draw, errors included.
    names = inspect.signature(reference).parameters
    given = ", ".join(f"{name} = {describe(value)}" for name, value in zip(names, draws[index], strict=False))
    slug, sentence = wrong.mistake, wrong.sentence
    if index > 0 and slug in ("wrong-shape", "raised-error", "wrong-values"):
        slug = "hard-coded-size"
        sentence = "Right for the first sizes that were tried, not for others: a size may be written as a number."
    if slug != "random-result":
        theirs = [_attempt(answer, arguments) for arguments in draws]
        for mistake in mistakes:
            ours = [_attempt(mistake.function, arguments) for arguments in draws]
            if all(map(_alike, theirs, ours)):
                slug, sentence = mistake.slug, mistake.sentence
                break
    return Wrong(slug, sentence, [f"Input:    {given}", *wrong.details], wrong.expected, wrong.received)


def _attempt(function, arguments):
    try:
        return function(*_copies(arguments))
    except Exception as error:
        return type(error), str(error)


def _alike(a, b) -> bool:
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return agree(a, b)
    if isinstance(a, float) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-4)
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # whatever the learner's object makes of ==
        return False


def _gradient_flows(answer: Callable, reference: Callable, arguments: tuple) -> None:
    names = inspect.signature(reference).parameters
    theirs, ours = _gradients(lambda *a: call(answer, *a), arguments), _gradients(reference, arguments)
    for name, received, expected in zip(names, theirs, ours, strict=False):
        if expected is not None and received is None:
            raise Wrong("gradient-cut", f"No gradient reaches {name}: whatever makes it could not be trained.")


def _gradients(function: Callable, arguments: tuple) -> list[torch.Tensor | None]:
    inputs = [argument.requires_grad_() if _is_float(argument) else argument for argument in _copies(arguments)]
    floats = [argument for argument in inputs if _is_float(argument)]
    out = function(*inputs)
    if not floats or not out.requires_grad:
        return [None] * len(inputs)
    found = iter(torch.autograd.grad(out.square().sum(), floats, allow_unused=True))
    return [next(found) if _is_float(argument) else None for argument in inputs]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _on_cpu(thing) -> bool:
    return isinstance(thing, torch.Tensor) and thing.device.type == "cpu"


def _is_float(thing) -> bool:
    return isinstance(thing, torch.Tensor) and thing.is_floating_point()
