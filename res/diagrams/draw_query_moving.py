"""Draw query-moving.svg: one patch after another asks a small picture; python res/diagrams/draw_query_moving.py

The numbers are computed: query and key of a patch are what it shows, as a vector of length 2, and its value is its mean
colour. The picture moves by CSS and stands still, on its first patch, where motion is reduced.
"""

import math

from make_diagrams import (
    BLUE,
    COLOURS,
    GREY,
    INK,
    WHITE,
    arrow,
    document,
    element,
    frame,
    group,
    image,
    motion,
    patch_rows,
    rect,
    rectangle,
    save,
    text,
    tint,
)

CUTS = 6  # patches a side
SIDE = 210
CELL = SIDE / CUTS
TOP = 74
LEFT = (30, 292, 554)  # of the three panels
OUTPUT = 816
SHARPNESS = 4  # the product of the lengths of a query and a key
TURNS = (("roof", "r", (1, 2)), ("tree", "t", (3, 5)), ("sky", "s", (0, 0)), ("sun", "y", (0, 4)))
SECONDS = 6  # a turn
SIZE = (900, 348)
PLACES = [(row, column) for row in range(CUTS) for column in range(CUTS)]


# --- Attention in plain Python ------------------------------------------------------------------------------------


def letters(row: int, column: int) -> str:
    """The pixels of a patch."""
    return "".join(patch_rows(row, column, CUTS))


def direction(place: tuple[int, int]) -> list[float]:
    """How much of each thing a patch shows, as a vector of length 1."""
    counts = [letters(*place).count(thing) for thing in COLOURS]
    return [count / math.hypot(*counts) for count in counts]


def scores_of(place: tuple[int, int]) -> list[float]:
    """The dot products of one patch's query with the keys of all patches."""
    query = direction(place)
    return [SHARPNESS * sum(q * k for q, k in zip(query, direction(key), strict=True)) for key in PLACES]


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def value(place: tuple[int, int]) -> list[float]:
    """The mean colour of a patch."""
    pixels = [COLOURS[thing] for thing in letters(*place)]
    return [sum(int(pixel[start : start + 2], 16) for pixel in pixels) / len(pixels) for start in (1, 3, 5)]


def average(weights: list[float]) -> str:
    """The average of the values under the weights, as a colour."""
    values = [value(place) for place in PLACES]
    mixed = [sum(w * one[channel] for w, one in zip(weights, values, strict=True)) for channel in range(3)]
    return "#" + "".join(f"{round(channel):02X}" for channel in mixed)


# --- The panels of one turn ---------------------------------------------------------------------------------------


def cells(left: float, amounts: list[float], steps: int) -> dict[int, str]:
    """The patches as one path for each step of their amounts, which lie between 0 and 1."""
    paths: dict[int, str] = {}
    for (row, column), amount in zip(PLACES, amounts, strict=True):
        level = round(amount * steps)
        paths[level] = paths.get(level, "") + rectangle(left + column * CELL, TOP + row * CELL, CELL, CELL)
    return paths


def score_table(scores: list[float]) -> str:
    """Every patch with its score, the darker the larger."""
    paths = cells(LEFT[1], [score / SHARPNESS for score in scores], 8)
    shaded = [element("path", d=path, fill=tint(BLUE, 0.6 * level / 8)) for level, path in sorted(paths.items())]
    numbers = [
        element("text", f"{score:.1f}", x=LEFT[1] + (column + 0.5) * CELL, y=TOP + (row + 0.5) * CELL + 4)
        for (row, column), score in zip(PLACES, scores, strict=True)
    ]
    return group(*shaded) + group(*numbers, font_size=12, text_anchor="middle", fill=INK)


def spotlight(weights: list[float]) -> str:
    """A dark sheet over the picture, thinner the more weight a patch has."""
    highest = max(weights)
    paths = cells(LEFT[2], [weight / highest for weight in weights], 12)
    shades = [
        element("path", d=path, fill="#000000", fill_opacity=round(0.85 * (1 - level / 12), 3))
        for level, path in sorted(paths.items())
        if level < 12
    ]
    return group(*shades)


