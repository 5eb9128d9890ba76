"""What positions are worth, in chapter 03: fifteen small models of digits, three kinds of positions, five seeds.

python res/experiments/position_embeddings.py takes about a minute of one core and writes position_embeddings.csv: test
accuracies; what the models make of shuffled patches, and of enlarged digits with an interpolated table; and what the
shapes model makes of pictures when the rows of its table are 0, or shuffled: five orders take the place of the seeds.
"""

from collections.abc import Iterator
from functools import cache

from chapter import defined_in, write_table

from vit_course.training import evaluate

chapter = defined_in("03_position_embeddings")
train = cache(chapter.train_digits)  # (patch size, kind of positions, seed) -> the model


def accuracy(seed: int) -> Iterator[tuple[str, float]]:
    for kind in ("none", "learned", "sincos2d"):
        yield kind, evaluate(train(2, kind, seed), chapter.digits.test, chapter.digits)[1]


def pieces(seed: int) -> Iterator[tuple[str, float]]:
    for kind in ("none", "learned"):
        same, right = chapter.in_pieces(train(2, kind, seed), chapter.digit_orders[seed])
        yield f"{kind}, same answer", same
        yield f"{kind}, accuracy", right


def enlarged(seed: int) -> Iterator[tuple[str, float]]:
    yield from chapter.three_ways(train(2, "learned", seed)).items()


def patch_rows(seed: int) -> Iterator[tuple[str, float]]:
    rows = chapter.trained[:, 1:]  # (1, N, D)
    if seed == 0:  # what has no draw stands once
        yield "as trained", chapter.accuracy_with(rows)
        yield "set to 0", chapter.accuracy_with(0 * rows)
    yield "shuffled", chapter.accuracy_with(chapter.trained[:, chapter.row_orders[seed]])


if __name__ == "__main__":
    write_table(__file__, accuracy, pieces, enlarged, patch_rows)
