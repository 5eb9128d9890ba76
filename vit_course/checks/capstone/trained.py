"""Exercise capstone.trained: the whole model, trained on the digits."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, refuse
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
        if agree(logits.sum(1), torch.ones(len(test))) and bool((logits >= 0).all()):
            raise Wrong("softmax-in-model", "The ten numbers of each image add up to 1, as after a softmax.")
        if not agree(call(model, test[:1]), logits[:1]):
            raise Wrong("batch-mates-matter", "The logits for one image change with the rest of the batch.")
        right = (logits.argmax(1) == truth).float().mean()
        known = (call(model, images).argmax(1) == labels).float()
    if right < 0.9:
        _too_few(model, steps, right, known)


def _too_few(model: nn.Module, steps: Steps, right: torch.Tensor, known: torch.Tensor) -> None:
    """Raises `Wrong`: why too few digits are read.

    Args:
        model: that came back.
        steps: that were seen; none where the learner moves the weights without an optimiser of PyTorch.
        right: (), the share of unseen digits that are.
        known: (n,), 1 for each training image that is read, else 0.
    """
    share, rates = steps.share_of(model), steps.rates
    looked_at = steps.number and (share or right <= 0.17)  # a copy of the trained model may have been kept
    details = ["Expected: at least 0.90 of 400 unseen digits", f"Received: {right:.3f}"]
    if steps.number:
        low, high = min(rates), max(rates)
        words = f"rate {high:g}" if low == high else f"rates from {low:.2g} to {high:.2g}"
        details.append(f"Seen:     {steps.number} step{'s' * (steps.number > 1)} of an optimiser, {words}")
    refuse(TOO_FEW, dict(steps=steps, right=right, known=known, looked_at=looked_at, share=share, rates=rates), details)


# Why too few digits are read: first by what was seen of the optimiser's steps, where they were those of this model.
TOO_FEW = [
    Slip(
        "other-model-trained",
        "No optimiser was given a parameter of the returned model: other parameters were trained.",
        lambda looked_at, share: looked_at and not share,
    ),
    Slip(
        "step-without-gradients",
        "Each time the optimiser took a step, there were no gradients, or all were 0.",
        lambda looked_at, steps: looked_at and steps.without == steps.number,
    ),
    Slip(
        "trained-in-part",
        "The optimiser was given only some of the model's parameters: {share:.0%} of the numbers.",
        lambda looked_at, share: looked_at and share < 0.9,
    ),
    Slip(
        "few-steps",
        "The optimiser took few steps: one pass over the images in batches of 64 takes 19.",
        lambda looked_at, steps, right: looked_at and steps.number < 30 and right > 0.04,
    ),
    Slip(
        "rate-vanished",
        "The learning rate falls to almost 0 within the first steps.",
        lambda looked_at, rates: (
            looked_at and rates[-1] < 1e-4 * max(rates) and sum(rate > 0.01 * max(rates) for rate in rates) < 40
        ),
    ),
    Slip(
        "below-guessing",
        "The model does worse than guessing: do the steps go downhill, and are the labels in the right order?",
        lambda right: right < 0.04,
    ),
    Slip(
        "learnt-by-heart",
        "The model classifies the training images correctly, but too few of the unseen ones.",
        lambda known, right: known.mean() > (0.8 if right < 0.3 else 0.95),
    ),
    Slip(
        "no-step",
        "No optimiser of PyTorch took a step while your function ran.",
        lambda right, steps: right < 0.17 and not steps.number,
    ),
    Slip("untrained", "The model is about as good as guessing.", lambda right: right < 0.17),
    Slip(
        "few-images",
        (
            "The model gets all of the first 64 training images right, but fewer of the others: were those used "
            "in training?"
        ),
        lambda known: known[:64].all() and known[64:].mean() < 0.9,
    ),
    Slip("half-trained", "The model has learned something, but not enough.", True),
]
