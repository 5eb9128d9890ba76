"""Which token gives the answer, in chapter 02: fifteen small models of digits, three inputs to the head, five seeds.

python res/experiments/class_token.py takes about a minute of one core and writes class_token.csv: the test accuracies,
that of the blank patch where it is blank, and of the models with a class token what the head makes of each token.
"""

from collections.abc import Iterator
from functools import cache

from chapter import defined_in, write_table

from vit_course.training import evaluate

chapter = defined_in("02_class_token")
train = cache(chapter.train)  # (kind, seed) -> the model and its test accuracy


def accuracy(seed: int) -> Iterator[tuple[str, float]]:
    for kind in ("class token", "mean", "blank patch"):
        yield kind, train(kind, seed)[1]


def where_blank(seed: int) -> Iterator[tuple[str, float]]:
    yield "blank patch", evaluate(train("blank patch", seed)[0], chapter.blank_there, chapter.digits)[1]


def by_token(seed: int) -> Iterator[tuple[str, float]]:
    right = chapter.right_by_token(train("class token", seed)[0])  # (T,)
    yield "at the class token", right[0].item()
    yield "at a patch token, mean", right[1:].mean().item()


if __name__ == "__main__":
    write_table(__file__, accuracy, where_blank, by_token)
