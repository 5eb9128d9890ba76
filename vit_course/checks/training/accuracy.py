"""Exercise training.accuracy: the accuracy on a data set."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_values
from vit_course.checks.tools.numbers import real


@exercise("The accuracy on a data set", section="Is it good? Compare it with something simple", difficulty=1, minutes=8)
def accuracy(answer, draw):
    """`answer(model, batches)` -> the share of right answers over a list of (images, labels), a float."""
    draws = []
    for _ in range(3):
        classes, rows, columns, batch = draw.sizes(4, 5, 9)
        model = Classifier(draw.normal(classes, rows * columns))
        right = (batch // 2, batch // 2 + 1, draw.choose([2, 4]))
        sizes = (batch, batch, right[2])  # the short one is right throughout, so that a mean of means shows
        batches = []
        for size, share in zip(sizes, right, strict=True):
            images = draw.normal(size, 1, rows, columns)
            labels = model.eval()(images).argmax(dim=1)
            labels[share:] = (labels[share:] + 2) % classes
            order = draw.permutation(size)
            batches.append((images[order], labels[order]))
        draws.append((model, batches))

    _modes(answer, *draws[0])

    def counted(combine):
        def share_right(model, batches):
            model.eval()
            return combine([((model(x).argmax(dim=1) == y).sum().item(), len(y)) for x, y in batches])

        return share_right

    def over_batch(model, batches):
        model.eval()
        return sum((model(x).argmax(dim=0) == y).sum().item() for x, y in batches) / sum(len(y) for _, y in batches)

    same_values(
        lambda model, batches: real(answer(model, batches)),
        counted(lambda c: sum(right for right, _ in c) / sum(size for _, size in c)),
        draws,
        mistakes=[
            Mistake(
                "mean-of-batches",
                "This is the mean of the batches' accuracies: an image of the short batch counts more than another.",
                counted(lambda c: sum(right / size for right, size in c) / len(c)),
            ),
            Mistake(
                "last-batch-only",
                "Only the last batch has a part in the result.",
                counted(lambda c: c[-1][0] / c[-1][1]),
            ),
            Mistake(
                "first-batch-only",
                "Only the first batch has a part in the result.",
                counted(lambda c: c[0][0] / c[0][1]),
            ),
            Mistake(
                "last-batch-left-out",
                "The last, shorter batch has no part in the result.",
                counted(lambda c: sum(right for right, _ in c[:-1]) / sum(size for _, size in c[:-1])),
            ),
            Mistake(
                "short-batch-counted-as-full",
                "The right answers are divided by more images than there are: the last batch is not full.",
                counted(lambda c: sum(right for right, _ in c) / (len(c) * c[0][1])),
            ),
            Mistake(
                "divided-by-batches",
                "The right answers are divided by the number of batches.",
                counted(lambda c: sum(right for right, _ in c) / len(c)),
            ),
            Mistake(
                "divided-by-last-batch",
                "The right answers of all batches are divided by the images of the last one.",
                counted(lambda c: sum(right for right, _ in c) / c[-1][1]),
            ),
            Mistake(
                "not-divided",
                "This is the number of right answers, not their share.",
                counted(lambda c: sum(right for right, _ in c)),
            ),
            Mistake(
                "percent",
                "This is a percentage where a share between 0 and 1 is expected.",
                counted(lambda c: 100 * sum(right for right, _ in c) / sum(size for _, size in c)),
            ),
            Mistake(
                "share-of-wrong-answers",
                "This is the share of wrong answers.",
                counted(lambda c: 1 - sum(right for right, _ in c) / sum(size for _, size in c)),
            ),
            Mistake(
                "argmax-over-images",
                "The largest number is looked for among the images of a batch, not among the classes of an image.",
                over_batch,
            ),
        ],
    )  # fmt: skip


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
        if any(was_training for was_training, _ in model.seen):
            raise Wrong(
                "train-mode-left-on", "The model computed in training mode, so dropout had a part in its answers."
            )
        if any(gradients for _, gradients in model.seen):
            raise Wrong("gradients-kept", "The model computed with gradients on, which costs memory for nothing.")
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
