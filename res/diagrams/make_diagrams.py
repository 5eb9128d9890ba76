"""Draw the course's diagrams as SVG files beside this script: python res/diagrams/make_diagrams.py

The output depends on nothing but this file. Each picture states its own title and description for screen readers,
and refers to nothing outside itself.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

FONT = "Helvetica, Arial, DejaVu Sans, sans-serif"
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"

# The Okabe-Ito palette, which stays distinct for colour-blind readers.
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
INK, GREY, PALE, WHITE = "#1A1A1A", "#595959", "#E4E4E4", "#FFFFFF"

TIMES, ROOT, DOT = "\u00d7", "\u221a", "\u00b7"
FADED = 0.5  # opacity of what a chapter is not about


# --- SVG in small pieces: every function returns a string ---------------------------------------------------------


def element(tag: str, content: str | None = None, **attributes: object) -> str:
    """One SVG element; `stroke_width=2` becomes `stroke-width="2"`, a None is left out."""
    given = {key.replace("_", "-"): value for key, value in attributes.items() if value is not None}
    written = {key: f"{value:g}" if isinstance(value, int | float) else str(value) for key, value in given.items()}
    pairs = "".join(f" {key}={quoteattr(value)}" for key, value in written.items())
    return f"<{tag}{pairs}/>" if content is None else f"<{tag}{pairs}>{content}</{tag}>"


def group(*parts: str, **attributes: object) -> str:
    return element("g", "\n".join(parts), **attributes)


def rich(words: str) -> str:
    """`z_{L}^{0}` with its subscript lowered and its superscript raised."""
    marked = re.compile(r"([_^])\{([^}]*)\}")
    pieces, end, height = [], 0, 0
    for match in [*marked.finditer(words), None]:
        plain = escape(words[end : match.start() if match else None])
        if plain:
            pieces.append(element("tspan", plain, dy=-height) if height else plain)
            height = 0
        if match:
            target = 4 if match[1] == "_" else -6
            pieces.append(element("tspan", escape(match[2]), dy=target - height, font_size=12))
            height, end = target, match.end()
    return "".join(pieces)


def text(x: float, y: float, words: str, *, size: int = 12, bold: bool = False, **attributes: object) -> str:
    """Text centred on x unless `text_anchor` says otherwise; a newline starts a new line below."""
    style = {"font_size": size, "font_weight": "bold" if bold else None, "text_anchor": "middle", "fill": INK}
    lines = words.split("\n")
    return "\n".join(
        element("text", rich(line), x=x, y=y + row * (size + 4), **(style | attributes))
        for row, line in enumerate(lines)
    )


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    style = {"rx": 5, "fill": WHITE, "stroke": INK, "stroke_width": 1.5}
    return element("rect", x=x, y=y, width=width, height=height, **(style | attributes))


def box(x: float, y: float, width: float, height: float, words: str, *, size: int = 13, **attributes: object) -> str:
    """A rectangle with its words in the middle."""
    first = y + height / 2 + size * 0.36 - words.count("\n") * (size + 4) / 2
    return rect(x, y, width, height, **attributes) + text(x + width / 2, first, words, size=size)


def line(*points: tuple[float, float], **attributes: object) -> str:
    style = {"fill": "none", "stroke": INK, "stroke_width": 1.5, "stroke_linejoin": "round"}
    return element("polyline", points=" ".join(f"{x:g},{y:g}" for x, y in points), **(style | attributes))


def arrow(*points: tuple[float, float], colour: str = INK, **attributes: object) -> str:
    """A polyline with a solid head at its last point (the last stretch is level or upright)."""
    (x0, y0), (x, y) = points[-2:]
    right, down = (x > x0) - (x < x0), (y > y0) - (y < y0)
    back = (x - 8 * right, y - 8 * down)
    wings = [(back[0] + side * 4 * down, back[1] + side * 4 * right) for side in (1, -1)]
    head = " ".join(f"{px:g},{py:g}" for px, py in [(x, y), *wings])
    shaft = line(*points[:-1], back, stroke=colour, **attributes)
    return shaft + element("polygon", points=head, fill=colour)


def plus(x: float, y: float, radius: float = 9) -> str:
    """The sign of an addition."""
    ring = element("circle", cx=x, cy=y, r=radius, fill=WHITE, stroke=INK, stroke_width=1.5)
    arm = radius - 3.5
    return ring + line((x - arm, y), (x + arm, y)) + line((x, y - arm), (x, y + arm))


def dot(x: float, y: float) -> str:
    """The place where a residual branch leaves the stream."""
    return element("circle", cx=x, cy=y, r=3, fill=INK)


def shape(x: float, y: float, words: str, top: float | None = None) -> str:
    """A tensor's shape; from `top`, a dotted leader comes down to it."""
    leader = "" if top is None else line((x, top), (x, y - 13), stroke=GREY, stroke_width=1, stroke_dasharray="2 2")
    return leader + text(x, y, words, size=12)


