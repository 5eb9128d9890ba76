"""What is measured of a model for pictures, unchanged and with changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import nn

from vit_course._support.inputs.rules import is_int, shown
from vit_course._support.inputs.tensors import need_finite
from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.interventions.indices import need_indices, resolve_indices
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.models.token_order import find_tested_tokens
from vit_course.maps.models.tokens import Tokens
from vit_course.maps.run_model import logits_of, run

# What is measured: "logits", "class token" or another token by name or index; or a function of what the model returns
# for n rows to n numbers, or one such function for each picture.
Of = str | int | Callable[[Any], torch.Tensor] | Sequence[Callable[[Any], torch.Tensor]]


class Baseline:
    """What a model gives for B pictures, unchanged, and with other changes in each row of a batch.

    `end` is the output that is measured: (B, num_classes) for "logits", (B, D) for a token, (B, T, D) for "tokens", and
    (B,) for a function.
    """

    def __init__(self, model: nn.Module, images: torch.Tensor, of: Of, batch_size: int = 16):
        self.model, self.images, self.of = model, images, of
        self.seen = ForwardPass(model)
        self.num_tokens = 0
        ends = [self._measured([], places) for places in torch.arange(len(images)).split(batch_size)]
        self.end = torch.cat(ends)

    def changed(self, rows: Sequence[Sequence[Intervention]], pictures: Sequence[int] | None = None) -> torch.Tensor:
        """Returns the output (`end`) for n lists of changes, one for each row of a batch.

        Args:
            rows: the changes.
            pictures: the index of the picture in each row; by default the first in all.
        """
        placed = [replace(one, row=row) for row, changes in enumerate(rows) for one in changes]
        return self._measured(placed, torch.tensor([0] * len(rows) if pictures is None else list(pictures)))

    @cached_property
    def tokens(self) -> Tokens:
        """The order of the sequence: prefix tokens and patches."""
        description = self.seen.description
        first, shape = description.first_attention, self.images.shape
        return find_tested_tokens(self.model, description, first, self.num_tokens, shape)

    def _measured(self, changes: list[Intervention], pictures: torch.Tensor) -> torch.Tensor:
        # The output of the pictures with these indices, each row of them with its changes.
        def check(x: torch.Tensor, _: RunningLayer) -> torch.Tensor:
            if len(x) != len(pictures):
                raise ValueError(
                    f"the layers are given {len(x)} sequences for {len(pictures)} pictures, so it is not known which "
                    "belongs to which picture: measure the model inside"
                )
            self.num_tokens = x.shape[1]
            return x

        first = Intervention("effects", "tokens", (0,), check, only_reads=True)
        with intervene(self.model, [first, *changes]), self.seen.listening_to_features():
            out = run(self.model, self.images[pictures.to(self.images.device)])
        return self._end(out, pictures.tolist())  # a function may run the model, unchanged

    def _end(self, out: Any, pictures: list[int]) -> torch.Tensor:
        # The measured output, as `end`, for n rows with these pictures.
        if callable(self.of):
            return need_finite("what of gives", _numbers(self.of, out, len(pictures)))
        if isinstance(self.of, (list, tuple)):
            every = {picture: _numbers(self.of[picture], out, len(pictures)) for picture in set(pictures)}
            found = torch.stack([every[picture][row] for row, picture in enumerate(pictures)])
            return need_finite("what of gives", found)
        if self.of == "logits":
            return logits_of(out)
        features = self.seen.features
        assert features is not None  # the last layer has run
        return features if self.of == "tokens" else features[:, self._token(features.shape[1])]

    def _token(self, count: int) -> int:
        if is_int(self.of):
            return resolve_indices("token", need_indices("token", self.of), count, "of")[0]
        prefix = self.tokens.prefix
        if self.of not in prefix:
            names = ", ".join(map(repr, ("logits", *prefix)))
            raise ValueError(f"of must be {names}, the index of a token or a function, got {shown(self.of)}")
        return prefix.index(str(self.of))


def _numbers(of: Callable[[Any], torch.Tensor], out: Any, count: int) -> torch.Tensor:
    # (n,), what a function gives for the output of n rows.
    made = of(out)
    if not isinstance(made, torch.Tensor) or made.shape != (count,) or made.is_complex():
        found = f"shape {tuple(made.shape)}, {made.dtype}" if isinstance(made, torch.Tensor) else shown(made)
        raise ValueError(
            f"of must be a function from what the model returns for {count} rows to one number for each, "
            f"a tensor of shape ({count},), but it gave {found}"
        )
    return made.double()
