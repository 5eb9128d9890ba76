"""What chapter 10 measures several times: random orders of the weights, draws of labels, six faults.

    python res/experiments/pretrained.py

With `vit-s14` and five orders of the numbers of each of its tensors: how often the most similar patch of two portraits
is of the same kind (portraits), the IoU of segmentations with prototypes from one labelled photograph and from six
(one_labelled, six_labelled). The accuracy on the drawn shapes with few labels, of a head on the frozen network and of
all weights trained (few_labels, fine_tuning), in five draws. The score of portraits with six faults of a conversion,
and how far their tokens are from the right ones (faults, fault_distances); these do not vary, so they are run once.

About four minutes on one core.
"""

import functools
from collections.abc import Iterator

import torch
from chapter import defined_in, write_table

from vit_course import data, pretrained
from vit_course.maps.controls import random_weights
from vit_course.vit import ViT

chapter = defined_in("10_pretrained")
torch.set_num_threads(1)


@functools.cache
def in_random_order(seed: int) -> ViT:
    """The network with the numbers of each tensor in a random order."""
    return random_weights(chapter.reference, seed)


@functools.cache
def described(seed: int) -> torch.Tensor:
    """(7, N, D), the patch tokens of the seven photographs by the network in a random order."""
    with torch.no_grad():
        return in_random_order(seed).features(chapter.many)[:, 1:]


def portraits(seed: int) -> Iterator[tuple[str, float]]:
    three = [chapter.seven.index(name) for name in chapter.names]
    yield "random order", sum(chapter.scores(described(seed)[three])) / 6


def one_labelled(seed: int) -> Iterator[tuple[str, float]]:
    for labelled, name in enumerate(chapter.seven):
        each = chapter.overlap(chapter.segment(described(seed), [labelled]), chapter.masks)  # (7,)
        yield name, (each.sum() - each[labelled]).item() / 6  # the six new ones


def six_labelled(seed: int) -> Iterator[tuple[str, float]]:
    for count in (1, 3, 5):
        each = []
        for new in range(7):
            found = chapter.segment(described(seed), [i for i in range(7) if i != new], count)
            each.append(chapter.overlap(found, chapter.masks)[new].item())
        yield f"{count} prototype{'s' * (count > 1)}", sum(each) / 7


def few_labels(seed: int) -> Iterator[tuple[str, float]]:
    parts, order = (chapter.train, chapter.test), chapter.order(seed)
    described_by = {
        "pretrained": lambda part: _class_tokens(chapter.reference, part),
        "raw pixels": lambda part: chapter.pixels(part.images),
        "random order": lambda part: _class_tokens(in_random_order(seed), part),
    }
    for title, describe in described_by.items():
        known, new = (describe(part) for part in parts)  # (n, any)
        for labels in (25, 50, 100, 200):
            drawn = order[:labels]
            yield f"{title}, {labels} labels", chapter.accuracy(known[drawn], drawn, new)


def fine_tuning(seed: int) -> Iterator[tuple[str, float]]:
    for what, model in (("all weights", chapter.reference), ("from a random order", in_random_order(seed))):
        for labels in (25, 50):
            if labels == 50 or model is chapter.reference:
                known = chapter.train[chapter.order(seed)[:labels]]
                right = chapter.fine_tune(pretrained.resize(model, 70), chapter.to_70, known, chapter.test, seed)
                yield f"{what}, {labels} labels", right


def faults(seed: int) -> Iterator[tuple[str, float]]:
    for name, wrong in _wrong_tokens(seed):
        yield name, sum(chapter.scores(wrong[:, 1:])) / 6


def fault_distances(seed: int) -> Iterator[tuple[str, float]]:
    for name, wrong in _wrong_tokens(seed):
        yield name, ((wrong - chapter.published).norm() / chapter.published.norm()).item()


def _wrong_tokens(seed: int) -> Iterator[tuple[str, torch.Tensor]]:
    for name, fault in chapter.faults.items() if seed == 0 else ():
        with torch.no_grad():
            yield name, chapter.with_fault(chapter.reference, **fault).features(chapter.x)  # (3, T, D)


def _class_tokens(model: ViT, part: data.ImageSet) -> torch.Tensor:
    return pretrained.class_tokens(pretrained.resize(model, 70), chapter.to_70, part.images)  # (n, D)


if __name__ == "__main__":
    write_table(__file__, portraits, one_labelled, six_labelled, few_labels, fine_tuning, faults, fault_distances)