def document(name: str, size: tuple[int, int], title: str, description: str, *parts: str) -> str:
    """A whole SVG file on a white sheet, so that it reads on a dark page too."""
    width, height = size
    body = [
        element("title", escape(title), id=f"{name}-title"),
        element("desc", escape(" ".join(description.split())), id=f"{name}-desc"),
        rect(0.5, 0.5, width - 1, height - 1, rx=14, stroke=PALE, stroke_width=1),
        *parts,
    ]
    root = element(
        "svg",
        "\n".join(["", *body, ""]),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        font_family=FONT,
    )
    return root + "\n"


def motion(rules: Iterable[str], still: str = "*{animation:none!important}") -> str:
    """The rules by which a picture moves, and those that hold it still where a reader's system asks for it."""
    return element("style", "\n".join([*rules, f"@media (prefers-reduced-motion:reduce){{{still}}}"]))


def save(name: str, svg: str) -> None:
    """Writes a picture beside the scripts."""
    (Path(__file__).parent / f"{name}.svg").write_text(svg, encoding="utf-8")


# --- Small drawings: an image, tokens, matrices ------------------------------------------------------------------

PICTURE = """
ssssssssyyys
ssssrsssyyys
sssrrrssyyys
ssrrrrrsssss
srrrrrrrssss
sshhhhhsssts
sshwhwhssttt
sshhhhhssttt
gghhdhhggtgg
gghhdhhggbgg
gggggggggggg
gggggggggggg
""".strip().splitlines()
PATCH = 4  # pixels a side, so that the picture is 3 x 3 patches
GRID = len(PICTURE) // PATCH
COLOURS = {"s": "#A9D8F5", "y": YELLOW, "r": VERMILLION, "h": "#F7D9A0", "w": BLUE, "d": "#7A4A12", "t": GREEN}
COLOURS |= {"b": "#7A4A12", "g": "#7CCFB5"}
GREYS = {"s": "#DADADA", "y": "#EDEDED", "r": "#7E7E7E", "h": "#DCDCDC", "w": "#5C5C5C", "d": "#4A4A4A", "t": "#777777"}
GREYS |= {"b": "#4A4A4A", "g": "#B5B5B5"}


def pixels(
    rows: list[str], x: float, y: float, width: float, height: float, colours: dict[str, str], gap: float = 0
) -> str:
    """Letters as coloured cells, one path a colour; a gap keeps the columns apart, and without one cells overlap."""
    paths, over = [], 0 if gap else 0.3  # where cells only touch, paper shines through in print
    for letter in sorted(set("".join(rows))):
        pattern = letter if gap else f"{letter}+"
        runs = [(match, row) for row, letters in enumerate(rows) for match in re.finditer(pattern, letters)]
        cells = [
            rectangle(x + match.start() * (width + gap), y + row * height, len(match[0]) * width + over, height + over)
            for match, row in runs
        ]
        paths.append(element("path", d="".join(cells), fill=colours[letter]))
    return group(*paths, shape_rendering="crispEdges")


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as a piece of a path."""
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"


def columns(rows: list[str], x: float, y: float, pitch: float, cell: float, colours: dict[str, str]) -> str:
    """The columns of a table, framed and set apart from each other."""
    width = 0.7 * pitch
    frames = "".join(rectangle(x + pitch * place, y, width, cell * len(rows)) for place in range(len(rows[0])))
    return pixels(rows, x, y, width, cell, colours, pitch - width) + element("path", d=frames, fill="none", stroke=GREY)


def image(x: float, y: float, side: float, colours: dict[str, str] | None = None, cuts: int = GRID) -> str:
    """The picture, cut into cuts * cuts patches by white lines."""
    pixel = side / len(PICTURE)
    steps = [side * step / cuts for step in range(1, cuts)]
    lines = [f"M{x + step:g} {y:g}v{side:g}M{x:g} {y + step:g}h{side:g}" for step in steps]
    thickness = 2.5 if cuts == GRID else min(0.8, side / 130)
    return group(
        pixels(PICTURE, x, y, pixel, pixel, colours or COLOURS),
        element("path", d="".join(lines), stroke=WHITE, stroke_width=thickness),
        frame(x, y, side, side, INK, 1.5),
    )


def patch_rows(row: int, column: int, cuts: int = GRID) -> list[str]:
    """The letters of one patch, where the picture is cut into cuts * cuts."""
    side = len(PICTURE) // cuts
    return [letters[column * side : (column + 1) * side] for letters in PICTURE[row * side : (row + 1) * side]]


def patch_vectors(x: float, y: float, pitch: float, cell: float) -> str:
    """Every patch of the picture as one column of P * P cells."""
    flat = ["".join(patch_rows(*divmod(k, GRID))) for k in range(GRID * GRID)]
    rows = ["".join(letters) for letters in zip(*flat, strict=True)]
    return columns(rows, x, y, pitch, cell, COLOURS)


def frame(x: float, y: float, width: float, height: float, colour: str = GREY, thickness: float = 1) -> str:
    return rect(x, y, width, height, rx=0, fill="none", stroke=colour, stroke_width=thickness)


def tint(colour: str, amount: float) -> str:
    """The colour mixed with white: 1 is pure, 0 is white."""
    channels = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(255 - amount * (255 - channel)):02X}" for channel in channels)


def shades(colour: str, *amounts: float) -> dict[str, str]:
    """The letters a, b, c, ... as tints of a colour."""
    return dict(zip("abcdef", (tint(colour, amount) for amount in amounts), strict=False))


def tokens(
    x: float, y: float, pitch: float, colour: str, count: int = GRID * GRID, cell: float = 9, rows: int = 8
) -> str:
    """Tokens side by side, each a column of numbers drawn as shades."""
    letters = ["".join("abcd"[(5 * k + 3 * row + 2 * row * k) % 4] for k in range(count)) for row in range(rows)]
    return columns(letters, x, y, pitch, cell, shades(colour, 0.2, 0.4, 0.6, 0.8))


def class_token(x: float, y: float, pitch: float, cell: float = 9) -> str:
    """The class token, set off by a thick frame."""
    return tokens(x, y, pitch, VERMILLION, 1, cell) + frame(x, y, 0.7 * pitch, 8 * cell, INK, 2)


def sequence(x: float, y: float, pitch: float, cell: float = 9) -> str:
    """The class token and the patch tokens behind it."""
    return class_token(x, y, pitch, cell) + tokens(x + pitch, y, pitch, BLUE, cell=cell)


def heat(x: float, y: float, count: int, cell: float, pattern: str = "dbacaabaca") -> str:
    """A small attention matrix: darker cells weigh more."""
    rows = ["".join(pattern[(3 * row + 7 * k) % 10] for k in range(count)) for row in range(count)]
    tints = shades(VERMILLION, 0.08, 0.25, 0.5, 0.95)
    return pixels(rows, x, y, cell, cell, tints) + frame(x, y, count * cell, count * cell)


def logits(x: float, y: float, longest: float, pitch: float) -> str:
    """A few bars, the longest filled."""
    lengths = [longest * part for part in (0.3, 0.5, 1, 0.2, 0.4)]
    return "".join(
        rect(x, y + pitch * k, length, pitch - 4, rx=0, stroke_width=1, fill=INK if length == longest else WHITE)
        for k, length in enumerate(lengths)
    )


# --- The whole model ---------------------------------------------------------------------------------------------

SIZE = (1000, 342)
MID = 128  # height of the stream through the model
SHAPES = 217  # baseline of the row of shapes
STRIP = 238  # top of the strips for attention maps and training


def title(x: float, words: str) -> str:
    """A stage's name, its last line on a common baseline."""
    return text(x, 54 - 16 * words.count("\n"), words, size=13, bold=True)


