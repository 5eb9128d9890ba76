"""Draw vit-moving.svg, the whole model in motion: python res/diagrams/draw_vit_moving.py

The motion is CSS inside the file. Everything stands at its last place without it, so a reader whose system asks for
reduced motion, or a program that draws no motion, sees the whole way at once.
"""

from make_diagrams import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    GRID,
    INK,
    ORANGE,
    PALE,
    PATCH,
    PURPLE,
    SKY,
    VERMILLION,
    WHITE,
    arrow,
    document,
    element,
    frame,
    group,
    image,
    line,
    logits,
    motion,
    patch_rows,
    pixels,
    rect,
    save,
    shades,
    text,
    tint,
)

SECONDS = 24
ROW, FIRST, SIDE = 26, 78, 20  # pitch of the tokens, top of the class token, side of a patch
CELLS = 6  # numbers drawn for a token
STORY = """
One image goes through a Vision Transformer, from left to right. It is cut into nine patches. Each patch becomes a
token, a row of D numbers. The class token is put in front, so there are ten rows. A row of positions is added to each.
In the encoder the tokens read from each other (attention) and then change each by itself (MLP), block after block,
twelve times. At the end only the class token is read: the head turns it into one number a class, and the largest wins.
"""
STEPS = [  # what is said, from and to which per cent of the time
    ("1. An image comes in: (B, C, H, W).", 0, 6),
    ("2. It is cut into N patches of P x P pixels.", 6, 20),
    ("3. One linear layer turns each patch into a token of D numbers: (B, N, D).", 20, 32),
    ("4. The class token joins in front: (B, T, D), T = N + 1.", 32, 38),
    ("5. A position is added to every token. Eq. 1 is complete.", 38, 48),
    ("6. L blocks: tokens read from each other (attention, Eq. 2), then change one by one (MLP, Eq. 3).", 48, 76),
    ("7. After the last norm, only the class token is read: (B, D), Eq. 4.", 76, 84),
    ("8. The head gives K logits: (B, K). The largest one wins.", 84, 98),
]


def y_of(token: int) -> float:
    return FIRST + ROW * token


def token(x: float, number: int, colour: str, seed: int = 0) -> str:
    """A row of numbers as shades."""
    letters = "".join("abcd"[(5 * number + 3 * k + 2 * k * number + seed) % 4] for k in range(CELLS))
    row = pixels([letters], x, y_of(number), 11, SIDE, shades(colour, 0.25, 0.45, 0.65, 0.85))
    return row + frame(x, y_of(number), 11 * CELLS, SIDE, INK if colour == VERMILLION else GREY)


def patch(x: float, y: float, number: int) -> str:
    rows = patch_rows(*divmod(number, GRID))
    return pixels(rows, x, y, SIDE / PATCH, SIDE / PATCH, COLOURS) + frame(x, y, SIDE, SIDE)


class Film:
    """The parts and their motions."""

    def __init__(self):
        self.parts, self.rules = [], []

    def add(self, part: str, start: float, end: float, dx: float = 0, dy: float = 0, scale: float = 1) -> None:
        """`part` comes in between two per cents of the time, from a place (dx, dy) away, and stays to the end."""
        name = f"a{len(self.rules)}"
        away = f"translate({dx:g}px,{dy:g}px) scale({scale:g})"
        self.rules.append(
            f"@keyframes {name}{{0%,{start:g}%{{opacity:0;transform:{away}}}"
            f"{min(start + 1, end):g}%{{opacity:1;transform:{away}}}"
            f"{end:g}%,97%{{opacity:1;transform:none}}100%{{opacity:0;transform:none}}}}"
            f".{name}{{animation-name:{name}}}"
        )
        self.parts.append(element("g", part, **{"class": f"m {name}"}))

    def flash(self, part: str, spans: list[tuple[float, float]], rest: float) -> None:
        """`part` is bright in some spans of the time; where nothing moves it has the opacity `rest`."""
        name = f"a{len(self.rules)}"
        frames = "".join(
            f"{max(start - 0.4, 0):g}%{{opacity:0}}{start:g}%,{end:g}%{{opacity:1}}{end + 0.4:g}%{{opacity:0}}"
            for start, end in spans
        )
        self.rules.append(
            f"@keyframes {name}{{0%{{opacity:0}}{frames}100%{{opacity:0}}}}.{name}{{animation-name:{name}}}"
        )
        self.parts.append(element("g", part, **{"class": f"m {name}"}, opacity=rest))

    def style(self) -> str:
        moving = f".m{{animation-duration:{SECONDS}s;animation-iteration-count:infinite}}"
        rules = [moving, *self.rules, ".still{opacity:0}"]
        return motion(rules, still=".m{animation:none!important}.still{opacity:1}")


