"""Exercise training.accuracy: the accuracy on a data set."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_values
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.slips import Known, named_by_details


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

    with named_by_details(*_ERRORS):
        same_values(lambda *given: real(answer(*given)), _counted(_share), draws, mistakes=_mistakes())


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
        if not all(parameter.requires_grad for parameter in model.parameters()):
            raise Wrong(
                "parameters-frozen", "After the call the parameters of the model ask for no gradients any more."
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


# ---- what people compute, from (right answers, images) of each batch


def _share(counts) -> float:
    return _right(counts) / _images(counts)


def _right(counts) -> int:
    return sum(right for right, _ in counts)


def _images(counts) -> int:
    return sum(images for _, images in counts)


def _shares(counts) -> list[float]:
    return [right / images for right, images in counts]


def _counted(combine, hits=lambda logits, labels: (logits.argmax(dim=1) == labels).sum().item()):
    def function(model, batches):
        model.eval()
        return float(combine([(hits(model(images), labels), len(labels)) for images, labels in batches]))

    return function


_COMBINED = (
    ("mean-of-batches",
     "This is the mean of the batches' accuracies: an image of the short batch counts more than another.",
     lambda c: sum(_shares(c)) / len(c)),
    ("last-batch-only", "Only the last batch has a part in the result.", lambda c: _share(c[-1:])),
    ("first-batch-only", "Only the first batch has a part in the result.", lambda c: _share(c[:1])),
    ("best-batch-only", "This is the accuracy of the best batch alone.", lambda c: max(_shares(c))),
    ("worst-batch-only", "This is the accuracy of the worst batch alone.", lambda c: min(_shares(c))),
    ("last-batch-left-out", "The last, shorter batch has no part in the result.", lambda c: _share(c[:-1])),
    ("first-batch-left-out", "The first batch has no part in the result.", lambda c: _share(c[1:])),
    ("right-answers-forgotten", "The right answers of the last batch alone are divided by all images.",
     lambda c: c[-1][0] / _images(c)),
    ("right-answers-forgotten", "The right answers of the first batch alone are divided by all images.",
     lambda c: c[0][0] / _images(c)),
    ("short-batch-counted-as-full",
     "The right answers are divided by more images than there are: the last batch is not full.",
     lambda c: _right(c) / (len(c) * c[0][1])),
    ("divided-by-batches", "The right answers are divided by the number of batches.", lambda c: _right(c) / len(c)),
    ("divided-by-last-batch", "The right answers of all batches are divided by the images of the last one.",
     lambda c: _right(c) / c[-1][1]),
    ("divided-by-first-batch", "The right answers of all batches are divided by the images of the first one.",
     lambda c: _right(c) / c[0][1]),
    ("shares-added-up", "The accuracies of the batches are added up.", lambda c: sum(_shares(c))),
    ("not-divided", "This is the number of right answers, not their share.", _right),
    ("percent", "This is a percentage where a share between 0 and 1 is expected.", lambda c: 100 * _share(c)),
    ("share-of-wrong-answers", "This is the share of wrong answers.", lambda c: 1 - _share(c)),
    ("share-of-wrong-answers", "This is the percentage of wrong answers.", lambda c: 100 - 100 * _share(c)),
    ("wrong-answers-counted", "This is the number of wrong answers.", lambda c: _images(c) - _right(c)),
    ("images-counted", "This is the number of images.", _images),
    ("upside-down", "The number of images is divided by that of right answers.", lambda c: _images(c) / _right(c)),
    ("right-over-wrong", "The right answers are divided by the wrong ones, not by all.",
     lambda c: _right(c) / (_images(c) - _right(c))),
    ("one-image-too-few", "The right answers are divided by one image less than there are.",
     lambda c: _right(c) / (_images(c) - 1)),
    ("one-image-too-many", "The right answers are divided by one image more than there are.",
     lambda c: _right(c) / (_images(c) + 1)),
    ("nothing-counted",
     "The result is 0 though some answers are right: what is compared with the labels is no class, or a division "
     "drops the fraction.", lambda c: 0),
    *(("mean-of-batches", "This is the mean of the batches' accuracies, and rounded.",
       lambda c, n=n: round(sum(_shares(c)) / len(c), n)) for n in (3, 2)),
    *(("rounded", "This is the right share, rounded.", lambda c, n=n: round(_share(c), n)) for n in (3, 2, 1)),
)  # fmt: skip
_COMPARED = (
    ("argmax-over-images",
     "The largest number is looked for among the images of a batch, not among the classes of an image.",
     lambda logits, labels: (logits.argmax(dim=0) == labels).sum().item()),
    ("argmax-without-axis", "The largest number is looked for in the whole batch, not in the row of each image.",
     lambda logits, labels: (logits.argmax() == labels).sum().item()),
    ("least-likely-class", "The class with the lowest logit is taken for the answer.",
     lambda logits, labels: (logits.argmin(dim=1) == labels).sum().item()),
    ("every-pair-compared", "Each answer is compared with every label of its batch, not with its own alone.",
     lambda logits, labels: (logits.argmax(dim=1, keepdim=True) == labels).sum().item()),
    ("mean-probability", "This is the mean probability of the right class, not the share of right answers.",
     lambda logits, labels: logits.softmax(dim=1).gather(1, labels[:, None]).sum().item()),
)  # fmt: skip
_ERRORS = (
    Known("'bool' object has no attribute", "compared-with-no-tensor",
          "What is compared with the labels is no tensor; `max` with an axis, for one, gives a pair."),
    Known("object has no attribute", "no-such-name",
          "Your code asks an object for something that it does not have."),
    Known("(indices must be integers|unhashable type|not callable)", "batch-is-a-pair",
          "A batch is a pair of images and labels; your code takes it for something else."),
)  # fmt: skip


def _mistakes() -> list[Mistake]:
    combined = [Mistake(slug, sentence, _counted(combine)) for slug, sentence, combine in _COMBINED]
    return combined + [Mistake(slug, sentence, _counted(_share, hits)) for slug, sentence, hits in _COMPARED]
