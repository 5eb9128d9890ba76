"""What chapter 07 measures with one seed, with five: python res/experiments/training.py (four minutes of one core)

The test accuracies of the ViT and its rivals on upright digits, on digits in the middle of a field and anywhere in it,
and after a move; and the validation accuracy where every gradient is a thousandth.
"""

from collections.abc import Iterator

import torch
from chapter import defined_in, write_table
from torch import nn

from vit_course import training
from vit_course.data import Dataset

chapter = defined_in("07_training")


def right(model: nn.Module, dataset: Dataset) -> float:
    """The share of the test images that the model classifies correctly."""
    return training.evaluate(model, dataset.test, dataset)[1]


def upright(seed: int) -> Iterator[tuple[str, float]]:
    """Digits that fill their frame: the ViT and the better of two linear classifiers after 10 epochs."""
    model = chapter.new_model(seed)
    for _ in chapter.fit(model, chapter.digits, torch.optim.AdamW(model.parameters(), lr=2e-3), epochs=10):
        pass
    yield "ViT", right(model, chapter.digits)
    yield "linear", right(chapter.linear_classifier(chapter.digits, epochs=10, seed=seed), chapter.digits)


def linear(seed: int) -> Iterator[tuple[str, float]]:
    """The better of two linear classifiers where each digit is in the middle of a field, or anywhere in it."""
    for where in ("middle", "anywhere"):
        dataset = getattr(chapter, where)
        model = chapter.linear_classifier(dataset, epochs=6, batch_size=512, seed=seed)
        yield where, right(model, dataset)


def anywhere(seed: int) -> Iterator[tuple[str, float]]:
    """Three networks of equal size on digits anywhere in the field."""
    for name, epochs in chapter.EPOCHS.items():
        yield name, right(chapter.trained(name, chapter.anywhere, epochs, seed), chapter.anywhere)


def moved(seed: int) -> Iterator[tuple[str, float]]:
    """Networks trained on half of the digits in the middle, on test digits in other places."""
    for name in chapter.EPOCHS:
        model = chapter.trained_in_the_middle(name, seed)
        for where, corner in chapter.CORNERS.items():
            part = chapter.place(chapter.digits.test, 1, corner, seed=2)
            yield f"{name}, {where}", training.evaluate(model, part, chapter.middle)[1]


def scaled(seed: int) -> Iterator[tuple[str, float]]:
    """Plain descent and AdamW, as they are and with every gradient a thousandth."""
    for kind, rate in chapter.RATES.items():
        for scale in (1, 0.001):
            yield f"{kind.__name__}, gradients x {scale}", chapter.scaled(kind, rate, scale, seed)


if __name__ == "__main__":
    write_table(__file__, upright, linear, anywhere, moved, scaled)
