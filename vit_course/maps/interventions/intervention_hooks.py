"""Hooks at the start and the end of the layers that interventions change."""

import threading
from functools import partial
from typing import Any

import torch
from torch import nn

from vit_course.maps.active_interventions import active_mode, unrecorded
from vit_course.maps.hooks import HookSpec
from vit_course.maps.interventions.attention_interventions import swap
from vit_course.maps.interventions.indices import resolve_indices
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.interventions.intervention_mode import InterventionMode
from vit_course.maps.models.description import Description
from vit_course.maps.models.token_order import find_tested_tokens
from vit_course.maps.models.tokens import Tokens
from vit_course.maps.run_model import first_tensor, pictures_in, run


class InterventionHooks:
    """The hooks that tell an `InterventionMode` which layer of the model runs.

    Args:
        description: of the model.
        interventions: in the order in which they are applied.
        learned: the values for other pictures that are known already.
    """

    def __init__(
        self,
        description: Description,
        interventions: list[Intervention],
        learned: dict[tuple[Intervention, int], torch.Tensor],
    ):
        self.description = description
        self.layers = list(description.blocks.items())
        self.changes: dict[int, list[Intervention]] = {}
        for one in interventions:
            for layer in resolve_indices("layer", one.layers, len(self.layers), one.name):
                self.changes.setdefault(layer, []).append(one)
        self.mode = InterventionMode(description.inside, interventions, learned)
        self.thread = threading.get_ident()
        self.ran: set[int] = set()
        self.images: torch.Size | None = None  # (B, C, H, W) of this pass
        self.cutting: nn.Module | None = None  # the outermost module that cuts the images into patches
        self.passes = 0  # of the model inside, in a call of the module around it
        self.whole = False  # the whole model is running, and not a part of it alone
        self.known: dict[tuple, Tokens] = {}

    def all(self) -> list[HookSpec]:
        """Returns the hooks, to be registered."""
        before, always = {"with_kwargs": True}, {"always_call": True}
        hooks: list[HookSpec] = []
        if self.description.path:
            hooks.append((self.description.model.register_forward_pre_hook, self._begin_call, before))
        for module in self.description.image_takers:
            hooks.append((module.register_forward_pre_hook, self._begin, before))
            hooks.append((module.register_forward_hook, self._end, always))
        for index, (_, block) in enumerate(self.layers):
            for attention in self.description.attention[index].values():
                if index in self.changes:
                    hooks.append((attention.register_forward_hook, self._attended, {}))
            # Layers that are lists of an attention and an MLP are seen to run one after another.
            if isinstance(block, nn.ModuleList) and self.changes:
                for part in block:
                    hooks.append((part.register_forward_pre_hook, partial(self._enter_part, index), before))
                    hooks.append((part.register_forward_hook, partial(self._leave_part, index), always))
            elif index in self.changes:
                hooks.append((block.register_forward_pre_hook, partial(self._enter, index), before))
                # Before the hooks of others, which are to see what is changed.
                hooks.append((block.register_forward_hook, partial(self._leave, index), always | {"prepend": True}))
        return hooks

    def learn(self) -> None:
        """Runs the pictures of the interventions through the unchanged model, and stores their values."""
        known = {one for one, _ in self.mode.learned}
        every = {one for changes in self.changes.values() for one in changes if one.pictures is not None} - known
        for pictures in {id(one.pictures): one.pictures for one in every}.values():
            with torch.no_grad(), unrecorded(), self.mode.learning_from(pictures):
                run(self.description.model, pictures)

    def _here(self) -> bool:
        # Whether this thread runs the model with these interventions, and not with more of them.
        return threading.get_ident() == self.thread and active_mode(self.description.inside) is self.mode

    def _begin_call(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        # A module around the model runs, which may run it several times.
        if self._here():
            self.passes = 0

    def _begin(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        if not self._here() or self.cutting is not None:
            return
        pictures = pictures_in((*args, *kwargs.values()))
        self.cutting, self.whole = module, module is self.description.inside
        self.passes = 1 if module is self.description.model else self.passes + 1
        values = [one for one in self.mode.interventions if one.only_reads or one.pictures is not None]
        if self.passes > 1 and self.description.path and values:
            raise ValueError(
                f"{type(self.description.model).__name__} runs the {self.description.name} inside it several times in "
                "a pass, so its layers have no single value: give the model inside"
            )
        self.images = pictures[0].shape if pictures else None
        self.ran.clear()
        self.mode.abandon()  # the last pass may have stopped within a layer

    def _end(self, module: nn.Module, args: tuple, output: object) -> None:
        if not self._here() or module is not self.cutting:
            return
        is_whole, self.cutting, self.whole = self.whole, None, False
        if output is None or not is_whole:  # the model has raised an exception, or only the image was cut
            return
        self._check_ended()
        if left := sorted(self.changes.keys() - self.ran):
            path = self.layers[left[0]][0]
            raise ValueError(f"layer {left[0]} ({path}) did not run as a module, so nothing was changed there")

    def _enter(self, index: int, block: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if not self._here():
            return None
        path, changes = self.layers[index][0], self.changes.get(index, [])
        if self.whole and index in self.ran:
            raise ValueError(f"layer {index} ({path}) runs more than once in a pass, so it has no single value")
        tokens = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
        if tokens is None or tokens.ndim != 3:
            shape = None if tokens is None else tuple(tokens.shape)
            raise ValueError(f"layer {index} ({path}) takes {shape}, where tokens (B, T, D) are needed")
        if not self.ran and self.images is not None and not self.description.family.is_tested:
            _check_images_first(path, tokens, self.images[0])
        self.ran.add(index)
        size = None if self.images is None else (self.images[2], self.images[3])
        running = RunningLayer(index, path, block, tokens, changes, self._find_tokens, size)
        if isinstance(block, nn.ModuleList):
            running.parts = set(block)
        self.mode.enter(running)
        if running.parts is not None or running.start is None or running.start is tokens:
            return None
        return swap(args, kwargs, tokens, running.start)  # for the hooks of others too

    def _attended(self, module: nn.Module, args: tuple, output: Any) -> None:
        # Marks what the attention gives, so that it is known which branch is added to the tokens.
        if self._here():
            self.mode.mark_attention(first_tensor(output))

    def _enter_part(self, index: int, part: nn.Module, args: tuple, kwargs: dict) -> None:
        # The first part that is called starts the layer.
        running = self.mode.running
        if self._here() and (running is None or running.index != index):
            self._check_ended()
            self._enter(index, self.layers[index][1], args, kwargs)

    def _leave_part(self, index: int, part: nn.Module, args: tuple, output: Any) -> None:
        if self._here():
            self.mode.end_part(part)
            if output is None:  # the part has raised an exception
                self.mode.abandon()

    def _check_ended(self) -> None:
        # Raises if a layer that is a list of parts still runs.
        if (running := self.mode.running) is not None:
            self.mode.abandon()
            raise ValueError(
                f"layer {running.index} ({running.path}) is a list of modules, and no addition of the last one's "
                "output to its tokens, as part(tokens) + tokens, was seen: its end is not known"
            )

    def _leave(self, index: int, block: nn.Module, args: tuple, output: Any) -> Any:
        running = self.mode.running
        if not self._here() or running is None:
            return None
        if output is None:  # the block has raised an exception
            self.mode.abandon()
            return None
        tokens = first_tensor(output)
        if not isinstance(tokens, torch.Tensor) or tokens.shape != running.tokens.shape:
            found = tuple(tokens.shape) if isinstance(tokens, torch.Tensor) else type(tokens).__name__
            raise ValueError(
                f"layer {index} ({running.path}) returns {found} first, where tokens {tuple(running.tokens.shape)} are "
                "needed"
            )
        changed = self.mode.leave(tokens)
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    def _find_tokens(self, num_tokens: int) -> Tokens:
        images = self.images
        if images is None and (size := self.description.image_size):  # only a part of the model runs
            images = torch.Size((1, self.description.channels, *size))
        key = num_tokens, images
        if key not in self.known:
            description = self.description
            first = description.first_attention
            self.known[key] = find_tested_tokens(description.model, description, first, num_tokens, images)
        return self.known[key]


def _check_images_first(path: str, tokens: torch.Tensor, batch: int) -> None:
    # Raises if tokens may be (T, B, D), as in layers of PyTorch without batch_first.
    if len(tokens) != batch:
        raise ValueError(
            f"{path} is given tokens {tuple(tokens.shape)} of {batch} images: the images must be the first axis, "
            "(B, T, D), as with batch_first=True"
        )
    if tokens.shape[1] == batch:
        raise ValueError(f"{path} is given as many tokens as images, {batch}: run another number of images")
