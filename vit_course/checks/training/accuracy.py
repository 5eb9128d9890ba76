"""Exercise training.accuracy: the accuracy on a data set."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.mistakes import Slip, refuse, wrong_functions
from vit_course.checks.tools.returned import real


def accuracy(answer, draw):
    """`answer(model, batches)` -> the share of right answers over a list of (images, labels), a float."""
    draws = [_model_and_batches(draw, index) for index in range(3)]
    _modes(answer, *draws[0])
    same_values(lambda *given: real(answer(*given)), counted, draws, wrong_functions(MISTAKES, counted))


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
        refuse(MODES, dict(model=model))
        refuse(LEFT, dict(model=model, training=training), details)


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


MISTAKES = {
    "combine": [
        Slip(
            "mean-of-batches",
            "This is the mean of the batch accuracies: an image in the short batch counts more than the others.",
            lambda right, images: (right / images).mean(),
        ),
        Slip("last-batch-only", "The result uses only the last batch.", lambda right, images: right[-1] / images[-1]),
        Slip("first-batch-only", "The result uses only the first batch.", lambda right, images: right[0] / images[0]),
        Slip(
            "last-batch-left-out",
            "The result ignores the last, shorter batch.",
            lambda right, images: right[:-1].sum() / images[:-1].sum(),
        ),
        Slip(
            "first-batch-left-out",
            "The result ignores the first batch.",
            lambda right, images: right[1:].sum() / images[1:].sum(),
        ),
        Slip(
            "right-answers-forgotten",
            "The number of correct answers in one batch is divided by the number of all images.",
            lambda right, images: right[-1] / images.sum(),
            lambda right, images: right[0] / images.sum(),
        ),
        Slip(
            "short-batch-counted-as-full",
            "The number of correct answers is divided by more images than there are: the last batch is not full.",
            lambda right, images: right.sum() / (len(images) * images[0]),
        ),
        Slip(
            "divided-by-batches",
            "The number of correct answers is divided by the number of batches.",
            lambda right, images: right.sum() / len(images),
        ),
        Slip(
            "divided-by-one-batch",
            "The number of correct answers in all batches is divided by the number of images in one.",
            lambda right, images: right.sum() / images[-1],
            lambda right, images: right.sum() / images[0],
        ),
        Slip(
            "shares-added-up",
            "The accuracies of the batches are added up.",
            lambda right, images: (right / images).sum(),
        ),
        Slip(
            "not-divided", "This is the number of correct answers, not their share.", lambda right, images: right.sum()
        ),
        Slip(
            "percent",
            "This is a percentage; a share between 0 and 1 is expected.",
            lambda right, images: 100 * right.sum() / images.sum(),
        ),
        Slip(
            "share-of-wrong-answers",
            "This is the share of wrong answers.",
            lambda right, images: 1 - right.sum() / images.sum(),
        ),
        Slip(
            "nothing-counted",
            (
                "The result is 0 although some answers are correct: the labels are compared with something that "
                "is not a class, or a division drops the fraction."
            ),
            lambda right, images: 0,
        ),
        Slip(
            "rounded",
            "This is the correct share, but rounded.",
            lambda right, images: (right.sum() / images.sum()).round(decimals=3),
            lambda right, images: (right.sum() / images.sum()).round(decimals=2),
        ),
    ],
    "hits": [
        Slip(
            "argmax-over-images",
            "The maximum is taken over the images of a batch, not over the classes of an image.",
            lambda logits, labels: logits.argmax(dim=0) == labels,
            lambda logits, labels: logits.argmax(dim=0)[: len(labels)] == labels[: logits.shape[1]],
        ),
        Slip(
            "argmax-without-axis",
            "The maximum is taken over the whole batch, not over the row of each image.",
            lambda logits, labels: logits.argmax() == labels,
        ),
        Slip(
            "every-pair-compared",
            "Each answer is compared with every label of its batch, not only with its own.",
            lambda logits, labels: logits.argmax(dim=1, keepdim=True) == labels,
        ),
        Slip(
            "mean-probability",
            "This is the mean probability of the correct class, not the share of correct answers.",
            lambda logits, labels: logits.softmax(dim=1).gather(1, labels[:, None]),
        ),
    ],
}

MODES = [
    Slip(
        "train-mode-left-on",
        "The model ran in training mode, so dropout affected its answers.",
        lambda model: any(was_training for was_training, _ in model.seen),
    ),
    Slip(
        "parameters-frozen",
        "After the call, the parameters of the model no longer require gradients.",
        lambda model: not all(parameter.requires_grad for parameter in model.parameters()),
    ),
    Slip(
        "gradients-kept",
        "The model ran with gradients enabled, which wastes memory.",
        lambda model: any(gradients for _, gradients in model.seen),
    ),
]

LEFT = [
    Slip(
        "mode-not-put-back",
        "After the call, the model is no longer in the mode it was in before.",
        lambda model, training: model.training != training,
    ),
]
