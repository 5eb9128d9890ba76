"""Changes what PyTorch computes in a layer: its tokens, its attention, its neurons, and what its branches add."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.maps.attention_calls import flat
from vit_course.maps.interventions.attention_interventions import AttentionInterventions, swap
from vit_course.maps.interventions.intervention import NEEDED, Intervention, RunningLayer

ADDITIONS, JOINS = {"add", "add_", "__add__", "__radd__", "__iadd__"}, {"cat", "concat", "concatenate", "stack"}


class InterventionMode(AttentionInterventions):
    """Changes what PyTorch's functions compute in the running layer, which `InterventionHooks` sets.

    Args:
        model: which is changed.
        interventions: all of them.
        learned: the values for other pictures, by intervention and layer, that are known already.
    """

    def __init__(
        self,
        model: nn.Module,
        interventions: list[Intervention],
        learned: dict[tuple[Intervention, int], torch.Tensor],
    ):
        super().__init__(learned)
        self.model, self.interventions = model, interventions
        self.busy = False  # inside one of our own calls
        self.pictures: torch.Tensor | None = None  # those that `learning_from` runs

    @contextmanager
    def learning_from(self, pictures: torch.Tensor) -> Iterator[None]:
        """Changes nothing inside the with block, and stores the values of these pictures, which run in it."""
        self.pictures, self.learning = pictures, True
        try:
            yield
        finally:
            self.pictures, self.learning = None, False

    def abandon(self) -> None:
        """Ends a layer without a result, because it has raised an exception."""
        self.running = None

    def mark_attention(self, x: torch.Tensor) -> None:
        """Says that x is what the attention of the running layer gives, so that its branch is known."""
        if self.running is not None and isinstance(x, torch.Tensor):
            if x is self.running.tokens and self.running.met["mlp"]:
                raise ValueError(
                    f"the attention of layer {self.running.index} ({self.running.path}) adds its tokens itself: "
                    "describe the module inside it that attends"
                )
            self.running.attention[x] = True

    def end_part(self, part: nn.Module) -> None:
        """Says that a part of the running layer, which is a list, has run; behind the last, an addition ends it."""
        if self.running is not None and self.running.parts is not None:
            self.running.parts.discard(part)

    def changes_in(self, attention: nn.Module) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """The changes of an attention layer, if it runs: its hidden keys, and the weights that replace its own.

        -> (1 or B, 1, T, T), True where a key is hidden, or None; (B, h, T, T) or None.
        """
        if self.running is None or attention not in set(self.running.block.modules()):
            return None, None
        return self.running.hidden, self.running.replaced

    def enter(self, running: RunningLayer) -> None:
        """Starts a layer with its input tokens (B, T, D), changed if asked for."""
        self.running = running
        running.given = running.start = running.tokens
        if self.learning:
            running.changes = [one for one in running.changes if one.pictures is self.pictures]
        running.tokens = running.start = running.entered = self.changed("tokens", running.tokens)
        if self.asked("layer"):
            running.entered = running.tokens.clone()  # a layer may add to its tokens in place
        scores = [one for one in running.changes if one.place == "scores"]
        if scores:
            batch, length = running.tokens.shape[:2]
            alike = all(one.row is None for one in scores)
            hidden = running.tokens.new_zeros(1 if alike else batch, 1, length, length, dtype=torch.bool)
            running.hidden = self.changed("scores", hidden)
            running.met["scores"] = 0  # to build the mask is not to use it
            if (blind := running.hidden.all(dim=-1)).any():
                query = int(blind.nonzero()[0, -1])
                raise ValueError(
                    f"{scores[-1].name} leaves token {query} without a key in layer {running.index}, but each token "
                    "needs one"
                )

    def leave(self, output: torch.Tensor) -> torch.Tensor:
        """Ends a layer and returns its output (B, T, D), changed if asked for; raises if a change could not be made."""
        now = self.running
        assert now is not None
        try:
            for one in now.changes:
                if one.place in NEEDED and now.met[one.place] != 1:
                    raise ValueError(f"{one.name}: layer {now.index} ({now.path}) {NEEDED[one.place]}")
            if self.asked("layer"):
                output = now.entered + self.changed("layer", output - now.entered)
            return self.changed("output", output)
        finally:
            self.running = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self.running is None or self.busy:
            return func(*args, **kwargs)
        self.busy = True
        try:
            args, kwargs = swap(args, kwargs, self.running.given, self.running.start)
            result = self._call(func, name, args, kwargs)
            self._follow(name, (*args, *kwargs.values()), result)
            return result
        finally:
            self.busy = False

    def _call(self, func: Callable, name: str, args: tuple, kwargs: dict):
        now = self.running
        if func is F.scaled_dot_product_attention:
            return self.fused(func, args, kwargs)
        if func is F.multi_head_attention_forward:
            return self.projected(func, args, kwargs)
        if name in ADDITIONS and any(one is now.tokens for one in args):
            return self._added(func, name, args, kwargs)
        inputs = [one for one in flat((*args, *kwargs.values())) if isinstance(one, torch.Tensor)]
        if name == "softmax" and inputs and self.are_scores(inputs[0], args, kwargs):
            return self.softmax(func, args, kwargs, inputs[0])
        if name == "linear" and self._are_neurons(*inputs[:2]):
            args, kwargs = swap(args, kwargs, inputs[0], self.changed("neurons", inputs[0]))
        return self.open(func, name, args, kwargs, inputs)

    def _follow(self, name: str, given: tuple, result: object) -> None:
        # Marks what is computed from the output of the attention, as far as the addition to the tokens.
        now = self.running
        if now is None or not self.asked("attention", "mlp", "neurons"):
            return
        if result is now.tokens:  # which has the attention, and is none
            now.attention.pop(result, None)
            return
        inputs = [one for one in flat(given) if isinstance(one, torch.Tensor)]
        if not any(one in now.attention for one in inputs):
            return
        for one in flat((result,)):
            if isinstance(one, torch.Tensor) and one.is_floating_point():
                now.attention[one] = True
        beside = [one for one in inputs if one.ndim == 3 and one.shape[:2] == now.tokens.shape[:2]]
        if name in ADDITIONS | JOINS and not all(one in now.attention for one in beside):
            now.met["attention"] += 2  # with something else than the tokens: as if it were added twice, it is refused

    def _are_neurons(self, x: torch.Tensor, weight: torch.Tensor) -> bool:
        # Whether a linear layer takes an inner width M back to the width D of the tokens, behind the attention.
        now, width = self.running, self.running.tokens.shape[2]
        inner = x.ndim == 3 and x.shape[:2] == now.tokens.shape[:2] and x.shape[2] != width
        return inner and len(weight) == width and now.met["attention"] > 0

    def _added(self, func: Callable, name: str, args: tuple, kwargs: dict) -> torch.Tensor:
        now = self.running
        branch = next((one for one in args if one is not now.tokens), None)
        if isinstance(branch, torch.Tensor) and branch.shape == now.tokens.shape:
            place = "attention" if branch in now.attention else "mlp"
            if (scale := kwargs.get("alpha", 1)) != 1 and branch is args[1]:  # torch.add(tokens, branch, alpha=scale)
                branch = branch * scale
                args, kwargs = (args[0], branch), {}
            args, kwargs = swap(args, kwargs, branch, self.changed(place, branch))
        now.tokens = func(*args, **kwargs)
        if now.parts is None or now.parts:
            return now.tokens
        return self.leave(now.tokens)  # a layer that is a list of modules ends with an addition