def step(start: float, end: float, words: str) -> str:
    """An arrow from one stage to the next with the shape of what flows along it."""
    middle = (start + end) / 2
    return arrow((start, MID), (end, MID)) + shape(middle - 2, SHAPES, words, MID + 5)


def norm(x: float, y: float = MID - 32, height: float = 64, width: float = 18) -> str:
    """A LayerNorm, its name written upwards."""
    middle, centre = x + width / 2, y + height / 2
    turned = text(middle + 4, centre, "norm", transform=f"rotate(-90 {middle + 4:g} {centre:g})")
    return rect(x, y, width, height, rx=4, fill="#F2F2F2", stroke=GREY) + turned


def draw_image() -> str:
    return title(68, "image") + image(20, MID - 48, 96) + step(120, 148, "(B, C, H, W)")


def draw_patches() -> str:
    return title(192, "patchify") + patch_vectors(153, MID - 48, 9, 6) + step(236, 264, f"(B, N, P{DOT}P{DOT}C)")


def draw_linear() -> str:
    corners = f"268,{MID - 50} 314,{MID - 36} 314,{MID + 36} 268,{MID + 50}"
    funnel = element("polygon", points=corners, fill=tint(BLUE, 0.15), stroke=BLUE, stroke_width=1.5)
    return title(291, "linear\nprojection") + funnel + text(291, MID + 4, "linear") + step(318, 346, "(B, N, D)")


def draw_class_token() -> str:
    return title(396, "class token\nin front") + sequence(352, MID - 36, 9) + step(443, 471, "(B, T, D)")


def draw_positions() -> str:
    table = tokens(461, MID - 64, 5, PURPLE, GRID * GRID + 1, 6, 5)
    into = arrow((485, MID - 31), (485, MID - 11))
    size = text(485, MID + 30, "(1, T, D)")
    return title(485, "positions") + table + into + plus(485, MID) + size + step(496, 530, "(B, T, D)")


def draw_encoder_frame() -> str:
    cards = [rect(538 + shift, MID - 64 + shift, 220, 124, rx=8, fill="#FBFBFB", stroke=GREY) for shift in (6, 3, 0)]
    return title(648, "encoder: L blocks") + "".join(cards) + encoder_stream()


