"""One forward pass, with the tokens between its layers, and what follows the layers for other tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vit_course.maps.hooks import hooked
from vit_course.maps.interventions.indices import ALL
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.models.description import need_description
from vit_course.maps.run_model import run


class ForwardPass:
    """Records the tokens between the layers of a model, in the last pass that ran.

    Args:
        model: as in `intervene`.

    Raises:
        ValueError: as `intervene`.
    """

    def __init__(self, model: nn.Module):
        self.model = model
        self.description = need_description(model)
        self.entered: torch.Tensor | None = None
        self.outputs: list[torch.Tensor] = []
        self.features: torch.Tensor | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Records what the model computes inside the with block, after the changes of a block around this one.

        Afterwards `entered` has the tokens (B, T, D) that enter the first layer, `outputs` those that leave each layer,
        and `features` those behind the last layer and, if all tokens go through one, the last norm.
        """
        heard = [
            Intervention("ForwardPass", "tokens", (0,), self._enter, only_reads=True),
            Intervention("ForwardPass", "output", ALL, self._leave, only_reads=True),
        ]
        with self.listening_to_features(), intervene(self.model, heard):
            yield

    @contextmanager
    def listening_to_features(self) -> Iterator[None]:
        """As `listening`, for the `features` alone."""
        if (norm := self.description.norm) is not None:
            with hooked([(norm.register_forward_hook, self._keep_features, {})]):
                yield
            return
        last = (len(self.description.blocks) - 1,)
        with intervene(self.model, [Intervention("ForwardPass", "output", last, self._end, only_reads=True)]):
            yield

    def tokens(self) -> list[torch.Tensor]:
        """Returns L + 1 tensors (B, T, D): the tokens that enter the first layer, and the outputs of the L layers."""
        return [] if self.entered is None else [self.entered, *self.outputs]

    def read(self, images: torch.Tensor, tokens: torch.Tensor) -> Any:
        """Returns the output of what follows the layers, such as the last norm and the head, for other tokens.

        Args:
            images: (B, C, H, W), as the model takes them.
            tokens: (n, T, D) in place of those that leave the last layer.
        """
        last = (len(self.description.blocks) - 1,)
        with intervene(self.model, [Intervention("ForwardPass", "output", last, lambda *_: tokens)]):
            return run(self.model, images)

    def _enter(self, x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        self.entered, self.outputs = x.detach().clone(), []  # the next layer may add to it in place
        return x

    def _leave(self, x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        self.outputs.append(x.detach().clone())
        return x

    def _keep_features(self, norm: nn.Module, args: tuple, output: torch.Tensor) -> None:
        self.features = output.detach().clone()

    def _end(self, x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        self.features = x.detach().clone()
        return x
