"""A pass of the unchanged model, and passes with changes that begin at the first changed layer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from vit_course._support.inputs.rules import is_int, shown
from vit_course._support.inputs.tensors import need_finite
from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.interventions.indices import ALL, need_indices, resolve_indices
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.models.token_order import find_tested_tokens
from vit_course.maps.models.tokens import Tokens
from vit_course.maps.run_model import logits_of, run

# What is measured: "logits", "class token" or another token by name or index; or a function of what the model returns
# for n rows to n numbers, or one such function for each picture.
Of = str | int | Callable[[Any], torch.Tensor] | Sequence[Callable[[Any], torch.Tensor]]


class Baseline:
    """A pass of the unchanged model on B pictures, and passes with changes that begin at the first changed layer.

    `end` is the output that is measured: (B, num_classes) for "logits", (B, D) for a token, (B, T, D) for "tokens", and
    (B,) for a function.
    """

    def __init__(self, model: nn.Module, images: torch.Tensor, kind: str, of: Of):
        self.model, self.images, self.of = model, images, of
        self.heads: list[int] = []  # their number in each layer, counted if kind is "heads"
        counted = [Intervention(kind, "heads", ALL, self._count)] if kind == "heads" else []
        self.before = ForwardPass(model)
        with intervene(model, counted), self.before.listening():
            out = run(model, images)
        self.end = self._end(self.before, out, list(range(len(images))))

    def changed(
        self, layer: int, rows: Sequence[Sequence[Intervention]], pictures: Sequence[int] | None = None
    ) -> torch.Tensor:
        """Returns the output (`end`) for n lists of changes, one per row of a batch; none may lie before `layer`.

        Args:
            layer, rows: the first layer that is changed, and the changes.
            pictures: the index of the picture in each row; by default the first in all.
        """
        index = [0] * len(rows) if pictures is None else list(pictures)
        placed = [replace(one, row=row) for row, changes in enumerate(rows) for one in changes]
        # The layers before run once for each picture, and not for each row.
        repeated = Intervention("effects", "tokens", (layer,), lambda x, _: x[index])
        after = ForwardPass(self.model)
        with intervene(self.model, [repeated, *placed]), after.listening_to_features():
            out = run(self.model, self.images)
        return self._end(after, out, index)  # a function may run the model, unchanged

    def tokens(self) -> Tokens:
        """Returns the order of the sequence: prefix tokens and patches."""
        description, count = self.before.description, self.before.tokens()[0].shape[1]
        return find_tested_tokens(self.model, description, description.first_attention, count, self.images.shape)

    def _count(self, x: torch.Tensor, _: RunningLayer) -> torch.Tensor:
        self.heads.append(x.shape[1])  # (B, h, T, d)
        return x

    def _end(self, seen: ForwardPass, out: Any, pictures: list[int]) -> torch.Tensor:
        # The measured output of a pass, as `end`, for n rows with these pictures.
        if callable(self.of):
            return need_finite("what of gives", _numbers(self.of, out, len(pictures)))
        if isinstance(self.of, (list, tuple)):
            every = torch.stack([_numbers(one, out, len(pictures)) for one in self.of])  # (B, n)
            return need_finite("what of gives", every[pictures, range(len(pictures))])
        if self.of == "logits":
            return logits_of(out)
        assert seen.features is not None  # the last layer has run
        return seen.features if self.of == "tokens" else seen.features[:, self._token(seen.features.shape[1])]

    def _token(self, count: int) -> int:
        if is_int(self.of):
            return resolve_indices("token", need_indices("token", self.of), count, "of")[0]
        prefix = self.tokens().prefix
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