def heading(x: float, words: str) -> str:
    return text(x, 40 - 8 * words.count("\n"), words, size=13, bold=True)


def into_tokens(film: Film) -> None:
    for number in range(9):
        row, column = divmod(number, 3)
        x, y = 172, y_of(number + 1)
        film.add(patch(x, y, number), 7 + number, 12 + number, dx=36 + 38 * column - x, dy=146 + 38 * row - y)
    for number in range(9):
        film.add(token(236, number + 1, BLUE), 21 + number, 24 + number, dx=-50)
    film.add(token(236, 0, VERMILLION), 32, 37, dy=-46)
    film.add(text(318, y_of(4) + 36, "+", size=24, bold=True), 38, 40)
    film.add(group(*(token(334, number, PURPLE, 2) for number in range(10))), 39, 45, dy=-30)


def encoder(film: Film) -> None:
    spans = [(50 + 6.5 * turn, 53 + 6.5 * turn) for turn in range(4)]
    later = [(start + 3.2, end + 3.2) for start, end in spans]
    for x, seed, start, dx in ((452, 1, 47, -60), (680, 3, 53, -30)):
        column = (token(x, number, BLUE if number else VERMILLION, seed) for number in range(10))
        film.add(group(*column), start, start + 3, dx=dx)
    pairs = [(0, 3), (0, 5), (0, 8), (2, 5), (4, 1), (6, 5), (9, 7), (7, 3), (5, 4), (8, 9), (1, 0), (3, 6)]
    threads = [
        line((522, y_of(a) + 10), (596, y_of(b) + 10), stroke=ORANGE if a else VERMILLION, stroke_width=2)
        for a, b in pairs
    ]
    film.flash(group(*threads), spans, rest=1)
    dots = [arrow((604, y_of(k) + 10), (672, y_of(k) + 10), colour=GREEN, stroke_width=2) for k in range(10)]
    film.flash(group(*dots), later, rest=1)
    for turn, words in enumerate(("block 0", "block 1", "block 2", "block 11, the last")):
        start = spans[turn][0]
        film.flash(text(598, 366, words, size=13, bold=True), [(start, start + 6)], rest=0)


def read_out(film: Film) -> None:
    film.add(token(792, 0, VERMILLION, 3), 77, 82, dx=-112)
    head = rect(880, y_of(0) - 10, 46, 40, fill=tint(SKY, 0.25), stroke=BLUE) + text(903, y_of(0) + 14, "head")
    film.add(head + arrow((860, y_of(0) + 10), (879, y_of(0) + 10)), 82, 85)
    film.add(arrow((926, y_of(0) + 10), (942, y_of(0) + 10)) + logits(946, y_of(0) - 26, 38, 15), 85, 90, dx=-20)
    film.add(text(965, y_of(0) + 70, "house", size=13, bold=True), 89, 91)
    film.add(text(826, y_of(1) + 34, "the other tokens\nare not read", size=12, fill=GREY), 79, 82)


def draw() -> str:
    film = Film()
    into_tokens(film)
    encoder(film)
    read_out(film)
    for words, start, end in STEPS:
        film.flash(text(500, 414, words, size=16), [(start + 0.5, end - 0.5)], rest=0)
    whole = "From an image to K numbers: patches, tokens, a class token, positions, L blocks, and a head."
    film.parts.append(element("g", text(500, 414, whole, size=16), **{"class": "still"}))
    card = rect(436, 58, 326, 290, rx=10, fill="#FBFBFB", stroke=GREY)
    fixed = [
        *(rect(436 + shift, 58 + shift, 326, 290, rx=10, fill=WHITE, stroke=PALE) for shift in (8, 4)),
        card,
        image(28, 138, 114),
        heading(85, "image"),
        heading(182, "patches"),
        heading(269, "tokens"),
        heading(367, "positions"),
        heading(598, "encoder: L blocks"),
        text(559, 74, "attention", size=12, fill="#8A5F00"),
        text(638, 74, "MLP", size=12, fill="#00694D"),
        heading(825, "class token"),
        heading(955, "logits"),
        *(text(x, 372, words, size=12, fill=GREY) for x, words in
          ((85, "(B, C, H, W)"), (190, "(B, N, P*P*C)"), (290, "(B, T, D)"), (825, "(B, D)"), (955, "(B, K)"))),
    ]  # fmt: skip
    return document("vit-moving", (1000, 436), "One image goes through a Vision Transformer", STORY,
                    film.style(), *fixed, *film.parts)  # fmt: skip


if __name__ == "__main__":
    save("vit-moving", draw())
