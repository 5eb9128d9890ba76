"""Exercise capstone.trained: the whole model, trained on the digits."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.checks.tools.watched_steps import Steps, watched_steps
from vit_course.data import digits


@exercise("12.6", "Trained", section="Six steps, six checks", difficulty=2, minutes=15, seconds=60)
def trained(answer):
    """`answer(images, labels)` -> a trained module (B, 1, 8, 8) -> (B, 10); images and labels of digits."""
    data = digits()
    images, labels = data.normalise(data.train.images), data.train.labels
    with watched_steps() as steps:
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
        share = ["Expected: at least 0.90 of 400 unseen digits", f"Received: {hits.mean():.3f}", *_seen(steps)]
        raise _in_the_loop(model, steps, hits.mean(), share) or _too_few(hits.mean(), known, steps, share)


def _seen(steps: Steps) -> list[str]:
    if not steps.number:
        return []
    low, high = min(steps.rates), max(steps.rates)
    rates = f"rate {high:g}" if low == high else f"rates from {low:.2g} to {high:.2g}"
    return [f"Seen:     {steps.number} step{'s' * (steps.number > 1)} of an optimiser, {rates}"]


def _in_the_loop(model: nn.Module, steps: Steps, right: torch.Tensor, details: list[str]) -> Wrong | None:
    """Why too few digits are read, where the steps of the optimiser tell it.

    Args:
        model: that came back.
        steps: that were seen; none where the learner moves the weights without an optimiser of PyTorch.
        right: (), the share of unseen digits that are.
        details: for the `Wrong`.
    """
    if not steps.number:
        return None
    share = steps.share_of(model)
    if not share and right > 0.17:  # a copy of the trained model was kept
        return None
    if not share:
        sentence = "No optimiser was given a parameter of the model that came back: others were trained."
        return Wrong("other-model-trained", sentence, details)
    if steps.without == steps.number:
        sentence = "Each time when the optimiser took its step, there were no gradients, or all were 0."
        return Wrong("step-without-gradients", sentence, details)
    if share < 0.9:
        given = f"Given:    {share:.0%} of the model's numbers"
        sentence = "The optimiser was given only some of the model's parameters."
        return Wrong("trained-in-part", sentence, [*details, given])
    if steps.number < 30 and right > 0.04:
        sentence = "The optimiser took few steps: one pass over the images in batches of 64 has 19."
        return Wrong("few-steps", sentence, details)
    if steps.rates[-1] < 1e-4 * max(steps.rates) and sum(r > 0.01 * max(steps.rates) for r in steps.rates) < 40:
        return Wrong("rate-vanished", "The learning rate falls to nothing within the first steps.", details)
    return None


def _too_few(right: torch.Tensor, known: torch.Tensor, steps: Steps, share: list[str]) -> Wrong:
    """Why too few digits are read.

    Args:
        right: (), the share of unseen digits that are.
        known: (n,), 1 for each training image that is read, else 0.
        steps: that were seen.
        share: the details for the `Wrong`.
    """
    if right < 0.04:  # guessing has 0.10
        sentence = "Fewer digits are right than a guess would have: do the steps go downhill, are the labels in order?"
        return Wrong("below-guessing", sentence, share)
    if known.mean() > (0.8 if right < 0.3 else 0.95):
        return Wrong("learnt-by-heart", "The training images are known, too few of the unseen ones are.", share)
    if right < 0.17 and not steps.number:
        return Wrong("no-step", "No optimiser of PyTorch took a step while your function ran.", share)
    if right < 0.17:
        return Wrong("untrained", "The model is about as good as guessing.", share)
    if known[:64].all() and known[64:].mean() < 0.9:
        sentence = (
            "All of the first 64 training images are known, fewer of the others: had those a part in the training?"
        )
        return Wrong("few-images", sentence, share)
    return Wrong("half-trained", "The model has learnt something, and not enough.", share)
