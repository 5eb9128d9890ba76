"""One forward pass of a model, recorded block by block, and passes that continue from its outputs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vit_course.maps.anatomy import Anatomy
from vit_course.maps.encoder_blocks import parts_of
from vit_course.maps.hooks import hooked
from vit_course.maps.intervene import ALL, intervene
from vit_course.maps.intervention import Intervention, RunningLayer
from vit_course.maps.run_model import Skipped, first_tensor, run


class ForwardPass:
    """Records what a model computes, block by block.

    Args:
        anatomy: of the model.

    The blocks of some models, as vit-pytorch's, are no modules of their own; they are heard as interventions are made.

    `entered` are the tokens (B, T, D) that enter the first block, `outputs` the return values of the blocks, and
    `features` the tokens (B, T, D) after the last block and, if there is one, the last norm: the output of the last
    module after the blocks that has this shape. Before the model has run, they are None or empty.
    """

    def __init__(self, anatomy: Anatomy):
        self.model = anatomy.model
        self.blocks = list(anatomy.blocks.values())
        self.apart = any(map(parts_of, self.blocks))
        inside = {module for block in self.blocks for module in block.modules()}
        self.behind = [self.blocks[-1], *(module for module in anatomy.paths if module not in inside)]
        self.entered: torch.Tensor | None = None
        self.outputs: list = []
        self.calls = 0  # of blocks
        self.features: torch.Tensor | None = None

    @contextmanager
    def listening(self, to_blocks: bool = True) -> Iterator[None]:
        """Records what the model computes in this thread inside the with block; without `to_blocks` only `features`."""
        if self.apart:
            with intervene(self.model, self._heard()), _hooked(self.behind, self._follow):
                yield
            return
        blocks = self.blocks if to_blocks else []
        with (
            _hooked(blocks[:1], self._enter, before=True),
            _hooked(blocks, self._leave),
            _hooked(self.behind, self._follow),
        ):
            yield

    def tokens(self) -> list[torch.Tensor]:
        """Returns L + 1 tensors (B, T, D): the tokens that enter the first block, and the outputs of the L blocks."""
        return [] if self.entered is None else [self.entered, *map(first_tensor, self.outputs)]

    @property
    def whole(self) -> bool:
        """Whether every block has run once and given tokens of the shape that entered, which heads do not."""
        tokens = self.tokens()
        shapes = {x.shape if isinstance(x, torch.Tensor) else None for x in tokens}
        return len(tokens) == self.calls + 1 == len(self.blocks) + 1 and len(shapes) == 1

    def check_whole(self) -> None:
        """Raises a `ValueError` if `whole` is False."""
        if not self.whole:
            raise ValueError(
                f"the layers of {type(self.model).__name__} do not each run once in a pass, with tokens (B, T, D) in "
                "and out, so a pass cannot continue from them"
            )

    def continued(self, images: torch.Tensor, outputs: list) -> Any:
        """Runs the model with its first blocks skipped: these outputs stand in for them. Returns the model's output.

        Blocks that are no modules of their own run, and the last of the outputs replaces theirs.
        """
        if self.apart:
            put = Intervention("continued", "output", (len(outputs) - 1,), lambda *_: outputs[-1].clone())
            with intervene(self.model, [put] if outputs else []):
                return run(self.model, images)
        with _skipped(self.blocks, outputs):
            return run(self.model, images)

    def read(self, images: torch.Tensor, tokens: torch.Tensor) -> Any:
        """Returns the output of what follows the blocks, such as the last norm and the head, for tokens (B, T, D).

        Args:
            images: (B, C, H, W), from which a model may take the size of its batch.
            tokens: in place of those that leave the last block.
        """
        outputs = [(tokens, *one[1:]) if isinstance(one, tuple) else tokens for one in self.outputs]
        return self.continued(images, outputs)

    def _heard(self) -> list[Intervention]:
        def enter(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
            self._enter(at.block, (x,), {})
            return x

        def leave(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
            self._leave(at.block, (), x)
            self._follow(self.blocks[at.index], (), x)
            return x

        return [
            Intervention("ForwardPass", "tokens", (0,), enter, heard=True),
            Intervention("ForwardPass", "output", ALL, leave, heard=True),
        ]

    def _enter(self, block: nn.Module, args: tuple, kwargs: dict) -> None:
        tokens = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
        self.entered, self.outputs = None if tokens is None else tokens.detach().clone(), []

    def _leave(self, block: nn.Module, args: tuple, output: Any) -> None:
        self.calls += 1
        if not isinstance(first_tensor(output), torch.Tensor):
            self.outputs.append(None)
            return
        x = first_tensor(output).detach().clone()  # the next block may add to it in place
        self.outputs.append((x, *output[1:]) if isinstance(output, tuple) else x)

    def _follow(self, module: nn.Module, args: tuple, output: Any) -> None:
        x = first_tensor(output)
        if isinstance(x, torch.Tensor) and (
            module is self.blocks[-1] or (self.features is not None and x.shape == self.features.shape)
        ):
            self.features = x.detach().clone()


def logits_of(out: object) -> torch.Tensor:
    """Returns the logits (B, num_classes) from the output of a model of any library.

    Raises:
        ValueError: the output has no logits.
    """
    logits = out if isinstance(out, torch.Tensor) else getattr(out, "logits", None)
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2:
        found = f"shape {tuple(logits.shape)}" if isinstance(logits, torch.Tensor) else type(out).__name__
        raise ValueError(f"the model must give logits (B, num_classes), but it gives {found}")
    return logits


@contextmanager
def _hooked(modules: list[nn.Module], hook: Callable, before: bool = False) -> Iterator[None]:
    thread = threading.get_ident()

    def here(*given):
        if threading.get_ident() == thread:
            hook(*given)

    with hooked(
        (module.register_forward_pre_hook, here, {"with_kwargs": True})
        if before
        else (module.register_forward_hook, here, {})
        for module in modules
    ):
        yield


@contextmanager
def _skipped(blocks: list[nn.Module], outputs: list) -> Iterator[None]:
    # In this thread, the first blocks return these outputs.
    own = [(block, block.__dict__.get("forward")) for block, _ in zip(blocks, outputs, strict=False)]
    for (block, _), output in zip(own, outputs, strict=True):
        block.forward = Skipped(block.forward, output)
    try:
        yield
    finally:
        for block, forward in own:
            del block.forward
            if forward is not None:
                block.forward = forward
