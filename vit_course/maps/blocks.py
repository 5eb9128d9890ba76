"""The layers of a model as modules, tokens in and tokens out, and what happens where they begin and end."""

import threading
from functools import partial
from typing import Any

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.maps.active_interventions import IN_FORCE, Skipped, aside
from vit_course.maps.foreign_models import attending, few, sizes_in
from vit_course.maps.intervention_mode import Changing, Intervention, Running, swapped
from vit_course.maps.tokens import Tokens, check_whole, find_tokens


def find_blocks(model: nn.Module) -> dict[str, nn.Module]:
    """-> the layers by their paths, in their order: the numbered modules that hold one attention each.

    Raises:
        ValueError: there are none, or those of several parts.
    """
    found, blocks = attending(model), {}
    for path, _ in model.named_modules():
        parts = path.split(".")
        starts = [".".join(parts[:end]) for end in range(1, len(parts) + 1) if parts[end - 1][-1:].isdigit()]
        # A pooling attention behind the layers has no number.
        for start in starts if path in found else ():
            if sum(f"{other}.".startswith(f"{start}.") for other in found) == 1:
                blocks[start] = model.get_submodule(start)
                break
    parents = sorted({path.rpartition(".")[0] for path in blocks})
    if len(parents) > 1:
        raise ValueError(f"attention runs in several parts of the model, {few(parents)}: change one of them")
    if not blocks or any(isinstance(block, (nn.ModuleList, nn.ModuleDict)) for block in blocks.values()):
        raise ValueError(
            f"{type(model).__name__} has no numbered modules that each hold one attention and are called as a layer, "
            "tokens (B, T, D) in and out, so that nothing can be changed there"
        )
    return blocks


def run(model: nn.Module, images: torch.Tensor) -> Any:
    """-> what the model gives, or its tokens where it is ours and has no head."""
    config = getattr(model, "config", None)
    return model.features(images) if isinstance(config, ViTConfig) and not config.num_classes else model(images)


def first_tensor(output: object) -> torch.Tensor:
    """-> the tokens among what a layer gives."""
    return output[0] if isinstance(output, tuple) else output


class Hooked:
    """The hooks that tell a `Changing` which layer of the model runs.

    Args:
        model: of which `blocks` are the layers.
        changes: the index of a layer -> what is changed there.
    """

    def __init__(self, model: nn.Module, blocks: dict[str, nn.Module], changes: dict[int, list[Intervention]]):
        self.model = model
        self.changes = changes
        self.layers = list(blocks.items())
        self.changing = Changing()
        self.thread = threading.get_ident()
        self.pictures: torch.Tensor | None = None  # that run unchanged
        self.ran: set[int] = set()
        self.size: tuple[int, int] | None = None
        self.known: dict[tuple, Tokens] = {}

    def put_on(self) -> list:
        """-> the hooks, which are put on with this."""
        hooks = [
            self.model.register_forward_pre_hook(self._begin, with_kwargs=True),
            self.model.register_forward_hook(self._end),
        ]
        for index in self.changes:
            block = self.layers[index][1]
            hooks.append(block.register_forward_pre_hook(partial(self._enter, index), with_kwargs=True))
            hooks.append(block.register_forward_hook(partial(self._leave, index), always_call=True))
        return hooks

    def learn(self) -> None:
        """Runs the pictures of all changes through the unchanged model, and keeps what they give."""
        every = [one for changes in self.changes.values() for one in changes if one.pictures is not None]
        for pictures in {id(one.pictures): one.pictures for one in every}.values():
            self.pictures, self.changing.learning = pictures, True
            try:
                with torch.no_grad(), aside():
                    run(self.model, pictures)
            finally:
                self.pictures, self.changing.learning = None, False

    def _here(self) -> bool:
        return threading.get_ident() == self.thread

    def _begin(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        if self._here():
            self.ran.clear()
            self.size = next(iter(sizes_in((*args, *kwargs.values()))), None)

    def _end(self, module: nn.Module, args: tuple, output: object) -> None:
        if self._here() and (left := sorted(self.changes.keys() - self.ran)):
            path = self.layers[left[0]][0]
            raise ValueError(f"layer {left[0]} ({path}) did not run as a module, so that nothing was changed there")

    def _enter(self, index: int, block: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if not self._here():
            return None
        self.ran.add(index)
        if isinstance(block.forward, Skipped) and block.forward.here:
            return None
        path = self.layers[index][0]
        tokens = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
        if tokens is None or tokens.ndim != 3:
            shape = None if tokens is None else tuple(tokens.shape)
            raise ValueError(f"layer {index} ({path}) takes {shape}, where tokens (B, T, D) are needed")
        changes = self.changes[index]
        if self.changing.learning:
            changes = [one for one in changes if one.pictures is self.pictures]
        changed = self.changing.enter(Running(index, path, block, tokens, changes, self._find_tokens))
        if changed is tokens:
            return None
        for other in IN_FORCE.changing:  # whose layer has begun with what was there before
            if other.running is not None and other.running.tokens is tokens:
                other.running.tokens = other.running.entered = changed
        return swapped(args, kwargs, tokens, changed)

    def _leave(self, index: int, block: nn.Module, args: tuple, output: Any) -> Any:
        if not self._here() or self.changing.running is None:
            return None
        if output is None:  # an exception is on its way
            self.changing.running = None
            return None
        changed = self.changing.leave(first_tensor(output))
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    def _find_tokens(self, num_tokens: int) -> Tokens:
        configs = (getattr(module, "config", None) for module in self.model.modules())
        own = next((config.height_width for config in configs if isinstance(config, ViTConfig)), None)
        key = num_tokens, self.size or own
        if key not in self.known:
            check_whole(self.model, *key)
            self.known[key] = find_tokens(*key, self.model)
        return self.known[key]