def encoder_stream() -> str:
    """What runs through a block besides attention and MLP: the norms, the sums, the residual branches."""
    stretches = [(530, 553), (571, 575), (639, 641), (659, 670), (688, 692), (730, 733), (751, 758)]
    stream = [line((start, MID), (end, MID)) for start, end in stretches]
    branches = [
        arrow((start, MID), (start, MID - 48), (end, MID - 48), (end, MID - 9), colour=GREY)
        for start, end in ((546, 650), (664, 742))
    ]
    signs = dot(546, MID) + plus(650, MID) + dot(664, MID) + plus(742, MID)
    return group(*stream, *branches, norm(553), norm(670), signs)


def draw_attention() -> str:
    places = [(590, MID - 18), (607, MID - 22), (624, MID - 18), (590, MID + 8), (607, MID + 4), (624, MID + 8)]
    links = [(0, 3, 1), (0, 4, 2.5), (1, 4, 1), (1, 5, 1), (2, 4, 1), (2, 5, 2.5), (0, 5, 1), (1, 3, 1)]
    threads = [line(places[a], places[b], stroke=ORANGE, stroke_width=weight) for a, b, weight in links]
    knots = [element("circle", cx=x, cy=y, r=3.5, fill=INK) for x, y in places]
    border = rect(575, MID - 36, 64, 72, fill=tint(ORANGE, 0.12), stroke=ORANGE, stroke_width=2)
    return border + group(*threads, *knots) + text(607, MID + 28, "attention")


def draw_mlp() -> str:
    return box(692, MID - 36, 38, 72, "MLP", size=12, fill=tint(GREEN, 0.12), stroke=GREEN, stroke_width=2)


def draw_readout() -> str:
    rest = group(tokens(818, MID - 36, 7, BLUE), opacity=0.35)
    way = arrow((813.5, MID + 38), (813.5, MID + 50), (888, MID + 50), (888, MID), (902, MID))
    leader = shape(888, SHAPES, "(B, D)", MID + 54)
    words = title(846, "class token\nout") + step(766, 786, "(B, T, D)")
    return group(words, norm(788), rest, class_token(811, MID - 36, 7), way, leader)


def draw_head() -> str:
    head = box(903, MID - 30, 38, 60, "head", size=12, fill=tint(SKY, 0.25), stroke=BLUE)
    return head + step(943, 963, "(B, K)") + title(967, "logits") + logits(966, MID - 27, 18, 12)


def strip(x: float, width: float, words: str) -> str:
    name = text(x + 14, STRIP + 23, words, size=13, bold=True, text_anchor="start")
    return rect(x, STRIP, width, 90, rx=8, fill="none", stroke=GREY) + name


def draw_maps() -> str:
    middle = STRIP + 51
    matrix = heat(556, STRIP + 26, GRID * GRID + 1, 5.6) + frame(556, STRIP + 26, 56, 5.6, INK, 2)
    words = [
        text(30, STRIP + 46, "recorded in attention,\ndrawn over the image", text_anchor="start"),
        text(491, middle - 9, "class token's row"),
        text(491, middle + 20, "(B, L, h, T, T)"),
        text(386, middle + 23, "N weights"),
        text(300, middle - 9, "as a grid"),
        text(300, middle + 20, "(H/P, W/P)"),
    ]
    flow = [
        arrow((584, MID + 37), (584, STRIP + 25), colour=VERMILLION, stroke_dasharray="5 3"),
        arrow((550, middle), (433, middle)),
        arrow((339, middle), (262, middle)),
    ]
    pictures = [matrix, heat_row(345, middle - 6), overlay(188, STRIP + 12, 66)]
    return group(strip(16, 604, "attention maps"), *pictures, *flow, *words)


WEIGHTS = (0.1, 0.1, 0.3, 0.7, 0.9, 0.3, 0.5, 0.2, 0.1)  # the class token's, on the patches


def heat_row(x: float, y: float) -> str:
    """The weights laid flat."""
    return "".join(
        rect(x + 9 * number, y, 9, 12, rx=0, fill=tint(VERMILLION, weight), stroke=GREY, stroke_width=1)
        for number, weight in enumerate(WEIGHTS)
    )


