"""Draw clock-hands.svg, places as the hands of clocks: python res/diagrams/draw_clock_hands.py"""

from math import cos, sin

from make_diagrams import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    VERMILLION,
    document,
    element,
    group,
    line,
    rect,
    save,
    text,
    tint,
)

STORY = """
Eight places on a line, 0 to 7, each with three clocks under it. At place 0 every hand points straight up. From one
place to the next the fast hand turns by 1 radian, the middle one by 0.3 and the slow one by 0.1, clockwise. The tip of
a hand lies at sine to the right and cosine upwards. The position vector of a place is the list of the tips of its
clocks: for place 3 with these three clocks sin 3, sin 0.9, sin 0.3, cos 3, cos 0.9, cos 0.3. The fast hand stands
nearly as at place 0 again at place 6; the slow hand has hardly moved from one place to the next.
"""
PLACES, RADIUS, PITCH, LEFT = 8, 27, 72, 176
HANDS = (("fast", 1.0, VERMILLION, 128), ("middle", 0.3, BLUE, 206), ("slow", 0.1, GREEN, 284))
CHOSEN = 3


def clock(x: float, y: float, angle: float, colour: str) -> str:
    """A clock face whose hand has turned by the angle from straight up."""
    tip = (x + RADIUS * sin(angle), y - RADIUS * cos(angle))
    return group(
        element("circle", cx=x, cy=y, r=RADIUS, fill=tint(colour, 0.08), stroke=GREY, stroke_width=1),
        line((x, y - RADIUS), (x, y - RADIUS + 5), stroke=GREY, stroke_width=1),
        line((x, y), (round(tip[0], 2), round(tip[1], 2)), stroke=colour, stroke_width=3.5),
        element("circle", cx=round(tip[0], 2), cy=round(tip[1], 2), r=4, fill=colour),
    )


def draw() -> str:
    middles = [LEFT + PITCH * place for place in range(PLACES)]
    chosen = middles[CHOSEN]
    parts = [
        rect(chosen - 34, 48, 68, 276, fill="#FFF8DC", stroke=INK, stroke_width=2),
        text(LEFT - 100, 76, "place p", size=14, bold=True),
    ]
    for place, x in enumerate(middles):
        parts += [rect(x - 15, 56, 30, 30, rx=2, fill=PALE, stroke=GREY), text(x, 76, str(place), size=14, bold=True)]
    for name, turn, colour, y in HANDS:
        words = f"{name} hand\n{turn:g} radian a place"
        parts += [text(LEFT - 100, y, words, size=13), *(clock(x, y, turn * p, colour) for p, x in enumerate(middles))]
    right = middles[-1] + 60
    parts += [text(right + 84, 76, f"vector of place {CHOSEN}", size=14, bold=True)]
    for _, turn, colour, y in HANDS:
        angle = turn * CHOSEN
        for row, (name, value) in enumerate((("sin", sin(angle)), ("cos", cos(angle)))):
            words = f"{name} {angle:.1f} = {value:.2f}"
            parts += [
                rect(right + 14, y - 25 + 26 * row, 140, 23, rx=2, fill=tint(colour, 0.12), stroke=colour),
                text(right + 84, y - 9 + 26 * row, words, size=13),
            ]
    parts += [
        text(
            LEFT - 166,
            32,
            "Each place has the same clocks, turned by the place",
            bold=True,
            size=15,
            text_anchor="start",
        ),
        text(
            LEFT - 34, 346, "tip of a hand: sine to the right, cosine upwards", size=13, fill=GREY, text_anchor="start"
        ),
    ]
    return document("clock-hands", (920, 364), "Places as the hands of clocks", STORY, *parts)


if __name__ == "__main__":
    save("clock-hands", draw())
