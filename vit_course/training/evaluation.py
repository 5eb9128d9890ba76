"""Loss and accuracy on a part of a dataset."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.data import Dataset, ImageFiles, Images, ImageSet, load_batches
from vit_course.inputs.arguments import check_arguments
from vit_course.inputs.tensors import check_module, finite
from vit_course.training.checking import check_logits, need_kind, none_read
from vit_course.training.processes import Engine, device_of, mine, sum_over_processes


def evaluate(
    model: nn.Module,
    images: Images,
    dataset: Dataset,
    batch_size: int = 500,
    engine: "Engine | None" = None,
    workers: int = 0,
) -> tuple[float, float]:
    """-> (mean cross-entropy, accuracy) of `model` on a part of `dataset`, in eval mode; its own mode is restored.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes).
        images: such as `dataset.validation`.
        dataset: normalises the images.
        batch_size: images at a time.
        engine: of several processes, which then share the images.
        workers: processes that read images ahead, where they are on disk.

    Raises:
        TypeError: not a model, not a part of a dataset, or not a dataset.
        ValueError: a batch_size that is not an int of at least 1, logits of another shape, not one of the images could
            be read, no images, logits that are NaN or infinite, or a worker that died.
        OSError: where the system, and not the file, is the cause that one could not be read.
    """
    loss, accuracy = measured(model, images, dataset, batch_size, engine, workers)
    finite("the loss", torch.tensor(loss))
    return loss, accuracy


@torch.no_grad()
def measured(
    model: nn.Module, images: Images, dataset: Dataset, batch_size: int, engine: "Engine | None", workers: int
) -> tuple[float, float]:
    """As `evaluate`, with a loss of NaN where a logit is NaN or infinite: a training knows what to do then."""
    check_module("model", model)
    need_kind("images", images, ImageSet, ImageFiles)
    need_kind("dataset", dataset, Dataset)
    check_arguments(batch_size=batch_size)
    if not len(images):
        raise ValueError("images must hold at least 1 image to evaluate the model on, got 0")
    device = device_of(model)
    was_training = model.training
    model.eval()
    loss = correct = seen = 0.0
    try:
        batches = torch.arange(len(images)).split(batch_size)
        for batch in load_batches(images, [part[mine(engine)] for part in batches], workers):
            if len(batch) == 0:
                continue
            labels = batch.labels.to(device)
            logits = model(dataset.normalise(batch.images.to(device)))  # (B, num_classes)
            check_logits(logits, batch.images, dataset)
            loss += F.cross_entropy(logits, labels, reduction="sum").item() if logits.isfinite().all() else math.nan
            correct += (logits.argmax(dim=1) == labels).sum().item()
            seen += len(labels)
    finally:
        model.train(was_training)
    loss, correct, seen = sum_over_processes(engine, loss, correct, seen)
    if not seen:
        raise none_read(images, "the evaluation")
    return loss / seen, correct / seen


def images_at_once(images: Images, batch_size: int, accumulate: int) -> int:
    """-> how many images an evaluation takes at a time during a run: 500, which costs little memory without gradients.

    No more than a part of a batch where that is cut by `accumulate`, or where the images are read from disk.
    """
    sparing = accumulate > 1 or isinstance(images, ImageFiles)
    return min(500, -(-batch_size // accumulate)) if sparing else 500