def overlay(x: float, y: float, side: float) -> str:
    """The weights as a grid over the picture in grey."""
    cell = side / GRID
    squares = [
        rect(x + cell * column, y + cell * row, cell, cell, rx=0, fill=VERMILLION, stroke="none", opacity=weight * 0.7)
        for (row, column), weight in zip(((k // GRID, k % GRID) for k in range(GRID * GRID)), WEIGHTS, strict=True)
    ]
    return image(x, y, side, GREYS) + group(*squares)


def draw_training() -> str:
    middle = STRIP + 49
    stations = ((648, 84, "step"), (772, 88, "gradients"), (900, 76, "loss"))
    boxes = [box(x, middle - 15, width, 30, words) for x, width, words in stations]
    flow = [
        arrow((974, MID + 36), (974, middle - 16), stroke_dasharray="5 3"),
        arrow((900, middle), (861, middle)),
        arrow((772, middle), (733, middle)),
    ]
    words = [
        text(976, STRIP + 81, "against labels (B,)", text_anchor="end"),
        text(648, STRIP + 81, "moves every weight above", text_anchor="start"),
    ]
    return group(strip(632, 352, "training"), *boxes, *flow, *words)


PARTS = {
    "image": draw_image,
    "patches": draw_patches,
    "linear": draw_linear,
    "class token": draw_class_token,
    "positions": draw_positions,
    "encoder": draw_encoder_frame,
    "attention": draw_attention,
    "mlp": draw_mlp,
    "readout": draw_readout,
    "head": draw_head,
    "maps": draw_maps,
    "training": draw_training,
}
FORWARD = tuple(part for part in PARTS if part not in ("maps", "training"))


@dataclass(frozen=True)
class Focus:
    """The part of the model that a chapter is about: what stays bright, the outline, and where the tag sits."""

    subject: str
    parts: tuple[str, ...]
    outline: tuple[float, float, float, float]
    tag: tuple[float, float]


TOP = 15  # of the outlines
FOCUSES = {
    "patchify": Focus("patchify", ("image", "patches", "linear"), (10, TOP, 327, 181), (173, TOP)),
    "class-token": Focus("the class token", ("class token",), (346, TOP, 98, 181), (395, TOP)),
    "positions": Focus("position embeddings", ("positions",), (446, TOP, 82, 181), (487, TOP)),
    "attention": Focus("self-attention", ("attention",), (575, MID - 36, 64, 72), (637, MID + 48)),
    "encoder": Focus("the encoder", ("encoder", "attention", "mlp"), (533, TOP, 236, 185), (651, TOP)),
    "vit": Focus("the whole Vision Transformer", FORWARD, (8, TOP, 984, 213), (500, TOP)),
    "training": Focus("training", ("training",), (632, STRIP, 352, 90), (800, STRIP)),
    "maps": Focus("attention maps", ("maps",), (16, STRIP, 604, 90), (440, STRIP)),
}


def here(x: float, y: float) -> str:
    """The tag of the current part."""
    words = text(x, y + 4, "you are here", bold=True, fill=WHITE)
    return rect(x - 46, y - 10, 92, 20, rx=10, fill=INK, stroke=WHITE) + words


def highlight(focus: Focus) -> str:
    return rect(*focus.outline, rx=8, fill="none", stroke=INK, stroke_width=4) + here(*focus.tag)


MODEL_STORY = """
From left to right: an image (B, C, H, W) is cut into patches, flattened to (B, N, P*P*C) and projected to (B, N, D).
A class token is put in front, (B, T, D), and position embeddings are added. An encoder of L blocks, each with attention
and an MLP, keeps (B, T, D). After a last norm the class token, (B, D), goes through the head to K logits, (B, K).
Below: attention maps are recorded in the attention and drawn over the image, and training turns logits and labels into
a loss, gradients and a step that moves every weight.
"""


def model(name: str, focus: Focus | None = None) -> str:
    bright = focus.parts if focus else PARTS
    parts = [group(draw(), opacity=None if part in bright else FADED) for part, draw in PARTS.items()]
    subject = f"Where we are in the Vision Transformer: {focus.subject}" if focus else "The Vision Transformer"
    story = MODEL_STORY + (f" Outlined and tagged 'you are here': {focus.subject}; the rest is faded." if focus else "")
    return document(name, SIZE, subject, story, *parts, highlight(focus) if focus else "")


# --- One encoder block -------------------------------------------------------------------------------------------


BLOCK_STORY = """
A pre-norm encoder block from left to right. Tokens z (B, T, D) go through a norm and multi-head self-attention; a
residual branch carries z past both and is added. The sum z' goes through a norm and an MLP, D to 4D to D; a second
residual branch carries z' past both and is added. Every shape along the way is (B, T, D). In formulas:
z' = MSA(LN(z)) + z and z = MLP(LN(z')) + z'; after L blocks y = LN(z_L^0).
"""


def block(name: str) -> str:
    row = 140
    steps = [(40, 110, 90), (176, 216, 194), (354, 386, 368), (406, 494, 470), (560, 602, 579), (730, 762, 744)]
    steps += [(782, 850, 816)]
    stream = [arrow((a, row), (b, row)) + shape(x, 216, "(B, T, D)", row + 6) for a, b, x in steps]
    signs = [plus(396, row, 10), plus(772, row, 10), dot(66, row), dot(446, row)]
    branches = [residual(66, 396, row), residual(446, 772, row)]
    names = [
        text(x, y, words, size=16, bold=True) for x, y, words in ((28, 145, "z"), (424, 131, "z'"), (864, 145, "z"))
    ]
    equations = [
        text(231, 264, "Eq. 2:  z' = MSA(LN(z)) + z", size=16),
        text(609, 264, "Eq. 3:  z = MLP(LN(z')) + z'", size=16),
        text(445, 302, "after L such blocks, Eq. 4:  y = LN(z_{L}^{0})", size=14),
    ]
    body = [*stream, *block_boxes(row), *branches, *signs, *names, *equations]
    return document(name, (890, 324), "One encoder block", BLOCK_STORY, *body)


def block_boxes(row: float) -> list[str]:
    """The norms and the two sublayers."""
    attention = {"fill": tint(ORANGE, 0.12), "stroke": ORANGE, "stroke_width": 2}
    mlp = {"fill": tint(GREEN, 0.12), "stroke": GREEN, "stroke_width": 2}
    return [
        *(box(x, row - 30, 66, 60, "norm\n(LN)", fill="#F2F2F2", stroke=GREY) for x in (110, 494)),
        box(216, row - 40, 138, 80, "multi-head self-\nattention (MSA)\nh heads of width d", **attention),
        box(602, row - 40, 128, 80, "MLP\nlinear, GELU, linear\nD \u2192 4D \u2192 D", **mlp),
    ]


def residual(start: float, end: float, row: float) -> str:
    """A branch that leaves the stream, passes above the sublayer and comes down on the sum."""
    top = 58
    way = arrow((start, row), (start, top), (end, top), (end, row - 10), colour=BLUE, stroke_width=2.5)
    return way + text((start + end) / 2, top - 12, "residual: carried past, unchanged", size=13)


# --- Heads -------------------------------------------------------------------------------------------------------

HEAD_COLOURS = (BLUE, ORANGE, GREEN)
HEAD_PATTERNS = ("dbacaabaca", "cabdabaaba", "bbacaabdab")
ROWS = (102, 194, 286)  # one row of the picture for each of q, k, v, and for each head


def matrix(x: float, middle: float, colours: tuple[str, ...], cell: float = 11, rows: int = 5, columns: int = 2) -> str:
    """A (T, columns * bands) matrix, one band of columns a colour."""
    top = middle - rows * cell / 2
    tints = [shades(colour, 0.2, 0.4, 0.65) for colour in colours]
    letters = ["".join("abc"[(2 * row + k + row * k) % 3] for k in range(columns)) for row in range(rows)]
    width = columns * cell
    places = [x + number * width for number in range(len(colours))]
    bands = [pixels(letters, left, top, cell, cell, shade) for left, shade in zip(places, tints, strict=True)]
    return group(*bands, *(frame(left, top, width, rows * cell, INK) for left in places))


def numbers(x: float, y: float) -> str:
    """0, 1, 2 above the bands of the heads."""
    return "".join(text(x + 22 * number + 11, y, str(number)) for number in range(3))


def heads_projection() -> str:
    """x and its three projections."""
    middle = ROWS[1]
    parts = [matrix(24, middle, (GREY,) * 3), text(57, middle - 36, "x", size=15, bold=True)]
    for letter, y in zip("QKV", ROWS, strict=True):
        way = [(95, y), (134, y)] if y == middle else [(112, middle), (112, y), (134, y)]
        parts += [arrow(*way), box(135, y - 18, 56, 36, "linear", size=12), arrow((191, y), (226, y))]
        parts += [matrix(230, y, HEAD_COLOURS), numbers(230, y - 32), text(312, y + 5, letter, size=15, bold=True)]
    return group(*parts)


def bar(x: float, words: str) -> str:
    """A tall box written upwards: a change of shape for everything that passes."""
    y = sum(ROWS) / 3
    turned = text(x + 21, y, words, size=13, transform=f"rotate(-90 {x + 21:g} {y:g})")
    return rect(x, 62, 32, 264, fill="#F2F2F2", stroke=GREY) + turned


def one_head(number: int, y: float) -> str:
    """q, k and v of one head, its weights and its output."""
    colour = (HEAD_COLOURS[number],)
    names = [text(428 + 36 * place, y - 32, letter) for place, letter in enumerate("qkv")]
    parts = [matrix(417 + 36 * place, y, colour) for place in range(3)]
    flow = [arrow((start, y), (end, y)) for start, end in ((378, 412), (517, 559), (623, 665), (695, 722))]
    weights = heat(563.5, y - 27.5, 5, 11, HEAD_PATTERNS[number]) + text(591, y - 32, f"head {number}", bold=True)
    return group(*names, *parts, *flow, weights, matrix(669, y, colour))


def heads_join() -> str:
    """The heads side by side again, mixed by the output projection."""
    top, middle, bottom = ROWS
    return group(
        arrow((756, top), (797, top)),
        matrix(801, top, HEAD_COLOURS) + numbers(801, top - 32),
        arrow((834, top + 31), (834, middle - 19)),
        box(806, middle - 18, 56, 36, "linear", size=12),
        arrow((834, middle + 18), (834, bottom - 32)),
        matrix(801, bottom, (GREY,) * 3),
    )


HEADS_STORY = """
Tokens x (B, T, D) pass three linear layers that give Q, K and V, each (B, T, D). Their D columns are split into h heads
of d = D / h columns: (B, h, T, d). Each head by itself computes softmax(QK^T / sqrt(d)) V, with weights (B, h, T, T)
and output (B, h, T, d). The outputs are joined side by side to (B, T, D) and mixed by one linear layer.
"""


def heads(name: str) -> str:
    captions = [(57, "(B, T, D)"), (263, "(B, T, D)"), (464, "(B, h, T, d)"), (591, "(B, h, T, T)")]
    captions += [(680, "(B, h, T, d)"), (834, "(B, T, D)")]
    headers = [(57, "tokens"), (215, "three projections"), (834, "joined, mixed")]
    headers += [(582, f"softmax(QK^{{T}} / {ROOT}d) V in each head")]
    body = [heads_projection(), bar(344, f"split: D = h {DOT} d, then swap T and h")]
    body += [one_head(number, y) for number, y in enumerate(ROWS)]
    body += [bar(724, f"swap back, then join: h {DOT} d = D"), heads_join()]
    body += [text(x, 36, words, size=14, bold=True) for x, words in headers]
    body += [text(x, 346, words, size=13) for x, words in captions]
    body += [text(450, 374, "drawn for one image: T = 5 tokens, D = 6, h = 3 heads of d = 2", size=12, fill=GREY)]
    return document(name, (900, 392), "Several heads of attention in one matrix product", HEADS_STORY, *body)


# --- The training loop -------------------------------------------------------------------------------------------


def code(x: float, y: float, words: str) -> str:
    return text(x, y, words, size=12, font_family=MONO)


def loop_boxes() -> str:
    """The five stations of a training step, what each is in PyTorch written below its name."""
    stations = [
        (24, "batch", "train[chosen]", SKY),
        (196, "model", "model(images)", BLUE),
        (368, "loss", "cross_entropy", VERMILLION),
        (540, "gradients", "zero_grad()\nloss.backward()", ORANGE),
        (712, "step", "optimiser.step()", GREEN),
    ]
    return group(
        *(
            rect(x, 92, 140, 64, fill=tint(colour, 0.14), stroke=colour, stroke_width=2)
            + text(x + 70, 118 - 6 * call.count("\n"), words, size=15, bold=True)
            + code(x + 70, 142 - 10 * call.count("\n"), call)
            for x, words, call, colour in stations
        )
    )


LOOP_STORY = """
A batch of images (B, C, H, W) goes through the model to logits (B, K); with the labels (B,) they give a loss, one
number; the old gradients are cleared, the new ones computed, one for each weight, and the optimiser takes a step; then
comes the next batch. After each epoch the model is validated on held-out images and a checkpoint is saved: weights,
optimiser, random state and history. From it a run can resume.
"""


def training_loop(name: str) -> str:
    arrows = [arrow((x, 124), (x + 32, 124)) for x in (164, 336, 508, 680)]
    labels = arrow((94, 92), (94, 60), (438, 60), (438, 91)) + text(266, 51, "labels (B,)", size=13)
    back = arrow((782, 156), (782, 206), (94, 206), (94, 157), stroke_width=2.5)
    captions = [(180, "(B, C, H, W)"), (352, "(B, K)"), (524, "()"), (696, "one per weight")]
    shapes = [text(x, 178, words) for x, words in captions]
    leaders = [line((x, 129), (x, 165), stroke=GREY, stroke_width=1, stroke_dasharray="2 2") for x, _ in captions]
    words = text(438, 227, "next batch, until the epoch ends: all batches seen once", size=13)
    body = [loop_boxes(), *arrows, labels, back, *leaders, *shapes, words, after_epoch()]
    return document(name, (876, 352), "The training loop", LOOP_STORY, *body)


def after_epoch() -> str:
    """Validation and checkpoint, once an epoch; a run may start again from the checkpoint."""
    return group(
        arrow((828, 156), (828, 294), (802, 294), stroke_dasharray="6 4"),
        text(818, 248, "after each epoch", size=13, text_anchor="end"),
        station(566, "validation", "held-out images, no gradients", PURPLE),
        arrow((566, 294), (522, 294)),
        station(286, "checkpoint", "weights, optimiser,\nrandom state, history", GREY),
        arrow((286, 294), (60, 294), (60, 157), stroke_dasharray="6 4"),
        text(172, 284, "resume from here", size=13),
    )


def station(x: float, name: str, words: str, colour: str) -> str:
    border = rect(x, 262, 236, 64, fill=tint(colour, 0.1), stroke=colour, stroke_width=2)
    up = 8 * words.count("\n")
    return border + text(x + 118, 288 - up // 2, name, size=15, bold=True) + text(x + 118, 312 - up, words)


# --- ViT-B/16 by hand --------------------------------------------------------------------------------------------

IMAGE, SIDE, CHANNELS, WIDTH, DEPTH, HEADS, HIDDEN, CLASSES = 224, 16, 3, 768, 12, 12, 3072, 1000
ACROSS = IMAGE // SIDE
PATCHES, NUMBERS = ACROSS**2, SIDE * SIDE * CHANNELS
LENGTH = PATCHES + 1


def weights_by_part() -> dict[str, int]:
    """How many weights ViT-B/16 has, part by part."""
    attention = 4 * (WIDTH * WIDTH + WIDTH)
    mlp = WIDTH * HIDDEN + HIDDEN + HIDDEN * WIDTH + WIDTH
    return {
        "linear projection": NUMBERS * WIDTH + WIDTH,
        "class token in front": WIDTH,
        "positions": LENGTH * WIDTH,
        "encoder": DEPTH * (attention + mlp + 4 * WIDTH) + 2 * WIDTH,
        "head": WIDTH * CLASSES + CLASSES,
    }


def cards() -> list[tuple[str, str, str, str]]:
    """Name, shape, working and number of weights of each step."""
    weights = {part: f"{count:,} weights" for part, count in weights_by_part().items()}
    kept = f"({LENGTH}, {WIDTH})"
    cut = f"{IMAGE} / {SIDE} = {ACROSS}, {ACROSS} {TIMES} {ACROSS} = {PATCHES}"
    flat = f"{SIDE} {TIMES} {SIDE} {TIMES} {CHANNELS} = {NUMBERS}"
    split = f"{HEADS} heads, d = {WIDTH} / {HEADS} = {WIDTH // HEADS}"
    steps = [
        ("image", f"({IMAGE}, {IMAGE}, {CHANNELS})", "height, width, channels;\none image, no batch axis"),
        ("patchify", f"({PATCHES}, {NUMBERS})", f"{cut}\n{flat}"),
        ("linear projection", f"({PATCHES}, {WIDTH})", f"{NUMBERS} numbers to D = {WIDTH},\nequal here by coincidence"),
        ("class token in front", kept, f"{PATCHES} + 1 = {LENGTH}\nT = N + 1 tokens"),
        ("positions", kept, f"one row of the table is added\nto each of {LENGTH} tokens"),
        ("encoder", kept, f"{DEPTH} blocks and a last norm,\n{split}"),
        ("class token out", f"({WIDTH},)", f"row 0 of {LENGTH};\nthe others are not read"),
        ("head", f"({CLASSES},)", f"{WIDTH} numbers to\nK = {CLASSES} logits"),
    ]
    return [(*content, weights.get(content[0], "no weights")) for content in steps]


CARD_WIDTH, CARD_HEIGHT = 206, 172


def card(x: float, y: float, content: tuple[str, str, str, str], drawing: str) -> str:
    name, size, working, weights = content
    middle = x + CARD_WIDTH / 2
    return group(
        rect(x, y, CARD_WIDTH, CARD_HEIGHT, rx=8, fill="#FBFBFB", stroke=GREY),
        text(x + 14, y + 24, name, size=14, bold=True, text_anchor="start"),
        drawing,
        text(middle, y + 106, size, size=17, bold=True),
        text(middle, y + 128, working, size=12),
        text(middle, y + 163, weights, size=12, fill=GREY),
    )


def arithmetic(name: str) -> str:
    places = [(24 + 242 * column, 24 + 212 * row) for row in range(2) for column in range(4)]
    steps = [
        (x, y, content, sketch(x + 103, y + 60))
        for (x, y), content, sketch in zip(places, cards(), SKETCHES, strict=True)
    ]
    flow = [arrow((x + CARD_WIDTH + 3, y + 86), (x + 239, y + 86), stroke_width=2) for x, y in places if x < 700]
    turn = arrow((853, 199), (853, 216), (127, 216), (127, 233), stroke_width=2)
    words = [
        text(490, 440, f"all together {sum(weights_by_part().values()):,} weights", size=14, bold=True),
        text(490, 462, f"columns drawn for 9 of the {PATCHES} patches", fill=GREY),
    ]
    description = "Eight steps, without the batch axis. " + " ".join(
        f"{part}: {size}, {working}, {weights}.".replace("\n", " ") for part, size, working, weights in cards()
    )
    body = [*(card(*place) for place in steps), *flow, turn, *words]
    return document(name, (980, 478), "ViT-B/16 at 224 pixels, by hand", description, *body)


def read_out(x: float, y: float) -> str:
    return class_token(x, y, 9, 5.5) + group(tokens(x + 9, y, 9, BLUE, cell=5.5), opacity=0.3)


# One small picture a card, drawn around its middle.
SKETCHES = (
    lambda x, y: image(x - 26, y - 26, 52, cuts=ACROSS),
    lambda x, y: patch_vectors(x - 40, y - 24, 9, 3),
    lambda x, y: tokens(x - 40, y - 22, 9, BLUE, cell=5.5),
    lambda x, y: sequence(x - 44, y - 22, 9, 5.5),
    lambda x, y: tokens(x - 44, y - 22, 9, PURPLE, GRID * GRID + 1, 5.5),
    lambda x, y: sequence(x - 44, y - 22, 9, 5.5),
    lambda x, y: read_out(x - 44, y - 22),
    lambda x, y: logits(x - 23, y - 20, 46, 9),
)


# --- All of them -------------------------------------------------------------------------------------------------


def diagrams() -> dict[str, str]:
    pictures = {"model": model("model")}
    pictures |= {f"model-{name}": model(f"model-{name}", focus) for name, focus in FOCUSES.items()}
    others = {"block": block, "heads": heads, "training-loop": training_loop, "arithmetic": arithmetic}
    return pictures | {name: draw(name) for name, draw in others.items()}


def main() -> None:
    for name, svg in diagrams().items():
        save(name, svg)


if __name__ == "__main__":
    main()