def turn(index: int, name: str, thing: str, place: tuple[int, int]) -> str:
    """All that changes while one patch asks, in the order in which it appears."""
    scores = scores_of(place)
    weights = softmax(scores)
    share = sum(weight for key, weight in zip(PLACES, weights, strict=True) if thing in letters(*key))
    words = f"A patch of the {name} asks. {share:.2f} of its weight goes to patches that show some {name}."
    swatch = rect(OUTPUT, TOP + 75, 60, 60, fill=average(weights), rx=0)
    parts = (text(SIZE[0] / 2, 326, words, size=15, bold=True), score_table(scores), spotlight(weights), swatch)
    return group(*(group(part, **{"class": f"turn {step} t{index}"}) for step, part in zip("abcd", parts, strict=True)))


def style() -> str:
    """Each turn has its share of the cycle; within it scores, weights and output appear one after the other."""
    cycle, share = SECONDS * len(TURNS), 100 / len(TURNS)
    rules = [".turn{opacity:0}", ".t0{opacity:1}", f".turn,.frame{{animation:{cycle}s infinite}}"]
    rules += [f".turn.t{index}{{animation-delay:{SECONDS * index - cycle}s}}" for index in range(len(TURNS))]
    for step, begin in zip("abcd", (0, 3, 8, 13), strict=True):
        rules.append(f".turn.{step}{{animation-name:{step}}}")
        rules.append(
            f"@keyframes {step}{{0%,{begin}%{{opacity:0}}{begin + 2}%,{share - 1:g}%{{opacity:1}}"
            f"{share:g}%,100%{{opacity:0}}}}"
        )
    stops = []
    row, column = TURNS[0][2]
    for index, (_, _, place) in enumerate([*TURNS, TURNS[0]]):
        moved = f"transform:translate({(place[1] - column) * CELL:g}px,{(place[0] - row) * CELL:g}px)"
        until = f",{(index + 1) * share - 2:g}%" if index < len(TURNS) else ""
        stops.append(f"{index * share:g}%{until}{{{moved}}}")
    rules.append(f".frame{{animation-name:frame}}@keyframes frame{{{''.join(stops)}}}")
    return motion(rules)


def asking() -> str:
    """The frame around the patch that asks; it begins on the first."""
    row, column = TURNS[0][2]
    place = (LEFT[0] + column * CELL, TOP + row * CELL, CELL, CELL)
    rings = frame(*place, INK, 6) + frame(*place, WHITE, 3)
    return group(rings, **{"class": "frame"})


STORY = """
A small picture of a house, a tree, sky and sun, cut into 6 x 6 patches. One patch after another asks: a patch of the
roof, of the tree, of the sky, of the sun. Its query gives one score with the key of every patch; a softmax turns the
scores into weights, drawn as light on the picture, most of it on patches of the same kind; the output is the average of
the values, here of the patches' colours, under these weights.
"""


def query_moving(name: str) -> str:
    heads = ("1  one patch asks", "2  query \u00b7 key, for every patch", "3  weights: softmax, sum 1")
    titles = [text(left + SIDE / 2, 40, words, size=14, bold=True) for left, words in zip(LEFT, heads, strict=True)]
    notes = ("its query goes to all patches", "the larger, the better the match", "bright: more attention")
    titles += [text(left + SIDE / 2, 59, words, size=12, fill=GREY) for left, words in zip(LEFT, notes, strict=True)]
    titles += [
        text(OUTPUT + 30, 40, "4  output", size=14, bold=True),
        text(OUTPUT + 30, TOP + 155, "average of\nthe values"),
    ]
    middle = TOP + SIDE / 2
    arrows = [arrow((left + SIDE + 8, middle), (left + 254, middle), stroke_width=2) for left in LEFT]
    pictures = [image(left, TOP, SIDE, cuts=CUTS) for left in (LEFT[0], LEFT[2])]
    borders = [frame(left, TOP, SIDE, SIDE, INK, 1.5) for left in LEFT[1:]]
    turns = [turn(index, *one) for index, one in enumerate(TURNS)]
    body = [style(), *titles, *arrows, *pictures, *turns, *borders, asking()]
    return document(name, SIZE, "One query after another", STORY, *body)


if __name__ == "__main__":
    save("query-moving", query_moving("query-moving"))
