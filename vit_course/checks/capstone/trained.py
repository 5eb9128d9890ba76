"""Exercise capstone.trained: the whole model, trained on the digits."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.data import digits


@exercise("Trained", section="Six steps, six checks", difficulty=2, minutes=15, seconds=60)
def trained(answer):
    """`answer(images, labels)` -> a trained module (B, 1, 8, 8) -> (B, 10); images and labels of digits."""
    data = digits()
    images, labels = data.normalise(data.train.images), data.train.labels
    model = call(answer, images, labels)
    if model is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(model, nn.Module):
        raise Wrong(
            "not-a-module",
            "Not a model came back.",
            ["Expected: a trained nn.Module", f"Received: {type(model).__name__}"],
        )
    test, truth = data.normalise(data.test.images), data.test.labels
    with torch.no_grad():
        logits = call(model, test)
        if isinstance(logits, torch.Tensor) and logits.shape == (len(test),):
            raise Wrong("one-number-an-image", "The model gives one number for each image, not one for each class.")
        logits = tensor(logits, (len(test), 10), "(B, 10)", "the output")
        if not agree(call(model, test), logits):
            why = ": it is in training mode" if any(part.training for part in model.modules()) else ""
            raise Wrong("random-result", f"The model that came back gives two results for one image{why}.")
        if agree(logits.sum(1), torch.ones(len(test))) and bool((logits >= 0).all()):
            raise Wrong("softmax-in-model", "The ten numbers of each image add up to 1, as after a softmax.")
        if not agree(call(model, test[:1]), logits[:1]):
            raise Wrong("batch-mates-matter", "What the model says of one image changes with the rest of the batch.")
        hits = (logits.argmax(1) == truth).float()
        known = (call(model, images).argmax(1) == labels).float()
    if hits.mean() < 0.9:
        raise _too_few(hits.mean(), known)


def _too_few(right: torch.Tensor, known: torch.Tensor) -> Wrong:
    """Why too few digits are read.

    Args:
        right: (), the share of unseen digits that are.
        known: (n,), 1 for each training image that is read, else 0.
    """
    share = ["Expected: at least 0.90 of 400 unseen digits", f"Received: {right:.3f}"]
    if right < 0.04:  # guessing has 0.10
        sentence = "Fewer digits are right than a guess would have: do the steps go downhill, are the labels in order?"
        return Wrong("below-guessing", sentence, share)
    if known.mean() > (0.8 if right < 0.3 else 0.95):
        return Wrong("learnt-by-heart", "The training images are known, too few of the unseen ones are.", share)
    if right < 0.17:
        return Wrong("untrained", "The model is about as good as guessing.", share)
    if known[:64].all() and known[64:].mean() < 0.9:
        sentence = (
            "All of the first 64 training images are known, fewer of the others: had those a part in the training?"
        )
        return Wrong("few-images", sentence, share)
    return Wrong("half-trained", "The model has learnt something, and not enough.", share)
