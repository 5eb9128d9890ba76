"""Draw the six axes of patchify, split, put in order and joined: python res/diagrams/draw_six_axes.py"""

from make_diagrams import (
    BLUE,
    DOT,
    GREY,
    INK,
    MONO,
    ORANGE,
    TIMES,
    VERMILLION,
    WHITE,
    arrow,
    document,
    group,
    line,
    rect,
    save,
    text,
    tint,
)

WHICH, WHERE, BATCH = tint(BLUE, 0.22), tint(ORANGE, 0.3), "#F2F2F2"
CELL, LEFT, TOP = 42, 74, 122  # of the image of 4 x 4 numbers
FOLLOWED = 6
# Name, words and colour of the axes after the split, and the address of the number that is followed.
AXES = [
    ("B", "image", BATCH, 0),
    ("C", "channel", WHERE, 0),
    ("H/P", "row of\npatches", WHICH, 0),
    ("P", "row inside\nthe patch", WHERE, 1),
    ("W/P", "column of\npatches", WHICH, 1),
    ("P", "column inside\nthe patch", WHERE, 0),
]
ORDER = (0, 2, 4, 3, 5, 1)
CARD, PITCH, FIRST = 88, 97, 398  # width of a card, from card to card, left edge of the first
ROWS = (34, 184, 332)  # tops of the three rows of cards

STORY = """
A grey image of 4 by 4 pixels holds the numbers 0 to 15 and is cut into patches of 2 by 2. Reshape splits it into six
axes: image, channel, row of patches, row inside the patch, column of patches, column inside the patch. Permute 0, 2, 4,
3, 5, 1 puts the axes that say which patch, row and column of patches, before the axes that say where in it, row inside,
column inside and channel. A second reshape joins the first two to N, the patch, and the last three to P times P times
C, the place in the patch. The number 6 has the address 0, 0, 0, 1, 1, 0 after the split, 0, 0, 1, 1, 0, 0 after permute
and 0, 1, 2 at the end: patch 1, place 2.
"""


def numbers() -> str:
    """The image, its patches apart, with the four parts of a pixel's address at its sides."""
    parts = [text(LEFT + 92, 44, f"4 {TIMES} 4 pixels, P = 2", size=14, bold=True)]
    for value in range(16):
        row, column = divmod(value, 4)
        x, y = LEFT + column * CELL + 12 * (column // 2), TOP + row * CELL + 12 * (row // 2)
        chosen = value == FOLLOWED
        style = {"fill": VERMILLION, "stroke": INK} if chosen else {"fill": WHITE, "stroke": GREY}
        parts.append(rect(x, y, CELL, CELL, rx=0, **style))
        colour = WHITE if chosen else INK
        parts.append(text(x + CELL / 2, y + 27, str(value), size=15, bold=chosen, fill=colour))
    for place in range(4):
        step = place * CELL + 12 * (place // 2) + CELL / 2
        parts.append(text(LEFT + step, TOP - 10, str(place % 2), size=13, fill="#8A5A00", bold=True))
        parts.append(text(LEFT - 12, TOP + step + 5, str(place % 2), size=13, fill="#8A5A00", bold=True))
    for place in range(2):
        step = place * (2 * CELL + 12) + CELL
        parts.append(text(LEFT + step, TOP - 34, str(place), size=15, fill=BLUE, bold=True))
        parts.append(text(LEFT - 36, TOP + step + 5, str(place), size=15, fill=BLUE, bold=True))
        ends = LEFT + step - CELL + 4, LEFT + step + CELL - 4
        parts.append(line((ends[0], TOP - 27), (ends[1], TOP - 27), stroke=BLUE))
        ends = TOP + step - CELL + 4, TOP + step + CELL - 4
        parts.append(line((LEFT - 27, ends[0]), (LEFT - 27, ends[1]), stroke=BLUE))
    return group(*parts)


def legend() -> str:
    rows = [
        (WHICH, BLUE, "which patch: its row and column"),
        (WHERE, ORANGE, "where in it: row, column, channel"),
        (VERMILLION, INK, "a number to follow: 6"),
    ]
    return group(
        *(
            rect(24, 344 + 26 * k, 18, 16, rx=2, fill=fill, stroke=stroke)
            + text(50, 357 + 26 * k, words, size=13, text_anchor="start")
            for k, (fill, stroke, words) in enumerate(rows)
        )
    )


def card(x: float, y: float, width: float, name: str, words: str, colour: str, address: int) -> str:
    lines = words.count("\n")
    return group(
        rect(x, y, width, 66, fill=colour, stroke=INK),
        text(x + width / 2, y + 20, name, size=15, bold=True),
        text(x + width / 2, y + (40 if lines else 46), words, size=12),
        rect(x + width / 2 - 12, y + 71, 24, 20, rx=3, fill=VERMILLION, stroke="none"),
        text(x + width / 2, y + 86, str(address), size=13, bold=True, fill=WHITE),
    )


def stage(row: int, number: str, call: str) -> str:
    y, x = ROWS[row] + 30, FIRST - 16
    name = text(x, y, number, size=15, bold=True, text_anchor="end")
    return name + text(x, y + 20, call, size=13, text_anchor="end", font_family=MONO)


def cards() -> str:
    parts = [
        stage(0, "1 split", "reshape"),
        stage(1, "2 order", "permute"),
        stage(2, "3 join", "reshape"),
    ]
    places = [FIRST + PITCH * k for k in range(6)]
    for k, (x, axis) in enumerate(zip(places, AXES, strict=True)):
        parts.append(card(x, ROWS[0], CARD, *axis) + text(x + 9, ROWS[0] + 15, str(k), size=12, fill=GREY))
    for x, k in zip(places, ORDER, strict=True):
        start, end = places[k] + CARD / 2, x + CARD / 2
        colour = {WHICH: BLUE, WHERE: ORANGE}.get(AXES[k][2], GREY)
        parts.append(line((start, ROWS[0] + 92), (end, ROWS[1] - 1), stroke=colour, stroke_width=2.5, opacity=0.55))
        parts.append(card(x, ROWS[1], CARD, *AXES[k]) + text(x + 9, ROWS[1] + 15, str(k), size=12, fill=GREY))
    joined = [
        (0, 0, "B", "image", BATCH, 0),
        (1, 2, "N = H/P " + DOT + " W/P", "which patch: 0 " + DOT + " 2 + 1", WHICH, 1),
        (3, 5, "P " + DOT + " P " + DOT + " C", "where in it: (1 " + DOT + " 2 + 0) " + DOT + " 1 + 0", WHERE, 2),
    ]
    for first, last, name, words, colour, address in joined:
        x, width = places[first], PITCH * (last - first) + CARD
        if first < last:
            for k in range(first, last + 1):
                start = places[k] + CARD / 2
                parts.append(line((start, ROWS[1] + 92), (start, ROWS[2] - 30), stroke=GREY))
            parts.append(line((places[first] + CARD / 2, ROWS[2] - 30), (places[last] + CARD / 2, ROWS[2] - 30)))
        middle, top = x + width / 2, ROWS[1] + 92 if first == last else ROWS[2] - 30
        parts.append(arrow((middle, top), (middle, ROWS[2] - 1)))
        parts.append(card(x, ROWS[2], width, name, words, colour, address))
    return group(*parts)


def six_axes(name: str) -> str:
    title = "Patchify: six axes, split, put in order and joined"
    return document(name, (1000, 440), title, STORY, numbers(), legend(), cards())


if __name__ == "__main__":
    save("six-axes", six_axes("six-axes"))
