"""Exercise training.accuracy: the accuracy on a data set."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.returned import real


def accuracy(answer, draw):
    """`answer(model, batches)` -> the share of right answers over a list of (images, labels), a float."""
    draws = [_model_and_batches(draw, index) for index in range(3)]
    _check_modes(answer, *draws[0])
    same_values(lambda *given: real(answer(*given)), counted, draws, MISTAKES)


class Roll(nn.Module):
    """In training mode, gives each class the logit of the one before: like dropout, but without chance."""

    def forward(self, logits):
        return logits.roll(1, dims=1) if self.training else logits


class Classifier(nn.Module):
    """Logits from pixels; in training mode, the module inside gives other ones. It remembers how it was called."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.roll = Roll()
        self.calls = []

    def modes(self) -> list[bool]:
        """Whether the model is in training mode, and whether the module inside is."""
        return [self.training, self.roll.training]

    def forward(self, images):
        self.calls.append((*self.modes(), torch.is_grad_enabled()))
        return self.roll(images.flatten(1) @ self.weight.T)  # (B, K)


def _model_and_batches(draw, index: int):
    classes, rows, columns, batch = draw.sizes(4, 5, 9)
    model, batches, middle = Classifier(draw.normal(classes, rows * columns)).eval(), [], batch // 2
    # Each batch has the lowest share once, or the highest, so that a mean of means shows, and what is read of one
    # batch alone. Of all images, the first two shares are not those that are rounded to two decimals.
    right = [(middle, middle + 1, 1), (middle + 1, middle, 1), (middle + 2, middle - 1, 2)][index]
    for size, share in zip((batch, batch, 4 if index == 2 else 3), right, strict=True):
        images, order = draw.normal(size, 1, rows, columns), draw.permutation(size)
        labels = model(images).argmax(dim=1)
        labels[share:] = (labels[share:] + 2) % classes
        batches.append((images[order], labels[order]))
    return model, batches


def _check_modes(answer, model, batches) -> None:
    for training in (True, False):
        model.train(training)
        model.calls.clear()
        try:
            call(answer, model, batches)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            return  # the error may be that of a mistake in the table
        _judge_modes(model, training)


def _judge_modes(model, training: bool) -> None:
    # In which mode the model computed, with gradients or without, and in which mode it is left.
    if any(outer for outer, _, _ in model.calls):
        raise Wrong("train-mode-left-on", "The model ran in training mode, so dropout affected its answers.")
    if any(inner for _, inner, _ in model.calls):
        sentence = "The model ran in evaluation mode, but a module inside it in training mode: a dropout would act."
        raise Wrong("outer-module-only", sentence)
    if not all(parameter.requires_grad for parameter in model.parameters()):
        raise Wrong("parameters-frozen", "After the call, the parameters of the model no longer require gradients.")
    if any(gradients for _, _, gradients in model.calls):
        raise Wrong("gradients-kept", "The model ran with gradients enabled, which wastes memory.")
    for name, mode in zip(("model", "model.roll"), model.modes(), strict=True):
        if mode != training:
            sentence = "After the call, the model or a module inside it is no longer in the mode it was in before."
            details = [f"Expected: {name}.training is {training}", f"Received: {name}.training is {mode}"]
            raise Wrong("mode-not-put-back", sentence, details)


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


MISTAKES = [
    Mistake(
        "mean-of-batches",
        "This is the mean of the batch accuracies: an image in the short batch counts more than the others.",
        {"combine": lambda right, images: (right / images).mean()},
    ),
    Mistake(
        "last-batch-only",
        "The result uses only the last batch.",
        {"combine": lambda right, images: right[-1] / images[-1]},
    ),
    Mistake(
        "first-batch-only",
        "The result uses only the first batch.",
        {"combine": lambda right, images: right[0] / images[0]},
    ),
    Mistake(
        "last-batch-left-out",
        "The result ignores the last, shorter batch.",
        {"combine": lambda right, images: right[:-1].sum() / images[:-1].sum()},
    ),
    Mistake(
        "short-batch-counted-as-full",
        "The number of correct answers is divided by more images than there are: the last batch is not full.",
        {"combine": lambda right, images: right.sum() / (len(images) * images[0])},
    ),
    Mistake(
        "divided-by-batches",
        "The number of correct answers is divided by the number of batches.",
        {"combine": lambda right, images: right.sum() / len(images)},
    ),
    Mistake(
        "not-divided",
        "This is the number of correct answers, not their share.",
        {"combine": lambda right, images: right.sum()},
    ),
    Mistake(
        "percent",
        "This is a percentage; a share between 0 and 1 is expected.",
        {"combine": lambda right, images: 100 * right.sum() / images.sum()},
    ),
    Mistake(
        "share-of-wrong-answers",
        "This is the share of wrong answers.",
        {"combine": lambda right, images: 1 - right.sum() / images.sum()},
    ),
    Mistake(
        "nothing-counted",
        (
            "The result is 0 although some answers are correct: the labels are compared with something that "
            "is not a class, or a division drops the fraction."
        ),
        {"combine": lambda right, images: 0},
    ),
    Mistake(
        "argmax-over-images",
        "The maximum is taken over the images of a batch, not over the classes of an image.",
        {"hits": lambda logits, labels: logits.argmax(dim=0) == labels},
    ),
    Mistake(
        "argmax-without-axis",
        "The maximum is taken over the whole batch, not over the row of each image.",
        {"hits": lambda logits, labels: logits.argmax() == labels},
    ),
    Mistake(
        "mean-probability",
        "This is the mean probability of the correct class, not the share of correct answers.",
        {"hits": lambda logits, labels: logits.softmax(dim=1).gather(1, labels[:, None])},
    ),
]
