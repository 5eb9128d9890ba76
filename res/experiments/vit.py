"""Two checks of chapter 06 with five seeds: ten images learned by heart, and a model that reads the wrong token.

python res/experiments/vit.py takes about a minute of one core and writes vit.csv: how many of the ten images are right
after a hundred steps, of the right model, of three faulty ones and with wrong labels; and the test accuracy of two
models of digits after a training, by their own class and with their weights in the package's `ViT`.
"""

from collections.abc import Iterator

from chapter import defined_in, write_table

chapter = defined_in("06_vit")


def ten_by_heart(seed: int) -> Iterator[tuple[str, float]]:
    for name in chapter.tried:
        yield name, chapter.by_heart(name, seed)[1]


def wrong_token(seed: int) -> Iterator[tuple[str, float]]:
    for title, kind in (("class token", chapter.MyViT), ("last patch", chapter.ReadsLast)):
        own, theirs = chapter.accuracies(kind, seed)
        yield title, own
        yield f"{title}, in the package's", theirs


if __name__ == "__main__":
    write_table(__file__, ten_by_heart, wrong_token)
