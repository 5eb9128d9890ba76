"""Hooks at the start and the end of the layers that interventions change."""

import threading
from functools import partial
from typing import Any

import torch
from torch import nn

from vit_course.maps.active_interventions import ACTIVE, unrecorded
from vit_course.maps.anatomy import Anatomy
from vit_course.maps.attention_interventions import swapped
from vit_course.maps.encoder_blocks import parts_of
from vit_course.maps.hooks import Registered
from vit_course.maps.intervention import Intervention, RunningLayer
from vit_course.maps.intervention_mode import InterventionMode
from vit_course.maps.module_calls import pictures_in, sizes_in
from vit_course.maps.module_paths import few
from vit_course.maps.probe_tokens import find_probed_tokens
from vit_course.maps.run_model import Skipped, first_tensor, run
from vit_course.maps.tokens import Tokens, check_whole


class InterventionHooks:
    """The hooks that tell an `InterventionMode` which layer of the model runs.

    Args:
        anatomy: of the model.
        changes: the index of a layer -> the interventions there.
    """

    def __init__(self, anatomy: Anatomy, changes: dict[int, list[Intervention]]):
        self.anatomy = anatomy
        self.changes = changes
        self.layers = list(anatomy.blocks.items())
        self.changing = InterventionMode(anatomy.model, changes)
        self.thread = threading.get_ident()
        self.pictures: torch.Tensor | None = None  # those that `learn` is running
        self.ran: set[int] = set()
        self.size: tuple[int, int] | None = None
        self.inside = False  # the whole model is running, and not a part of it alone
        self.entered = False  # a layer has run since these images: the next ones belong to another pass
        self.known: dict[tuple, Tokens] = {}

    def all(self) -> list[Registered]:
        """Returns the hooks, to be registered."""
        inside = {module for _, block in self.layers for module in block.modules()}
        before, always = {"with_kwargs": True}, {"always_call": True}
        hooks: list[Registered] = [
            (module.register_forward_pre_hook, self._begin, before)
            for module in self.anatomy.paths
            if module not in inside and not isinstance(module, torch.jit.ScriptModule)
        ]
        hooks.append((self.anatomy.model.register_forward_hook, self._end, {}))
        for index, (_, block) in enumerate(self.layers):
            # Layers that are no modules of their own must be seen to run one after another.
            if (parts := parts_of(block)) and self.changes:
                for part in parts:
                    hooks.append((part.register_forward_pre_hook, partial(self._enter_part, index), before))
                    hooks.append((part.register_forward_hook, partial(self._leave_part, index), always))
            elif index in self.changes:
                hooks.append((block.register_forward_pre_hook, partial(self._enter, index), before))
                hooks.append((block.register_forward_hook, partial(self._leave, index), always))
        return hooks

    def learn(self) -> None:
        """Runs the pictures of all interventions through the unchanged model, and stores their values."""
        every = [one for changes in self.changes.values() for one in changes if one.pictures is not None]
        for pictures in {id(one.pictures): one.pictures for one in every}.values():
            self.pictures, self.changing.learning = pictures, True
            try:
                with torch.no_grad(), unrecorded():
                    run(self.anatomy.model, pictures)
            finally:
                self.pictures, self.changing.learning = None, False

    def _here(self) -> bool:
        return threading.get_ident() == self.thread and not ACTIVE.paused

    def _begin(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        # The images are given to the model or, where only a part of it is called, to its embedding.
        if not self._here():
            return
        if module is self.anatomy.model:
            self.inside = True
            self.ran.clear()
            self.changing.stale.clear()
            self.changing.running = None  # the last pass may have stopped between the parts of a layer
            self.size = None
        pictures = pictures_in((*args, *kwargs.values()))
        first = self.size is None or self.entered
        if first and pictures and (module is self.anatomy.model or pictures[0].shape[1] == self.anatomy.channels):
            self.size, self.entered = sizes_in(pictures)[0], False

    def _end(self, module: nn.Module, args: tuple, output: object) -> None:
        if not self._here():
            return
        self._check_ended()
        self.inside = False
        if left := sorted(self.changes.keys() - self.ran):
            path = self.layers[left[0]][0]
            raise ValueError(f"layer {left[0]} ({path}) did not run as a module, so nothing was changed there")

    def _enter(self, index: int, block: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if not self._here():
            return None
        once = all(not one.heard and one.pictures is None for one in self.changes.get(index, []))
        if self.inside and index in self.ran and not once:
            raise ValueError(
                f"layer {index} ({self.layers[index][0]}) runs more than once in a pass, so it has no single value"
            )
        self.ran.add(index)
        self.entered = True
        if isinstance(block.forward, Skipped) and block.forward.here:
            return None
        path = self.layers[index][0]
        tokens = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
        if tokens is None or tokens.ndim != 3:
            shape = None if tokens is None else tuple(tokens.shape)
            raise ValueError(f"layer {index} ({path}) takes {shape}, where tokens (B, T, D) are needed")
        changes = self.changes.get(index, [])
        if self.changing.learning:
            changes = [one for one in changes if one.pictures is self.pictures]
        running = RunningLayer(index, path, block, tokens, changes, self._find_tokens, self.size)
        if parts := parts_of(block):
            running.parts = set(parts)
        for other in ACTIVE.changing:  # that changed the tokens already
            if other.running is not None and other.running.start is tokens:
                running.original += other.running.original
        changed = self.changing.enter(running)
        if running.parts is not None:
            running.original, running.start = [*running.original, tokens], changed
        if changed is tokens:
            return None
        for other in ACTIVE.changing:  # that started the layer with the unchanged tokens
            if other.running is not None and other.running.tokens is tokens:
                other.running.tokens = other.running.entered = changed
                if other.running.parts is not None:
                    other.running.start = changed
        return swapped(args, kwargs, tokens, changed)

    def _enter_part(self, index: int, part: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        # The first part that is called starts the layer.
        if not self._here():
            return None
        if (running := self.changing.running) is not None and running.index == index:
            return None
        self._check_ended(self.anatomy.paths[part])
        return self._enter(index, self.layers[index][1], args, kwargs)

    def _leave_part(self, index: int, part: nn.Module, args: tuple, output: Any) -> torch.Tensor | None:
        running = self.changing.running
        if not self._here() or running is None or running.parts is None:
            return None
        running.parts.discard(part)  # after the last of them, an addition ends the layer
        if output is None:
            self.changing.running = None
        if running.parts or output is not running.tokens or not _has_added(running):
            return None
        changed = self.changing.leave(output)  # or the last part did the addition itself
        for other in ACTIVE.changing:
            if other.running is not None and other.running.tokens is output:
                other.running.tokens = changed
        return changed

    def _check_ended(self, before: str = "the end") -> None:
        # Raises if a layer that is no module of its own still runs.
        if (running := self.changing.running) is None or running.parts is None:
            return
        self.changing.running = None
        parts = [self.anatomy.paths[part] for part in parts_of(running.block)]
        raise ValueError(
            f"layer {running.index} consists of {few(parts)}, and no addition of the last one's output to its tokens, "
            f"as tokens + part(tokens), was seen before {before}: its end is not known, or several attention modules "
            "run in one block, so nothing can be changed there"
        )

    def _leave(self, index: int, block: nn.Module, args: tuple, output: Any) -> Any:
        if not self._here() or self.changing.running is None:
            return None
        if output is None:  # the block has raised an exception
            self.changing.running = None
            return None
        if block in self.anatomy.attention.values() and not _has_added(self.changing.running):
            raise ValueError(
                f"{self.layers[index][0]} adds nothing to its tokens, so it is not a layer but the attention of one, "
                f"or one of several attention modules in one block ({few(list(self.anatomy.attention))}): nothing can "
                "be changed there"
            )
        tokens = first_tensor(output)
        if not isinstance(tokens, torch.Tensor) or tokens.shape != self.changing.running.tokens.shape:
            found = tuple(tokens.shape) if isinstance(tokens, torch.Tensor) else type(tokens).__name__
            wanted = tuple(self.changing.running.tokens.shape)
            raise ValueError(
                f"layer {index} ({self.layers[index][0]}) returns {found} first, where tokens {wanted} are needed"
            )
        changed = self.changing.leave(tokens)
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    def _find_tokens(self, num_tokens: int) -> Tokens:
        config = self.anatomy.config
        key = num_tokens, self.size or (config.height_width if config else None)
        if key not in self.known:
            check_whole(self.anatomy, *key)
            self.known[key] = find_probed_tokens(*key, self.anatomy)
        return self.known[key]


def _has_added(running: RunningLayer) -> bool:
    # Whether a branch has been added to the tokens of the layer.
    return running.met["attention"] + running.met["mlp"] > 0
