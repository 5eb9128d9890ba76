"""Exercise capstone.trained: the whole model, trained on the digits."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import refuse
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
    refuse(__name__, "too-few", locals(), details)
