"""The means of a model's activations over pictures, which interventions put in place of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from vit_course.maps.interventions.intervention import RunningLayer


@dataclass(frozen=True, eq=False, repr=False)
class MeanActivations:
    """The result of `mean_activations`; printed, it says of what and of how many pictures the means are.

    Args:
        values: the means by place, a list with one tensor for each of the L layers: outputs of the "heads" (h, T, d);
            attention "weights" (h, T, T); "queries", "keys" and "values" (h, T, d); "neurons" (T, M); what the
            "attention", the "mlp" or the whole "layer" adds to the tokens, (T, D). `torch.stack(means.values["heads"])`
            is (L, h, T, d).
        count: of how many pictures.
        image_size: (H, W) of the pictures.
        layers: the layers of the model that has run, in their order.
    """

    values: dict[str, list[torch.Tensor]]
    count: int
    image_size: tuple[int, int]
    layers: tuple[nn.Module, ...]

    def __repr__(self) -> str:
        height, width = self.image_size
        return f"means of {', '.join(self.values)} over {self.count} pictures of {height} x {width}"

    def filling(self, place: str) -> Callable[[torch.Tensor, RunningLayer], torch.Tensor]:
        """Returns the function from the present value at a place, (B, ...), to the mean there, in the same shape.

        Raises:
            ValueError: a place without means; and the function does, where another model or another layer runs,
                pictures have another size, or tokens another number.
        """
        if place not in self.values:
            raise ValueError(f"by has no means of {place!r}, only of {', '.join(self.values)}")
        return partial(self._fill, place)

    def _fill(self, place: str, x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        if at.index >= len(self.layers) or self.layers[at.index] is not at.block:
            raise ValueError(f"by has the means of another model: its layer {at.index} is not the one that runs here")
        if at.image_size not in (None, self.image_size):
            sizes = " and ".join(f"{height} x {width}" for height, width in (self.image_size, at.image_size))
            raise ValueError(f"the means, position by position, and the pictures must be of one size, got {sizes}")
        mean = self.values[place][at.index]
        if mean.shape != x.shape[1:]:
            raise ValueError(
                f"the mean of {place!r} has shape {tuple(mean.shape)}, but {tuple(x.shape[1:])} is needed here"
            )
        return mean.to(x).expand_as(x)
