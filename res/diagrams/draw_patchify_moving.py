"""Draw the moving picture of patchify: python res/diagrams/draw_patchify_moving.py

One patch after the other leaves the image, takes its place in the sequence and is written as a column of numbers. Where
motion is reduced, and where nothing moves, it shows the end: all patches in their places.
"""

from make_diagrams import (
    BLUE,
    COLOURS,
    GREY,
    GRID,
    PATCH,
    PICTURE,
    TIMES,
    WHITE,
    arrow,
    document,
    frame,
    group,
    image,
    motion,
    patch_rows,
    pixels,
    rect,
    save,
    text,
)

SIDE, X, Y = 168, 30, 74  # of the image
PIXEL = SIDE / len(PICTURE)
SQUARE = PATCH * PIXEL
FIRST, PITCH, ROW = 262, 70, 74  # the squares of the sequence: left edge, from one to the next, top
TALL, WIDE, CELL = 176, 22, 8  # top of the columns, their width, the height of a number
SECONDS, COUNT = 24, GRID * GRID
LEAVE, EACH = 6.0, 8.0  # per cent of the time: when the first patch leaves, and from one to the next

STORY = """
An image of 12 by 12 pixels is cut into 9 patches of 4 by 4. One after the other, row by row from the top left, they
leave the image and stand side by side as a sequence, numbered 0 to 8. Each is then written as one column of its 16
pixels, row by row: three numbers a pixel, 48 in all. The still picture shows the end, with all patches in their places.
"""


def slot(k: int) -> float:
    return FIRST + PITCH * k


def keyframes(k: int) -> str:
    """The way of patch k from its place in the image to its place in the sequence, and its column."""
    row, column = divmod(k, GRID)
    away = f"translate({X + column * SQUARE - slot(k):g}px,{Y + row * SQUARE - ROW:g}px)"
    leave, there, written = LEAVE + EACH * k, LEAVE + EACH * k + 4.5, LEAVE + EACH * k + 7.5
    return (
        f"@keyframes m{k}{{0%,{leave:g}%{{transform:{away}}}{there:g}%,100%{{transform:none}}}}"
        f"@keyframes c{k}{{0%,{there:g}%{{opacity:0}}{written:g}%,100%{{opacity:1}}}}"
        f"@keyframes h{k}{{0%,{leave:g}%{{opacity:0}}{leave + 0.5:g}%,96%{{opacity:.75}}100%{{opacity:0}}}}"
        f".m{k}{{animation:m{k} {SECONDS}s ease-in-out infinite}}"
        f".c{k}{{animation:c{k} {SECONDS}s linear infinite}}"
        f".h{k}{{animation:h{k} {SECONDS}s linear infinite}}"
    )


def square(k: int) -> str:
    drawn = pixels(patch_rows(*divmod(k, GRID)), slot(k), ROW, PIXEL, PIXEL, COLOURS)
    return group(drawn + frame(slot(k), ROW, SQUARE, SQUARE), **{"class": f"m{k}"})


def column(k: int) -> str:
    x, letters = slot(k) + (SQUARE - WIDE) / 2, list("".join(patch_rows(*divmod(k, GRID))))
    drawn = pixels(letters, x, TALL, WIDE, CELL, COLOURS) + frame(x, TALL, WIDE, CELL * PATCH**2)
    down = arrow((x + WIDE / 2, ROW + SQUARE + 18), (x + WIDE / 2, TALL - 5), colour=GREY)
    return group(drawn, down, **{"class": f"c{k}"})


def hole(k: int) -> str:
    row, place = divmod(k, GRID)
    style = {"rx": 0, "fill": WHITE, "stroke": "none", "opacity": 0, "class": f"h{k}"}
    return rect(X + place * SQUARE, Y + row * SQUARE, SQUARE, SQUARE, **style)


def patchify_moving(name: str) -> str:
    words = [
        text(X + SIDE / 2, 40, "image", size=15, bold=True),
        text(X + SIDE / 2, Y + SIDE + 24, f"12 {TIMES} 12 pixels, P = 4", size=13),
        text(X + SIDE / 2, Y + SIDE + 44, "(1, 3, 12, 12)", size=13),
        text(slot(4) + SQUARE / 2, 40, "the sequence: N = 9 patches, row by row", size=15, bold=True),
        text(slot(4) + SQUARE / 2, 336, "each patch flattened: its 16 pixels of 3 numbers, (1, 9, 48)", size=13),
    ]
    style = {"size": 13, "fill": BLUE, "bold": True}
    numbers = [text(slot(k) + SQUARE / 2, ROW + SQUARE + 15, str(k), **style) for k in range(COUNT)]
    parts = [motion(map(keyframes, range(COUNT))), image(X, Y, SIDE), *map(hole, range(COUNT)), *words, *numbers]
    parts += [*map(column, range(COUNT)), *map(square, range(COUNT))]
    return document(name, (912, 356), "Patchify: an image becomes a sequence", STORY, *parts)


if __name__ == "__main__":
    save("patchify-moving", patchify_moving("patchify-moving"))
