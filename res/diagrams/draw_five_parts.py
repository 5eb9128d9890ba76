"""Draw five-parts.svg, the block with five later parts: python res/diagrams/draw_five_parts.py"""

from collections.abc import Iterator
from functools import partial

import make_diagrams as made
from make_diagrams import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, arrow, box, dot, plus, tint

STORY = """A pre-norm encoder block from left to right, with five later parts marked. 1 registers: tokens that belong to
no patch go in beside the class token and the patches. Inside self-attention, a matrix makes q, k and v; 2 QK-norm puts
a norm on q and k; 3 RoPE turns both by the place of their patch; v goes past both. 4 SwiGLU takes the place of the MLP.
5 LayerScale multiplies what attention, and what the MLP, adds to the residual stream."""
ROW, TOP = 190, 66  # of the stream, of the residual branches
PART = {"stroke": VERMILLION, "stroke_width": 2.5, "fill": tint(VERMILLION, 0.1)}
STEP = {"stroke": GREY, "fill": "#F2F2F2"}
say = partial(made.text, size=15)
COLUMN = (PURPLE, 1), (VERMILLION, 2), (BLUE, 4)
NAMES = "registers", "QK-norm", "RoPE", "SwiGLU", "LayerScale"


def tokens(x: float) -> Iterator[str]:
    """The class token, two registers and some patches, one above the other."""
    y = ROW - 66
    for colour, count in COLUMN:
        for _ in range(count):
            yield made.rect(x, y, 34, 15, rx=2, stroke=colour, fill=tint(colour, 0.3))
            y += 19
    yield say(x - 10, ROW - 32, "1", bold=True) + say(x + 17, ROW - 76, "tokens")


def part(number: int, x: float, width: float, y: float, words: str, height: float = 46) -> str:
    """One of the five, with its number."""
    return box(x, y - height / 2, width, height, f"{number} {words}", size=15, **PART)


def draw() -> str:
    attention = made.rect(194, 98, 348, 176, stroke=ORANGE, stroke_width=2, fill=tint(ORANGE, 0.08))
    inside = [box(202, 116, 52, 148, "q, k, v\nby a\nmatrix", size=14, **STEP)]
    for name, y in (("q", 140), ("k", ROW)):
        inside += [arrow((254, y), (284, y)), part(2, 284, 74, y, "norm"), arrow((358, y), (378, y))]
        inside += [part(3, 378, 70, y, "turn"), arrow((448, y), (470, y))]
        inside.append(say(268, y - 7, name, bold=True))
    inside += [arrow((254, 240), (470, 240)), say(268, 233, "v", bold=True)]
    inside.append(box(470, 116, 64, 148, "scores,\nsoftmax,\naverage,\nproject", size=13, **STEP))
    stream = [arrow((66, ROW), (110, ROW)), arrow((160, ROW), (202, ROW)), arrow((534, ROW), (562, ROW))]
    stream += [arrow((624, ROW), (652, ROW)), arrow((672, ROW), (716, ROW)), arrow((766, ROW), (794, ROW))]
    stream += [arrow((884, ROW), (904, ROW)), arrow((966, ROW), (990, ROW)), arrow((1010, ROW), (1046, ROW))]
    norms = [box(x, ROW - 26, 50, 52, "norm", size=14, **STEP) for x in (110, 716)]
    parts = [part(5, 562, 62, ROW, "scale"), part(5, 904, 62, ROW, "scale")]
    mlp = box(794, ROW - 40, 90, 80, "4 SwiGLU\nfor MLP", size=15, **(PART | {"stroke": GREEN}))
    ways = []
    for start, end in ((88, 662), (692, 1000)):
        ways.append(arrow((start, ROW), (start, TOP), (end, TOP), (end, ROW - 10), colour=BLUE, stroke_width=2.5))
        ways += [dot(start, ROW), plus(end, ROW, 10)]
    words = [say(x, TOP - 12, "residual stream") for x in (375, 846)] + [say(368, 294, "self-attention")]
    legend = [say(155 + 190 * i, 336, f"{i + 1} {name}", size=18, bold=True) for i, name in enumerate(NAMES)]
    return made.document(
        "five-parts", (1070, 360), "An encoder block with five later parts", STORY,
        *tokens(26), attention, *inside, *stream, *norms, *parts, mlp, *ways, *words, *legend,
    )  # fmt: skip


if __name__ == "__main__":
    made.save("five-parts", draw())
