"""Exercise capstone.trained: the whole model, trained on the digits."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, refuse
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.checks.tools.watched_steps import Steps, watched_steps
from vit_course.data import digits


def trained(answer):
    """`answer(images, labels)` -> a trained module (B, 1, 8, 8) -> (B, 10); images and labels of digits."""
    data = digits()
    images, labels = data.normalise(data.train.images), data.train.labels
    with watched_steps() as steps:
        model = call(answer, images, labels)
    if model is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(model, nn.Module):
        details = ["Expected: a trained nn.Module", f"Received: {type(model).__name__}"]
        raise Wrong("not-a-module", "The returned value is not a model.", details)
    test, truth = data.normalise(data.test.images), data.test.labels
    with torch.no_grad():
        logits = call(model, test)
        if isinstance(logits, torch.Tensor) and logits.shape == (len(test),):
            raise Wrong("one-number-an-image", "The model gives one number for each image, not one for each class.")
        logits = tensor(logits, (len(test), 10), "(B, 10)", "the output")
        if not agree(call(model, test), logits):
            why = ": it is in training mode" if any(part.training for part in model.modules()) else ""
            raise Wrong("random-result", f"The returned model gives two different results for the same image{why}.")
        # The next two models may well read 90 %, but neither gives logits of one image.
        if agree(logits.sum(1), torch.ones(len(test))) and bool((logits >= 0).all()):
            raise Wrong("softmax-in-model", "The ten numbers of each image add up to 1, as after a softmax.")
        if not agree(call(model, test[:1]), logits[:1]):
            raise Wrong("batch-mates-matter", "The logits for one image change with the rest of the batch.")
        right = (logits.argmax(1) == truth).float().mean()
        known = (call(model, images).argmax(1) == labels).float()
    if right < 0.9:
        _refuse_too_few(steps, right, known)


def _refuse_too_few(steps: Steps, right: torch.Tensor, known: torch.Tensor) -> None:
    """Raises `Wrong`: why too few digits are read.

    Args:
        steps: that were seen; none where the learner moves the weights without an optimiser of PyTorch.
        right: (), the share of unseen digits that are.
        known: (n,), 1 for each training image that is read, else 0.
    """
    details = ["Expected: at least 0.90 of 400 unseen digits", f"Received: {right:.3f}"]
    if steps.number:
        low, high = min(steps.rates), max(steps.rates)
        words = f"rate {high:g}" if low == high else f"rates from {low:.2g} to {high:.2g}"
        details.append(f"Seen:     {steps.number} step{'s' * (steps.number > 1)} of an optimiser, {words}")
    refuse(TOO_FEW, details, steps=steps.number, right=right, known=known)
    raise Wrong("half-trained", "The model has learned something, but not enough.", details)


# Why too few digits are read.
TOO_FEW = [
    Mistake(
        "few-steps",
        "The optimiser took few steps: one pass over the images in batches of 64 takes 19.",
        lambda seen: 0 < seen.steps < 30 and seen.right > 0.04,
    ),
    Mistake(
        "below-guessing",
        "The model does worse than guessing: do the steps go downhill, and are the labels in the right order?",
        lambda seen: seen.right < 0.04,
    ),
    Mistake(
        "no-step",
        "No optimiser of PyTorch took a step while your function ran.",
        lambda seen: seen.right < 0.17 and not seen.steps,
    ),
    Mistake("untrained", "The model is about as good as guessing.", lambda seen: seen.right < 0.17),
    Mistake(
        "few-images",
        "The model gets all of the first 64 training images right, but fewer of the others: were all of them used?",
        lambda seen: seen.known[:64].all() and seen.known[64:].mean() < 0.9,
    ),
]
