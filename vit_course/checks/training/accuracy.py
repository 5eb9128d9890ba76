"""Exercise training.accuracy: the accuracy on a data set."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse, table


@exercise(
    "7.1", "The accuracy on a data set", section="Is it good? Compare it with something simple", difficulty=1, minutes=8
)
def accuracy(answer, draw):
    """`answer(model, batches)` -> the share of right answers over a list of (images, labels), a float."""
    draws = []
    for index in range(3):
        classes, rows, columns, batch = draw.sizes(4, 5, 9)
        model = Classifier(draw.normal(classes, rows * columns))
        # Each batch has the lowest share once, or the highest, so that a mean of means shows, and what is read of one
        # batch alone.
        middle = batch // 2
        right = [(middle, middle + 2, 1), (middle + 2, middle, 1), (middle + 2, middle - 1, 2)][index]
        sizes = (batch, batch, 4 if index == 2 else draw.choose([3, 4]))
        batches = []
        for size, share in zip(sizes, right, strict=True):
            images = draw.normal(size, 1, rows, columns)
            labels = model.eval()(images).argmax(dim=1)
            labels[share:] = (labels[share:] + 2) % classes
            order = draw.permutation(size)
            batches.append((images[order], labels[order]))
        draws.append((model, batches))

    _modes(answer, *draws[0])

    with named_by_details(*known(__name__, "mistakes")):
        mistakes = table(__name__, "mistakes", _counted)
        same_values(lambda *given: real(answer(*given)), _counted, draws, mistakes)


def _modes(answer, model, batches) -> None:
    """In which mode the model computes, with gradients or without, and in which mode it is left."""
    for training in (True, False):
        model.train(training)
        model.seen.clear()
        try:
            call(answer, model, batches)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            return  # the error may be that of a mistake below
        refuse(__name__, "modes", locals())
        if model.training != training:
            was, now = ("training", "evaluation")[:: 1 if training else -1]
            raise Wrong(
                "mode-not-put-back",
                f"The model came in {was} mode and is in {now} mode after the call.",
                [f"Expected: model.training is {training}", f"Received: model.training is {model.training}"],
            )


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


# ---- what people compute, from (right answers, images) of each batch


def _share(counts) -> float:
    return _right(counts) / _images(counts)


def _right(counts) -> int:
    return sum(right for right, _ in counts)


def _images(counts) -> int:
    return sum(images for _, images in counts)


def _shares(counts) -> list[float]:
    return [right / images for right, images in counts]


def _counted(model, batches, combine=_share, hits=lambda logits, labels: (logits.argmax(dim=1) == labels).sum().item()):
    # The right answer, and with one of its steps replaced a wrong one.
    model.eval()
    return float(combine([(hits(model(images), labels), len(labels)) for images, labels in batches]))
