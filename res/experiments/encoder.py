"""Where the norm stands, what a missing residual changes, and what a branch is worth, in chapter 05: five seeds each.

python res/experiments/encoder.py takes about three minutes of one core and writes encoder.csv: the last losses at three
rates, and test accuracies, of encoders of twelve blocks for digits; the lengths of their gradients, and how far their
tokens differ, before training; and what the shapes model and vit-s14 make of it when something takes the place of a
branch's output. There, five draws of the partner take the place of the seeds; what has no draw stands once.
"""

from collections.abc import Iterator

import torch
from chapter import defined_in, write_table

from vit_course import pretrained
from vit_course.training import evaluate

chapter = defined_in("05_encoder")
DEPTHS = (2, 4, 8, 16)
PARTNERS, PHOTOGRAPHS = (7, 31, 68, 113, 201), (1, 3, 5, 7, 9)  # image i gets the output of image i - partner
FIXED = {"zeros": torch.zeros_like, "mean": chapter.the_mean}


def rates(seed: int) -> Iterator[tuple[str, float]]:
    for rate in (3e-4, 1e-3, 5e-3):
        for name, kind in chapter.kinds.items():
            yield f"rate {rate:g}, {name}", chapter.first_steps(kind, 12, rate, seed)[1]


def residuals(seed: int) -> Iterator[tuple[str, float]]:
    for name, kind in chapter.variants.items():
        model, _ = chapter.first_steps(kind, 12, 3e-4, seed, steps=70)
        yield name, evaluate(model, chapter.digits.test, chapter.digits)[1]


def gradients(seed: int) -> Iterator[tuple[str, float]]:
    for name, kind in {**chapter.variants, **chapter.kinds}.items():
        lengths = chapter.block_gradients(chapter.digits_vit(kind, 12, seed))  # (L,)
        yield from ((f"{name}, block {block}", length) for block, length in enumerate(lengths.tolist()))


def spreads(seed: int) -> Iterator[tuple[str, float]]:
    for name, kind in chapter.variants.items():
        found = chapter.spread_by_block(chapter.digits_vit(kind, 12, seed))  # (L + 1,)
        yield from ((f"{name}, after {blocks}", spread) for blocks, spread in enumerate(found.tolist()))


def last_block(seed: int) -> Iterator[tuple[str, float]]:
    for name, kind in chapter.kinds.items():
        for depth in DEPTHS:
            yield f"{name}, {depth} blocks", chapter.block_gradients(chapter.digits_vit(kind, depth, seed))[-1].item()


def without_norms(seed: int) -> Iterator[tuple[str, float]]:
    for name, kind in chapter.variants.items():
        model = chapter.without_norms(chapter.digits_vit(kind, 12, seed))
        yield name, chapter.block_gradients(model)[0].item()


def branches(draw: int) -> Iterator[tuple[str, float]]:
    rows = [(name, chapter.trained, *place) for name, place in chapter.branches.items()]
    rows.append(("1,000 images", pretrained.load("shapes-1000-right"), 0, "attention"))
    for name, model, *place in rows:
        changes = {"another image's": chapter.of_another(PARTNERS[draw])} | (FIXED if draw == 0 else {})
        yield from ((f"{name}, {words}", chapter.replaced(model, *place, by)) for words, by in changes.items())


def photographs(draw: int) -> Iterator[tuple[str, float]]:
    fixed = {"zeros": torch.zeros_like, "the mean of the others": chapter.mean_of_others}
    changes = {"another photograph's": chapter.of_another_photograph(PHOTOGRAPHS[draw])} | (fixed if draw == 0 else {})
    for name, by in changes.items():
        found = chapter.similarity(by, len(chapter.pixels))  # (B,)
        for words, value in (("average", found.mean()), ("lowest", found.min()), ("highest", found.max())):
            yield f"{name}, {words}", value.item()


if __name__ == "__main__":
    write_table(__file__, rates, residuals, gradients, spreads, last_block, without_norms, branches, photographs)
