"""Draw student-teacher.svg, DINO and what DINOv2 adds: python res/diagrams/draw_student_teacher.py"""

from collections.abc import Iterator
from functools import partial
from math import exp

import make_diagrams as made
from make_diagrams import BLUE, GREY, INK, ORANGE, VERMILLION, arrow, dot, frame, image, pixels, rect, tint

STORY = """From one image come 4 small and 2 large views. All views go to the student, a ViT and a head with K numbers;
softmax, temperature 0.1, makes them shares. Large views only go to the teacher, built alike; its K numbers minus the
centre go through softmax, temperature 0.04: sharper shares. Cross-entropy compares the two, each from another view. Its
gradient goes back through the student alone; the teacher is its moving average. DINOv2 adds iBOT, the same comparison
for patches hidden from the student; Sinkhorn-Knopp, a batch's answers balanced, in place of the centre; KoLeo, features
of a batch spread apart; then ViT-S, 21 million, distilled from the finished ViT-g, 1.1 billion parameters."""
UP, MID, DOWN = 84, 206, 328  # the student's lane, where the two meet, the teacher's lane
STUDENT, TEACHER = {"fill": tint(ORANGE, 0.25), "stroke": ORANGE, "stroke_width": 3}, {"fill": tint(BLUE, 0.15)}
STEP, BACK = {"fill": "#F2F2F2", "stroke": GREY}, {"stroke": VERMILLION, "stroke_width": 2.5}
ANSWERS = ("abaa", "abaa", "aaba", "abaa"), ("baaa", "aaab", "aaba", "abaa")  # one row an image of a batch
FEATURES = ((18, 20), (26, 17), (22, 28), (30, 26), (27, 33)), ((8, 9), (40, 7), (23, 25), (41, 40), (9, 39))
ADDED = (
    ("iBOT", "the same comparison for\npatches hidden from\nthe student"),
    ("Sinkhorn-Knopp", "a batch's answers\nbalanced, in place of\nthe centre"),
    ("KoLeo", "features of a batch\nspread apart"),
)
say = partial(made.text, size=15)


def named(x: float, y: float, width: float, height: float, name: str, words: str, **look) -> str:
    """A box around the height y, with a bold name above its words."""
    box, first = rect(x, y - height / 2, width, height, **look), y - 4.5 - 9.5 * words.count("\n")
    return box + say(x + width / 2, first, name, bold=True) + say(x + width / 2, first + 19, words)


def views() -> Iterator[str]:
    cuts = [(33, UP - 40, 6, 1, 0), (77, UP - 40, 6, 6, 0), (33, UP + 4, 6, 2, 4), (77, UP + 4, 6, 6, 6)]
    for x, y, cells, left, top in [*cuts, (21, DOWN - 24, 8, 0, 1), (77, DOWN - 24, 8, 4, 4)]:
        rows = [row[left : left + cells] for row in made.PICTURE[top : top + cells]]
        yield pixels(rows, x, y, 6, 6, made.COLOURS) + frame(x, y, 6 * cells, 6 * cells, INK)
    yield arrow((73, MID), (73, UP + 43)) + arrow((73, MID), (73, DOWN - 27)) + image(37, MID - 36, 72, cuts=1)
    for y, words in ((UP - 52, "4 small views"), (DOWN + 58, "2 large views")):
        yield say(73, y, words) + say(392, y, "K numbers") + say(692, y, "shares")
    yield say(190, UP - 9, "all views") + arrow((116, UP), (238, UP)) + dot(142, DOWN)
    yield say(190, DOWN - 28, "large views\nonly") + arrow((128, DOWN), (238, DOWN))
    yield arrow((142, DOWN), (142, UP + 16), (238, UP + 16))


def lane(y: float, name: str, look: dict, numbers: tuple, centre: tuple, temperature: float) -> Iterator[str]:
    powers = [exp((number - middle) / temperature) for number, middle in zip(numbers, centre, strict=True)]
    shares = [62 * power / sum(powers) for power in powers]
    for x, foot, heights in ((366, y + 16, [160 * number for number in numbers]), (665, y + 31, shares)):
        bars = "".join(made.rectangle(x + 11 * k, foot, 9, -height) for k, height in enumerate(heights))
        yield made.element("path", d=f"{bars}M{x - 2:g} {foot:g}h57", fill=look["fill"], stroke=INK)
    yield named(238, y, 104, 62, name, "ViT + head", **look) + arrow((342, y), (364, y)) + arrow((426, y), (533, y))
    if any(centre):
        yield arrow((439, y), (447, y)) + rect(447, y - 28, 64, 56, **STEP) + say(479, y - 4, "minus\ncentre")
    yield named(533, y, 108, 76, "softmax", f"temperature\n{temperature}", **STEP) + arrow((641, y), (663, y))


def between() -> Iterator[str]:
    yield arrow((692, UP + 37), (692, MID - 31)) + arrow((692, DOWN - 37), (692, MID + 31))
    yield named(533, MID, 187, 60, "cross-entropy,", "other view", fill=tint(VERMILLION, 0.12), **BACK)
    yield arrow((533, MID - 14), (310, MID - 14), (310, UP + 32), colour=VERMILLION, stroke_width=2.5)
    yield made.element("path", d=f"M533 {MID + 14}H310v36m-8-8l16 16m0-16l-16 16", fill="none", **BACK)
    yield arrow((270, UP + 33), (270, DOWN - 31), stroke_width=2, stroke_dasharray="6 4")
    yield say(425, MID - 23, "gradient") + say(425, MID + 34, "no gradient") + say(229, MID - 4, "moving\naverage")


def added(y: float) -> Iterator[str]:
    yield rect(20, y, 700, 300, rx=10, fill="#EDEDED", stroke="none")
    yield say(36, y + 28, "DINOv2 adds", bold=True, text_anchor="start")
    for x, (name, words) in zip((36, 264, 492), ADDED, strict=True):
        yield rect(x, y + 42, 212, 164, stroke=GREY) + arrow((x + 89, y + 80), (x + 123, y + 80))
        yield say(x + 106, y + 132, name, bold=True) + say(x + 106, y + 151, words)
    for x, answers, features in zip((67, 169), ANSWERS, FEATURES, strict=True):
        yield image(x, y + 56, 48) + pixels(answers, x + 228, y + 56, 12, 12, made.shades(BLUE, 0.2, 0.9))
        yield frame(x + 456, y + 56, 48, 48) + "".join(dot(x + 456 + a, y + 56 + b) for a, b in features)
    hidden = f"M83 {y + 56}h16v16h-32v16h16v-32zm16 32h16v16h-16z"  # three patches of the left image
    yield made.element("path", d=hidden, fill=GREY) + arrow((155, y + 80), (121, y + 80))
    yield named(36, y + 253, 190, 62, "ViT-g", "1.1 billion parameters", **TEACHER)
    yield named(594, y + 253, 110, 62, "ViT-S", "21 million", **STUDENT) + arrow((226, y + 253), (594, y + 253))
    yield say(410, y + 243, "a small model distilled") + say(410, y + 277, "the teacher is the finished ViT-g")


if __name__ == "__main__":
    body = [*views(), *between(), *added(410)]
    body += lane(UP, "student", STUDENT, (0.02, 0.1, 0.24, -0.08, 0.12), (0,) * 5, 0.1)
    body += lane(DOWN, "teacher", TEACHER, (0.12, 0.1, 0.22, -0.04, 0.2), (0.1, 0.04, 0.06, -0.02, 0.1), 0.04)
    made.save("student-teacher", made.document("student-teacher", (740, 726), "Student and teacher", STORY, *body))
