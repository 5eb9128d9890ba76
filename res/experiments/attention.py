"""The control of chapter 04: what the heads of a model with shuffled weights give to the cat's other eye.

python res/experiments/attention.py takes about ten seconds of one core and writes attention.csv: for five random orders
of the numbers of each tensor, the largest share among 72 heads.
"""

from collections.abc import Iterator

from chapter import defined_in, write_table

chapter = defined_in("04_attention")


def shuffled_weights(seed: int) -> Iterator[tuple[str, float]]:
    yield "best head", chapter.with_shuffled_weights(seed)


if __name__ == "__main__":
    write_table(__file__, shuffled_weights)
