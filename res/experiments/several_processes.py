"""How the loss falls with larger batches and larger rates in chapter 14, with five seeds.

python res/experiments/several_processes.py takes a minute and a half of one core and writes
several_processes.csv: the validation loss on digits after each of six epochs, for pairs of batch size and rate.
"""

from collections.abc import Iterator

from chapter import defined_in, write_table

chapter = defined_in("14_several_processes")


def batch_sizes(seed: int) -> Iterator[tuple[str, float]]:
    for name in chapter.pairs:
        for epoch, loss in enumerate(chapter.losses(name, seed), start=1):
            yield f"{name}, epoch {epoch}", loss


if __name__ == "__main__":
    write_table(__file__, batch_sizes)
