"""Five seeds of what chapter 12 measures with one: python res/experiments/further.py (a minute of one core)

How training goes with weights in float32, in bfloat16 and with autocast; and what share of 500 images the shapes model
classifies correctly from some of their patches.
"""

from collections.abc import Iterator

from chapter import defined_in, write_table

chapter = defined_in("12_further")


def bits(seed: int) -> Iterator[tuple[str, float]]:
    """The mean loss of epoch 4 by kind of number."""
    for name, how in chapter.KINDS.items():
        yield name, chapter.short_run(seed, *how)[1]


def patches(seed: int) -> Iterator[tuple[str, float]]:
    """The share right with a share of the patches, in one draw."""
    for keep in (1, 0.75, 0.5, 0.25):
        right = chapter.answers_with(keep, seed) == chapter.truth  # (B,)
        yield f"{keep:.0%}", right.double().mean().item()


if __name__ == "__main__":
    write_table(__file__, bits, patches)
