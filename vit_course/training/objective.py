"""The interface between the loop and an objective: a loss for a batch, and measures for the log."""

import torch
from torch import nn

from vit_course.data.sets import ImageSet
from vit_course.training.processes import Engine


def full_precision(values: torch.Tensor) -> torch.Tensor:
    """Returns the values in float32 if mixed precision gave them fewer bits; float64 stays float64."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


class Objective(nn.Module):
    """(B, C, H, W), (B,), (B, k), int -> (), {name: (B,)}

    From images, targets, random numbers and a count to the mean loss, and one number per image for each measure.

    Args:
        model: what is trained and kept; the course's objectives other than `Supervised` need a `ViT`.
        options: further settings by name, stored with the run and compared on resuming.

    `count` is B, or 0 if the only image is a placeholder. The loss is a float32 number, whatever the precision,
    or a float64 number for a float64 model.
    """

    name = "objective"
    keeps = "model"
    unused: tuple[str, ...] = ()
    """How the names of those parameters of `model` begin that get no gradient."""
    measures: tuple[str, ...] = ()
    """The log has of each, as of the loss, train_... and validation_...: the mean over the images."""
    whole_batches = False
    """Whether the loss compares the images of a batch with one another, so that a batch cannot be computed in parts."""
    changes_meaning: tuple[str, ...] = ()
    """The settings of a `TrainingConfig` that would make the targets false."""

    def __init__(self, model: nn.Module, **options):
        super().__init__()
        self.model, self.options = model, options

    @property
    def kept(self) -> nn.Module:
        """The model whose weights are the result."""
        return getattr(self, self.keeps)

    def rest(self) -> dict[str, torch.Tensor]:
        """Returns the weights outside the kept model, by name: a decoder, a student, heads."""
        return {name: value for name, value in self.state_dict().items() if not name.startswith(f"{self.keeps}.")}

    def targets(self, images: ImageSet) -> torch.Tensor:
        """Returns (B,) or (B, L): what the images are trained on, by default their labels."""
        return images.labels

    def draws(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Returns (count, k): the random numbers of each image, which are the same with one process or several."""
        return torch.zeros(count, 0)

    def after_step(self, share: float, engine: Engine) -> None:
        """Called after each step of the optimiser; `share` is the share of all steps that are done."""

    def is_best(self, history: list[dict]) -> bool:
        """Whether the last of these epochs gave the best weights, to be kept. Without labels, it always does."""
        return True
