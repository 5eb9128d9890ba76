"""Draw pre-post-norm.svg, the two places of the norm in a block: python res/diagrams/draw_pre_post_norm.py"""

from make_diagrams import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    VERMILLION,
    arrow,
    box,
    document,
    dot,
    line,
    plus,
    rect,
    save,
    text,
    tint,
)

STORY = """
Two encoder blocks side by side, each read from top to bottom. Left, pre-norm, as in ViT: the stream runs straight down
and meets nothing but two additions; each branch leaves it, goes through a norm and then through attention or the MLP,
and is added. Right, post-norm, as in the Transformer of 2017: each branch reads the stream as it is, is added, and then
the stream itself goes through a norm, twice in a block.
"""
TOP, BOTTOM = 86, 430
STREAM = {"stroke": BLUE, "stroke_width": 5}
ATTENTION = {"fill": tint(ORANGE, 0.15), "stroke": ORANGE, "stroke_width": 2}
MLP = {"fill": tint(GREEN, 0.15), "stroke": GREEN, "stroke_width": 2}
NORM = {"fill": tint(VERMILLION, 0.12), "stroke": VERMILLION, "stroke_width": 2}
BRANCH = 172  # how far to the right of the stream a branch runs


def branch(x: float, leaves: float, joins: float, *boxes: tuple[float, float, str, dict]) -> str:
    """A way from the stream to the right, down through the boxes, and back onto a plus."""
    beside = x + BRANCH
    parts = [dot(x, leaves), line((x, leaves), (beside, leaves), stroke=GREY)]
    at = leaves
    for y, height, words, look in boxes:
        parts += [arrow((beside, at), (beside, y), colour=GREY)]
        parts += [box(beside - 66, y, 132, height, words, size=14, **look)]
        at = y + height
    parts += [arrow((beside, at), (beside, joins), (x + 12, joins), colour=GREY), plus(x, joins, 12)]
    return "".join(parts)


def pre_norm(x: float) -> str:
    return "".join(
        [
            line((x, TOP), (x, BOTTOM - 8), **STREAM),
            arrow((x, BOTTOM - 10), (x, BOTTOM), colour=BLUE),
            branch(x, 104, 240, (116, 30, "norm", NORM), (164, 50, "attention", ATTENTION)),
            branch(x, 264, 400, (276, 30, "norm", NORM), (324, 50, "MLP", MLP)),
            text(x - 18, 176, "the stream meets\nnothing but\nadditions", text_anchor="end", size=13, fill=BLUE),
        ]
    )


def post_norm(x: float) -> str:
    norms = [box(x - 48, y, 96, 30, "norm", size=14, **NORM) for y in (222, 382)]
    return "".join(
        [
            line((x, TOP), (x, BOTTOM - 8), **STREAM),
            arrow((x, BOTTOM - 10), (x, BOTTOM), colour=BLUE),
            branch(x, 104, 196, (124, 50, "attention", ATTENTION)),
            branch(x, 268, 356, (286, 50, "MLP", MLP)),
            *norms,
            text(
                x - 60, 234, "the stream itself\nis normalised,\ntwice a block", text_anchor="end", size=13, fill=BLUE
            ),
        ]
    )


def draw() -> str:
    words = [
        text(225, 40, "pre-norm: ViT (2020)", size=17, bold=True),
        text(675, 40, "post-norm: the Transformer (2017)", size=17, bold=True),
        *(text(x, 76, "tokens z, (B, T, D)", size=13) for x in (160, 632)),
        *(text(x, 447, "(B, T, D), to the next block", size=13) for x in (160, 632)),
        text(225, 474, "z' = z + MSA(LN(z)),   then   z' + MLP(LN(z'))", size=14, fill=INK),
        text(675, 474, "z' = LN(z + MSA(z)),   then   LN(z' + MLP(z'))", size=14, fill=INK),
        line((450, 24), (450, 484), stroke=GREY, stroke_width=1, stroke_dasharray="4 4"),
    ]
    frames = [rect(16, 52, 418, 400, rx=10, fill="#FCFCFC", stroke="none")]
    frames += [rect(466, 52, 418, 400, rx=10, fill="#FCFCFC", stroke="none")]
    body = [*frames, pre_norm(160), post_norm(632), *words]
    return document("pre-post-norm", (900, 500), "Pre-norm beside post-norm", STORY, *body)


if __name__ == "__main__":
    save("pre-post-norm", draw())
