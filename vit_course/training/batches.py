"""The training images of a run, batch by batch and part by part; and what the model made of them, added up."""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from vit_course.data import Dataset, ImageSet, cut_out, load_batches, random_places, random_shifts, shift_images
from vit_course.training.processes import Engine, mine, sum_over_processes
from vit_course.training.recipe import TrainingConfig


@dataclass(frozen=True)
class Part:
    """What goes through the model at once: this process's share of a batch, or of a part of it.

    Args:
        images: (B, C, H, W), normalised and augmented, on the device of the run.
        labels: (B,).
        count: B, or 0 where no image could be read; there is one then that counts for nothing.
        batch_size: images of the whole batch, in all its parts and processes.
        weight: by which the mean loss of the part is multiplied to add up to the mean over the batch.
        last: whether it is the last of its batch.
    """

    images: torch.Tensor
    labels: torch.Tensor
    count: int
    batch_size: int
    weight: float
    last: bool

    def exchange(self, engine: Engine, model: nn.Module):
        """The processes exchange their gradients once a batch, with its last part."""
        return nullcontext() if self.last else engine.no_sync(model)


class Batches:
    """The batches of each epoch, in an order that the seed rules.

    Args:
        dataset: whose training images these are.
        config: the recipe: batch size, augmentation, seed.
        engine: of the processes that share each batch, and the device.
        accumulate: in how many parts a batch goes through the model.
        workers: processes that read images ahead, where they are on disk.

    `generator` draws order and augmentation; with its state a run goes on where it was.
    """

    def __init__(self, dataset: Dataset, config: TrainingConfig, engine: Engine, accumulate: int, workers: int):
        self.dataset, self.config, self.engine = dataset, config, engine
        self.accumulate, self.workers = accumulate, workers
        self.generator = torch.Generator().manual_seed(config.seed)

    def __len__(self) -> int:
        """How many batches an epoch has; the last one may be shorter."""
        return math.ceil(len(self.dataset.train) / self.config.batch_size)

    def epoch(self) -> Iterator[Iterator[Part]]:
        """The batches of one epoch, each as its parts; use up the parts of one before asking for the next."""
        order = torch.randperm(len(self.dataset.train), generator=self.generator)
        batches = order.split(self.config.batch_size)
        wanted = [part[mine(self.engine)] for batch in batches for part in batch.chunk(self.accumulate)]
        loaded = load_batches(self.dataset.train, wanted, self.workers)
        for batch in batches:
            yield self._parts(loaded, self._draws(len(batch)).chunk(self.accumulate))

    def _draws(self, count: int) -> torch.Tensor:
        # (B, 3), or (B, 5) with cutout. All processes draw for the whole batch, so that each image changes as it would
        # in one process.
        draws = random_shifts(count, self.config.padding, self.config.flip, self.generator)
        if self.config.cutout:
            draws = torch.cat([draws, random_places(count, self.dataset.image_size, self.generator)], dim=1)
        return draws

    def _parts(self, loaded: Iterator[ImageSet], draws: tuple[torch.Tensor, ...]) -> Iterator[Part]:
        batch_size = sum(len(draw) for draw in draws)
        for i, draw in enumerate(draws):
            read = next(loaded)
            draw = draw[mine(self.engine)]
            images, labels = self._augmented(read, draw if read.kept is None else draw[read.kept])
            if not len(read):  # every process takes part in the exchange, with an image that counts for nothing
                images, labels = images.new_zeros(1, *images.shape[1:]), labels.new_zeros(1)
            weight = self.engine.num_processes * len(read) / batch_size  # the exchange divides by their number
            yield Part(images, labels, len(read), batch_size, weight, last=i == len(draws) - 1)

    def _augmented(self, read: ImageSet, draw: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        device = self.engine.device
        images = self.dataset.normalise(shift_images(read.images, draw[:, :3], self.config.padding).to(device))
        if self.config.cutout:
            images = cut_out(images, draw[:, 3:], self.config.cutout)
        return images, read.labels.to(device)


class Sums:
    """Of one epoch.

    Args:
        engine: of the processes that share each batch.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.losses, self.correct, self.seen = 0.0, 0, 0
        self._begin_batch()

    def add(self, part: Part, loss: torch.Tensor, logits: torch.Tensor) -> None:
        """Takes one part of a batch: its mean loss and its answers (B, num_classes)."""
        self._loss = self._loss + loss.detach() * part.count
        self._right += (logits.argmax(dim=1) == part.labels)[: part.count].sum().item()
        self._count += part.count
        self._batch_size = part.batch_size

    def end_of_batch(self, model: nn.Module) -> torch.Tensor:
        """-> the sum of the losses of the batch over all processes; the gradients of `model` become its mean.

        Where some images could not be read, only now is it known how many: the mean is that over the others.
        """
        loss, read = self.engine.reduce(torch.stack([self._loss, self._loss.new_tensor(self._count)]))
        if 0 < read < self._batch_size:
            for gradient in [p.grad for p in model.parameters() if p.grad is not None]:
                gradient *= self._batch_size / read.item()
        self.losses, self.correct, self.seen = (
            self.losses + loss.item(), self.correct + self._right, self.seen + self._count
        )  # fmt: skip
        self._begin_batch()
        return loss

    def means(self) -> dict[str, float]:
        """-> train_loss and train_accuracy of the epoch. From here on `seen` counts the images of all processes."""
        self.correct, self.seen = sum_over_processes(self.engine, self.correct, self.seen)
        count = max(1, self.seen)
        return {"train_loss": self.losses / count, "train_accuracy": self.correct / count}

    def _begin_batch(self) -> None:
        self._loss, self._right, self._count = torch.zeros((), device=self.engine.device), 0, 0
