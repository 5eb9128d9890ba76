"""Loss and accuracy on a part of a dataset."""

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import check_module, need_finite
from vit_course.data import Dataset, ImageFiles, Images, ImageSet, load_batches
from vit_course.training.checking import check_kind, none_read
from vit_course.training.objective import Objective
from vit_course.training.processes import Engine, device_of, mine, sum_over_processes
from vit_course.training.supervised import Supervised


def evaluate(
    model: nn.Module,
    images: Images,
    dataset: Dataset,
    batch_size: int = 500,
    engine: "Engine | None" = None,
    workers: int = 0,
) -> tuple[float, float]:
    """Returns (mean cross-entropy, accuracy) of `model` on a part of `dataset`, in eval mode; its own mode is restored.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes).
        images: such as `dataset.validation`.
        dataset: normalises the images.
        batch_size: images at a time.
        engine: for several processes, which then share the images.
        workers: processes that read images ahead, where they are on disk.

    Raises:
        TypeError: not a model, not a part of a dataset, or not a dataset.
        ValueError: a batch_size that is not an int of at least 1, logits of another shape, not one of the images could
            be read, no images, logits that are NaN or infinite, or a worker that died.
        OSError: an image that cannot be read for a reason outside its file.
    """
    check_module("model", model)
    check_kind("dataset", dataset, Dataset)
    objective = Supervised(model, dataset).train(model.training)
    found = measured(objective, images, dataset, batch_size, engine, workers)
    need_finite("the loss", torch.tensor(found["loss"]))
    return found["loss"], found["accuracy"]


@torch.no_grad()
def measured(
    objective: Objective, images: Images, dataset: Dataset, batch_size: int, engine: "Engine | None", workers: int
) -> dict[str, float]:
    """Returns the mean loss and the mean of each measure of an objective, always with the same random numbers.

    The loss may be NaN or infinite, which the training loop checks. The arguments are those of `evaluate`.
    """
    check_kind("images", images, ImageSet, ImageFiles)
    check_arguments(batch_size=batch_size)
    if not len(images):
        raise ValueError("images must hold at least 1 image to evaluate the model on, got 0")
    if objective.whole_batches:
        engine = None  # every process evaluates all images, as a part of a batch would have another loss
    device, generator = device_of(objective), torch.Generator().manual_seed(0)
    was_training = objective.training
    objective.eval()
    sums, seen = dict.fromkeys(("loss", *objective.measures), 0.0), 0.0
    try:
        batches = torch.arange(len(images)).split(batch_size)
        draws = (objective.draws(len(batch), generator)[mine(engine)] for batch in batches)
        loaded = load_batches(images, [part[mine(engine)] for part in batches], workers)
        for batch, draw in zip(loaded, draws, strict=True):
            if len(batch) == 0:
                continue
            draw = draw if batch.kept is None else draw[batch.kept]
            given = dataset.normalise(batch.images.to(device)), objective.targets(batch).to(device), draw.to(device)
            loss, measures = objective(*given, len(batch))
            sums["loss"] += loss.item() * len(batch)
            for name, values in measures.items():
                sums[name] += values.sum().item()
            seen += len(batch)
    finally:
        objective.train(was_training)
    *totals, seen = sum_over_processes(engine, *sums.values(), seen)
    if not seen:
        raise none_read(images, "the evaluation")
    return {name: total / seen for name, total in zip(sums, totals, strict=True)}


def images_at_once(images: Images, batch_size: int, accumulate: int) -> int:
    """Returns the batch size of an evaluation during a run: 500, which costs little memory without gradients.

    If batches are split by `accumulate`, or images are read from disk, it is at most one part of a batch.
    """
    sparing = accumulate > 1 or isinstance(images, ImageFiles)
    return min(500, -(-batch_size // accumulate)) if sparing else 500
