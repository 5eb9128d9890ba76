"""Exercise capstone.trained: the whole model, trained on the digits."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.data import digits


@exercise("Trained", section="Six steps, six checks", difficulty=2, minutes=15, seconds=60)
def trained(answer, draw):
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
        logits = tensor(call(model, test), (len(test), 10), "(B, 10)", "the logits")
        if not agree(call(model, test), logits):
            raise Wrong(
                "random-result", "The model that came back gives two results for one image: it is in training mode."
            )
        right = float((logits.argmax(1) == truth).float().mean())
        learnt = float((call(model, images).argmax(1) == labels).float().mean())
    share = [f"Expected: at least 0.90 of {len(test)} unseen digits", f"Received: {right:.2f}"]
    if right >= 0.9:
        return
    if right < 0.3:
        if right < 0.04:  # guessing has 0.10
            raise Wrong(
                "uphill", "The model is surer of any class than of the right one: its steps went uphill.", share
            )
        if learnt > 0.8:
            raise Wrong("learnt-by-heart", "The training images are known, unseen ones are not.", share)
        raise Wrong("untrained", "The model is about as good as guessing.", share)
    raise Wrong("half-trained", "The model has learnt something and stopped early, or its steps are too small.", share)
