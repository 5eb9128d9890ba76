"""Draw two-encoders.svg, how CLIP compares images and captions: python res/diagrams/draw_two_encoders.py"""

from collections.abc import Iterator
from functools import partial

import make_diagrams as made
from make_diagrams import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILLION, arrow, rect, tint

STORY = """Three scenes, a batch, go through a ViT, which gives a vector for each. Their three captions go through a
text Transformer, which gives a vector for each. A table has a cell for each image and each caption: the cosine of
the two vectors. The cells on the diagonal belong together and are dark, the others are pale. Along a row, an image
chooses among the captions; down a column, a caption chooses among the images."""
CAPTIONS = ("a red square", "a blue ring", "a green cross")
COLOURS = (VERMILLION, BLUE, GREEN)
CELL, LEFT, TOP = 62, 470, 122  # of the table
IMAGE_LANE = [TOP + CELL * (row + 0.5) for row in range(3)]
say = partial(made.text, size=15)


def scene(x: float, y: float, number: int) -> str:
    """A grey picture of 44 x 44 around (x, y) with one shape."""
    inside = (
        made.rect(x - 10, y - 10, 20, 20, fill=COLOURS[0], stroke="none", rx=0),
        made.element("circle", cx=x + 4, cy=y - 3, r=10, fill="none", stroke=COLOURS[1], stroke_width=5),
        made.element("path", d=f"M{x - 4:g} {y - 8:g}v24m-12-12h24", stroke=COLOURS[2], stroke_width=7),
    )[number]
    return rect(x - 22, y - 22, 44, 44, fill="#D0D0D0", stroke=GREY, rx=0) + inside


def vector(x: float, y: float, colour: str, upright: bool = False) -> str:
    """Five cells of a vector around (x, y)."""
    shades = (0.25, 0.7, 0.4, 0.9, 0.15)
    return "".join(
        rect(
            x - 30 + 12 * (not upright) * i + 24 * upright,
            y - 6 + 12 * upright * (i - 2),
            12,
            12,
            fill=tint(colour, shade),
            stroke=INK,
            stroke_width=1,
            rx=0,
        )
        for i, shade in enumerate(shades)
    )


def images() -> Iterator[str]:
    yield say(60, TOP - 14, "images")
    for row, y in enumerate(IMAGE_LANE):
        yield scene(60, y, row) + arrow((90, y), (168, y)) + arrow((288, y), (342, y)) + vector(382, y, ORANGE)
        yield arrow((420, y), (LEFT - 6, y))
    yield made.box(170, TOP + 8, 116, 3 * CELL - 16, "ViT", size=17, fill=tint(ORANGE, 0.25))


def captions() -> Iterator[str]:
    yield made.box(LEFT + 3 * CELL + 70, 22, 128, 66, "text\nTransformer", size=16, fill=tint(PURPLE, 0.25))
    for row, words in enumerate(CAPTIONS):
        yield say(LEFT + 3 * CELL + 134, TOP + 40 + 26 * row, f"“{words}”")
    yield arrow((LEFT + 3 * CELL + 134, TOP + 18), (LEFT + 3 * CELL + 134, 90))
    yield made.line((LEFT + 3 * CELL + 70, 30), (LEFT + CELL / 2, 30))
    for column in range(3):
        x = LEFT + CELL * (column + 0.5)
        yield arrow((x, 30), (x, 46)) + vector(x, 78, PURPLE, upright=True)
    yield say(LEFT + 3 * CELL + 134, TOP + 134, "captions")


def table() -> Iterator[str]:
    for row in range(3):
        for column in range(3):
            look = tint(INK, 0.75 if row == column else 0.08)
            yield rect(LEFT + CELL * column, TOP + CELL * row, CELL, CELL, fill=look, rx=0)
    yield say(LEFT + 1.5 * CELL, TOP + 3 * CELL + 24, "cosines: dark, where image and caption belong together")


if __name__ == "__main__":
    body = [*images(), *captions(), *table()]
    made.save("two-encoders", made.document("two-encoders", (860, 350), "Two encoders, one table", STORY, *body))
