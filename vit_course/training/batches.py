"""The training images of a run, in batches and parts of batches; and sums of losses and measures over an epoch."""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from vit_course.data import Dataset, ImageSet, cut_out, load_batches, random_places, random_shifts, shift_images
from vit_course.training.augmentation import mix_up, rand_augment
from vit_course.training.objective import Objective
from vit_course.training.processes import Engine, mine, sum_over_processes
from vit_course.training.recipe import TrainingConfig


@dataclass(frozen=True)
class Part:
    """The images of one forward pass: this process's share of a batch, or of a part of it.

    Args:
        images: (B, C, H, W), normalised and augmented, on the device of the run.
        labels: (B,), or mixed (B, K).
        draws: (B, k), the objective's random numbers.
        count: B, or 0 if no image could be read; the part then has one placeholder image that does not count.
        batch_size: images of the whole batch, in all its parts and processes.
        weight: the factor for the mean loss of the part, so that the parts add up to the mean over the batch.
        last: whether it is the last of its batch.
    """

    images: torch.Tensor
    labels: torch.Tensor
    draws: torch.Tensor
    count: int
    batch_size: int
    weight: float
    last: bool

    def exchange(self, engine: Engine, model: nn.Module):
        """A context in which processes exchange gradients only for the last part of a batch."""
        return nullcontext() if self.last else engine.no_sync(model)


class Batches:
    """The batches of each epoch, in an order that depends on the seed.

    Args:
        dataset: whose training images these are.
        config: the recipe: batch size, augmentation, seed.
        objective: draws random numbers for each image.
        engine: of the processes that share each batch, and the device.
        accumulate: in how many parts a batch goes through the model.
        workers: processes that read images ahead, where they are on disk.

    `generator` draws order and augmentation; its state is saved, so that a run can be resumed.
    """

    def __init__(
        self,
        dataset: Dataset,
        config: TrainingConfig,
        objective: Objective,
        engine: Engine,
        accumulate: int,
        workers: int,
    ):
        self.dataset, self.config, self.objective, self.engine = dataset, config, objective, engine
        self.accumulate, self.workers = accumulate, workers
        self.generator = torch.Generator().manual_seed(config.seed)

    def __len__(self) -> int:
        """How many batches an epoch has; the last one may be shorter."""
        return math.ceil(len(self.dataset.train) / self.config.batch_size)

    def epoch(self) -> Iterator[Iterator[Part]]:
        """Yields the batches of one epoch, each as its parts; consume the parts of one before asking for the next."""
        order = torch.randperm(len(self.dataset.train), generator=self.generator)
        batches = order.split(self.config.batch_size)
        wanted = [part[mine(self.engine)] for batch in batches for part in batch.chunk(self.accumulate)]
        loaded = load_batches(self.dataset.train, wanted, self.workers)
        for batch in batches:
            changes = self._changes(len(batch)).chunk(self.accumulate)
            draws = self.objective.draws(len(batch), self.generator).chunk(self.accumulate)
            yield self._parts(loaded, changes, draws)

    def _changes(self, count: int) -> torch.Tensor:
        # (B, 3), or (B, 5) with cutout, and two seeds for RandAugment and mixup. All processes draw for the whole
        # batch, so that each image changes as it would in one process.
        changes = random_shifts(count, self.config.padding, self.config.flip, self.generator)
        if self.config.cutout:
            changes = torch.cat([changes, random_places(count, self.dataset.image_size, self.generator)], dim=1)
        if self.config.randaugment or self.config.mixup:
            changes = torch.cat([changes, torch.randint(2**63 - 1, (count, 2), generator=self.generator)], dim=1)
        return changes

    def _parts(
        self, loaded: Iterator[ImageSet], changes: tuple[torch.Tensor, ...], draws: tuple[torch.Tensor, ...]
    ) -> Iterator[Part]:
        batch_size = sum(len(draw) for draw in draws)
        for i, numbers in enumerate(zip(changes, draws, strict=True)):
            read = next(loaded)
            kept = slice(None) if read.kept is None else read.kept
            change, draw = (rows[mine(self.engine)][kept] for rows in numbers)
            images, labels = self._augmented(read, change)
            if not len(read):  # a placeholder, as every process must exchange gradients
                images, labels, draw = (x.new_zeros(1, *x.shape[1:]) for x in (images, labels, draw))
            weight = self.engine.num_processes * len(read) / batch_size  # the exchange divides by num_processes
            draw = draw.to(self.engine.device)
            yield Part(images, labels, draw, len(read), batch_size, weight, last=i == len(draws) - 1)

    def _augmented(self, read: ImageSet, change: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        device, config = self.engine.device, self.config
        images, labels = (
            shift_images(read.images, change[:, :3], config.padding),
            self.objective.targets(read).to(device),
        )
        if config.randaugment and len(read):
            images = rand_augment(images, change[:, -2], config.randaugment)
        images = self.dataset.normalise(images.to(device))
        if config.cutout:
            images = cut_out(images, change[:, 3:5], config.cutout)
        if config.mixup and len(read):
            images, labels = mix_up(images, labels, change[0, -1], config.mixup, len(self.dataset.class_names))
        return images, labels


class Sums:
    """Sums of the losses and measures of one epoch.

    Args:
        engine: of the processes that share each batch.
        measures: the names of what the objective measures.
    """

    def __init__(self, engine: Engine, measures: tuple[str, ...]):
        self.engine = engine
        self.losses, self.measured, self.seen = 0.0, dict.fromkeys(measures, 0.0), 0
        self._begin_batch()

    def add(self, part: Part, loss: torch.Tensor, measures: dict[str, torch.Tensor]) -> None:
        """Adds one part of a batch: its mean loss, and the values (B,) of each measure."""
        self._loss = self._loss + loss.detach() * part.count
        for name, values in measures.items():
            self._measured[name] += values[: part.count].sum().item()
        self._count += part.count
        self._batch_size = part.batch_size

    def end_of_batch(self, model: nn.Module) -> torch.Tensor:
        """Returns the summed loss of the batch over all processes, and corrects the gradients of `model`.

        How many images could not be read is known only now: the gradients become those of the mean over the others.
        """
        loss, read = self.engine.reduce(torch.stack([self._loss, self._loss.new_tensor(self._count)]))
        if 0 < read < self._batch_size:
            for gradient in [p.grad for p in model.parameters() if p.grad is not None]:
                gradient *= self._batch_size / read.item()
        self.losses, self.seen = self.losses + loss.item(), self.seen + self._count
        for name, value in self._measured.items():
            self.measured[name] += value
        self._begin_batch()
        return loss

    def means(self) -> dict[str, float]:
        """Returns train_loss and the measures of the epoch. From here on `seen` counts the images of all processes."""
        *sums, self.seen = sum_over_processes(self.engine, *self.measured.values(), self.seen)
        count = max(1, self.seen)
        measured = {f"train_{name}": value / count for name, value in zip(self.measured, sums, strict=True)}
        return {"train_loss": self.losses / count, **measured}

    def _begin_batch(self) -> None:
        self._loss, self._count = torch.zeros((), device=self.engine.device), 0
        self._measured = dict.fromkeys(self.measured, 0.0)
