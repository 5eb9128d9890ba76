"""What chapter 10 measures several times: random orders of the weights, draws of labels, six faults.

    python res/experiments/pretrained.py

With `vit-s14` and five orders of the numbers of each of its tensors: how often the most similar patch of another
photograph is of the same kind (same_kind), and the IoU of segmentations of thirteen photographs with prototypes from
seven labelled ones (seven_labelled); and with the trained weights the IoU of each of twenty photographs with prototypes
from the nineteen others (nineteen_labelled). The accuracy on the drawn shapes with few labels, of a head on the frozen
network and of all weights trained (few_labels, fine_tuning), in five draws. The score of three portraits with six
faults of a conversion, and how far their tokens are from the right ones (faults, fault_distances); these do not vary,
so they are run once.

About five minutes on one core.
"""

import functools
from collections.abc import Iterator
from statistics import mean

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
    """(20, N, D), the patch tokens of the twenty photographs by the network in a random order."""
    with torch.no_grad():
        return in_random_order(seed).features(chapter.twenty)[:, 1:]


def same_kind(seed: int) -> Iterator[tuple[str, float]]:
    yield "twenty photographs", mean(chapter.scores(described(seed), chapter.on))
    three = chapter.portraits
    yield "three portraits", mean(chapter.scores(described(seed)[three], chapter.on[three]))


def seven_labelled(seed: int) -> Iterator[tuple[str, float]]:
    for count in (1, 3, 5):
        found = chapter.segment(described(seed), list(range(7)), count)  # (20, H*W)
        yield f"{count} of each", chapter.score(found).mean().item()


def nineteen_labelled(seed: int) -> Iterator[tuple[str, float]]:
    if seed:  # nothing is drawn here
        return
    with torch.no_grad():
        tokens = chapter.reference.features(chapter.twenty)[:, 1:]  # (20, N, D)
    for count in (1, 3, 5):
        each = []
        for new in range(20):
            found = chapter.segment(tokens, [i for i in range(20) if i != new], count)
            each.append(chapter.overlap(found, chapter.masks)[new].item())
        yield f"{count} of each", mean(each)


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
        yield name, mean(chapter.scores(wrong[:, 1:], chapter.on[chapter.portraits]))


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
    write_table(
        __file__, same_kind, seven_labelled, nineteen_labelled, few_labels, fine_tuning, faults, fault_distances
    )
