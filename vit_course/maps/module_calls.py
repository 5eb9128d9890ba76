"""The calls of modules while a model runs: they tell the heads of a layer from layers, and one pass from the next."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn


class Call:
    """One call of a module.

    Args:
        module: that runs.
        given: its first argument that is a tensor, or None.

    `layers` are the numbers of the attention layers that were computed inside, `own` how many of them by the module
    itself, `last` the last finished call inside in which attention was computed, and `output` the first tensor that the
    module has returned. `is_second_part` says that the module is given the images of the pass after another part of the
    model has attended to them.
    """

    def __init__(self, module: nn.Module, given: torch.Tensor | None):
        self.module, self.given = module, given
        self.output: torch.Tensor | None = None
        self.layers: set[int] = set()
        self.own = 0
        self.last: Call | None = None
        self.is_second_part = False
        # PyTorch counts changes in place, except those of inference tensors, of which a copy is kept.
        self._version: int | None = None
        self._copy: torch.Tensor | None = None
        if given is not None and not given.is_inference():
            self._version = given._version
        elif given is not None and any(module.children()):  # a module without parts has no attention layer inside
            self._copy = given.clone()

    def stands(self, before: "Call") -> str:
        """How this call relates to an earlier one: "beside" it, as the heads of a layer do, "behind" it, or "unclear".

        Modules beside each other are given the same tokens (B, T, D), or parts of them. If the tokens are only equal,
        as where each head is given a norm of its own, a head is known by its output, which has fewer numbers than its
        tokens. A layer that adds nothing yet gives the next one equal tokens, too, but as its output.
        """
        mine, others, gave = self.given, before.given, before.output
        if mine is None or others is None or mine.ndim != 3 or others.ndim != 3 or before._has_changed():
            return "behind"
        if _storage(mine) == _storage(others):
            return "beside"
        if mine.shape != others.shape or gave is None or _storage(mine) == _storage(gave):
            return "behind"
        if not torch.equal(mine, others):
            return "behind"
        return "beside" if gave.shape[-1] < others.shape[-1] else "unclear"

    def _has_changed(self) -> bool:
        # Whether its tokens were changed in place since, as by layers in a loop that add to the same tensor.
        assert self.given is not None
        if self.given.is_inference():
            return self._copy is None or not torch.equal(self.given, self._copy)
        return self.given._version != self._version


class CallStack:
    """The calls that are running, the outermost first, and the pass through the model to which they belong.

    Args:
        model: a pass begins with it or, if only parts of it are called, with the part that was called first.
    """

    def __init__(self, model: nn.Module):
        self.model = model
        self.running: list[Call] = []
        self.first: nn.Module | None = None
        self.batch: int | None = None  # the number of images in the present pass, if known
        self.keyword: str | None = None  # by which the model is given its images, if not by their place
        self.sizes: list[tuple[int, int]] = []  # (H, W) of the images of each pass
        self.orders: list[list[int]] = []  # the layers of each pass, in the order in which they attended
        self._begin([])

    def enter(self, module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        """Adds a call with these arguments."""
        values = (*args, *kwargs.values())
        pictures = pictures_in(values)
        call = Call(module, next((x for x in values if isinstance(x, torch.Tensor)), None))
        if not self.running and (module is self.model or self.first in (None, module, self.model)):
            self.first = module
            self._begin(pictures, values)
            self.keyword = next((name for name, x in kwargs.items() if pictures and x is pictures[0]), None)
        elif pictures and self.seen:
            if module in self.looking:  # two images one after the other, as in a Siamese model
                self._begin(pictures)
            else:
                call.is_second_part = pictures[0].shape[1:] == self.shape
        if pictures:
            self.looking.add(module)
        self.running.append(call)

    def leave(self, module: nn.Module, output: Any = None) -> None:
        """Removes the last call of the module, and any inside it that ended with an exception."""
        while self.running:
            call = self.running.pop()
            if call.module is module:
                call.last = None  # which frees its tokens
                returned = output if isinstance(output, (tuple, list)) else (output,)
                call.output = next((x for x in returned if isinstance(x, torch.Tensor)), None)
                if self.running and call.layers:
                    self.running[-1].last = call
                return

    def occurrence(self, path: str) -> int:
        """Counts the layers that were seen at this path in the present pass, before this one."""
        self.seen[path] += 1
        return self.seen[path] - 1

    def siblings(self) -> tuple[Call, Call] | None:
        """Returns the last finished call with attention in it, and the present one in the same module, if there are."""
        pairs = zip(reversed(self.running[:-1]), reversed(self.running[1:]), strict=True)
        return next(((outer.last, inner) for outer, inner in pairs if outer.last is not None), None)

    def _begin(self, pictures: list[torch.Tensor], values: Any = ()) -> None:
        self.seen: Counter[str] = Counter()
        self.looking: set[nn.Module] = set()  # modules that were given images in this pass
        # Images may also come in a list or a dict, and a video has one axis more.
        batches = [len(x) for x in pictures or _tensors_in(values) if x.ndim > 3]
        self.batch = batches[0] if batches else None
        self.shape = pictures[0].shape[1:] if pictures else None
        self.sizes += sizes_in(pictures)
        self.orders.append([])


def _storage(x: torch.Tensor) -> int:
    try:
        return x.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a nested tensor, or one of torch.func
        return id(x)


def _tensors_in(values: Any) -> list[torch.Tensor]:
    # All tensors in the arguments of a call, which may be lists and dicts. An iterator is left to the model.
    if isinstance(values, torch.Tensor):
        return [values]
    values = list(values.values()) if isinstance(values, Mapping) else values
    return [x for value in values for x in _tensors_in(value)] if isinstance(values, (list, tuple)) else []


def pictures_in(values: tuple | list) -> list[torch.Tensor]:
    """Returns a list with the first tensor (B, C, H, W) among the arguments of a call, or an empty list."""
    return [x for x in values if isinstance(x, torch.Tensor) and x.ndim == 4][:1]


def sizes_in(values: tuple | list) -> list[tuple[int, int]]:
    """Returns a list with (H, W) of the first tensor (B, C, H, W), or an empty list."""
    return [tuple(x.shape[2:]) for x in pictures_in(values)]
