"""Exercise training.accuracy: the accuracy on a data set."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.returned import real
from vit_course.checks.tools.table import refuse, table


def accuracy(answer, draw):
    """`answer(model, batches)` -> the share of right answers over a list of (images, labels), a float."""
    draws = [_model_and_batches(draw, index) for index in range(3)]
    _modes(answer, *draws[0])
    same_values(lambda *given: real(answer(*given)), counted, draws, table(__name__, "mistakes", counted))


class Classifier(nn.Module):
    """Logits from pixels; in training mode other ones. It remembers how it was called."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.seen = []

    def forward(self, images):
        self.seen.append((self.training, torch.is_grad_enabled()))
        logits = images.flatten(1) @ self.weight.T  # (B, K)
        return logits.roll(1, dims=1) if self.training else logits


def _model_and_batches(draw, index: int):
    classes, rows, columns, batch = draw.sizes(4, 5, 9)
    model, batches, middle = Classifier(draw.normal(classes, rows * columns)).eval(), [], batch // 2
    # Each batch has the lowest share once, or the highest, so that a mean of means shows, and what is read of one
    # batch alone.
    right = [(middle, middle + 2, 1), (middle + 2, middle, 1), (middle + 2, middle - 1, 2)][index]
    for size, share in zip((batch, batch, 4 if index == 2 else draw.choose([3, 4])), right, strict=True):
        images, order = draw.normal(size, 1, rows, columns), draw.permutation(size)
        labels = model(images).argmax(dim=1)
        labels[share:] = (labels[share:] + 2) % classes
        batches.append((images[order], labels[order]))
    return model, batches


def _modes(answer, model, batches) -> None:
    # In which mode the model computes, with gradients or without, and in which mode it is left.
    for training in (True, False):
        model.train(training)
        model.seen.clear()
        try:
            call(answer, model, batches)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            return  # the error may be that of a mistake in the table
        details = [f"Expected: model.training is {training}", f"Received: model.training is {model.training}"]
        refuse(__name__, "modes", locals())
        refuse(__name__, "left", locals(), details)


def counted(
    model,
    batches,
    hits=lambda logits, labels: logits.argmax(dim=1) == labels,
    combine=lambda right, images: right.sum() / images.sum(),
) -> float:
    """The right answer, and with one of its steps replaced a wrong one: `combine` is of two numbers of each batch."""
    model.eval()
    right = torch.stack([hits(model(images), labels).double().sum() for images, labels in batches])
    return float(combine(right, torch.tensor([len(labels) for _, labels in batches])))
