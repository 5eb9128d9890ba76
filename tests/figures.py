"""Compares the stored pictures of a notebook with fresh ones, as a reader sees them; nbval compares the text.

Two pictures may differ as they do between machines: in the smoothing of edges, by a fraction of a pixel, or by one of
255 levels of a colour. They may not differ in a letter, a line, a panel or a colour. So, after a light blur, each pixel
is compared with the range of the other picture's pixels within one pixel of its place; its distance from that range is
averaged over squares the size of a letter; and the worst square decides.

A training of hundreds of steps ends a little elsewhere with each processor and number of threads, because rounding
errors grow in it. A cell that draws one has the tag `DRIFTS`: there a pixel is compared with all within 8 pixels, and
loosely, which still finds a lost or a strange curve, another colour and a lost panel. A cell that draws measured times,
or single answers of a model trained in it, or a run that diverges, has the tag `OF_THIS_MACHINE`: there only the number
of pictures is compared.
"""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import spread
from nbval.plugin import IPyNbCell
from PIL import Image, ImageDraw, ImageFilter

FOLDER = Path(__file__).parents[1] / "screenshots" / "figures"
DRIFTS, OF_THIS_MACHINE = "picture-drifts", "picture-of-this-machine"
# A picture is cropped to what is drawn, so its size depends on the size of the text.
SIZE_APART = 2  # pixels
BLUR = 0.8  # pixels
SQUARE = 8  # pixels: a letter


class Tolerance(NamedTuple):
    """How much both pictures are shrunk, how far a pixel may move, and how far its level may be off."""

    shrink: int
    window: int  # pixels of the shrunk picture
    limit: float  # levels of 255


# The least change of a digit gives 2.5, numeric noise at most 1.4.
EXACT = Tolerance(1, 3, 2.0)
# A lost curve gives 80, another range of the axes 78; a training on another kind of processor 8.2 where a picture shows
# what the model makes, 2.0 where it shows curves. What such a picture claims stands in numbers beside it.
LOOSE = Tolerance(2, 9, 25.0)


def distance(stored: Image.Image, fresh: Image.Image, tolerance: Tolerance = EXACT) -> float:
    """How far two pictures of about one size are apart, in levels of 255: 0 for the same, 255 for black and white."""
    if stored == fresh:
        return 0.0
    size = min(stored.width, fresh.width), min(stored.height, fresh.height)
    blurred = [picture.crop((0, 0, *size)).filter(ImageFilter.GaussianBlur(BLUR)) for picture in (stored, fresh)]
    pair = [picture.reduce(tolerance.shrink) for picture in blurred]
    beyond = np.zeros(np.asarray(pair[0]).shape[:2], dtype=int)  # (H, W)
    for one, other in (pair, pair[::-1]):
        pixels = np.asarray(one, dtype=int)  # (H, W, 3)
        least = np.asarray(other.filter(ImageFilter.MinFilter(tolerance.window)), dtype=int)
        most = np.asarray(other.filter(ImageFilter.MaxFilter(tolerance.window)), dtype=int)
        beyond = np.maximum(beyond, np.maximum(pixels - most, least - pixels).max(axis=-1))
    sums = np.pad(beyond, (SQUARE, 0)).cumsum(axis=0).cumsum(axis=1)  # (H + 8, W + 8)
    squares = sums[SQUARE:, SQUARE:] - sums[:-SQUARE, SQUARE:] - sums[SQUARE:, :-SQUARE] + sums[:-SQUARE, :-SQUARE]
    return float(squares.max()) / SQUARE**2


def differ(stored: Image.Image, fresh: Image.Image, tolerance: Tolerance = EXACT) -> str | None:
    """Says in what two pictures differ, or None where a reader would see the same."""
    if max(abs(stored.width - fresh.width), abs(stored.height - fresh.height)) > SIZE_APART:
        return f"{stored.width} x {stored.height} pixels are stored, {fresh.width} x {fresh.height} were drawn"
    if (apart := distance(stored, fresh, tolerance)) > tolerance.limit:
        return f"they are {apart:.1f} of 255 levels apart somewhere, at most {tolerance.limit} are allowed"
    return None


def side_by_side(stored: Image.Image, fresh: Image.Image) -> Image.Image:
    """Both pictures and where they differ, dark on white, each under its name."""
    width, height = max(stored.width, fresh.width), max(stored.height, fresh.height)
    padded = []
    for picture in (stored, fresh):
        padded.append(Image.new("RGB", (width, height), "white"))
        padded[-1].paste(picture)
    apart = np.abs(np.subtract(*(np.asarray(picture, dtype=int) for picture in padded))).max(axis=-1)  # (H, W)
    # Four times as strong, to make faint differences visible.
    difference = Image.fromarray((255 - 4 * apart).clip(0).astype(np.uint8))
    sheet = Image.new("RGB", (3 * width + 40, height + 40), "white")
    draw = ImageDraw.Draw(sheet)
    for index, (name, picture) in enumerate(zip(("stored", "fresh", "difference"), (*padded, difference), strict=True)):
        left = 10 + index * (width + 10)
        draw.text((left, 10), name, fill="black")
        draw.rectangle((left - 1, 29, left + width, 30 + height), outline="grey")
        sheet.paste(picture.convert("RGB"), (left, 30))
    return sheet


def pictures(outputs: list) -> list[Image.Image]:
    """The pictures among a cell's outputs in order, as they are seen on a white page."""
    found = []
    for output in outputs:
        if "image/png" in output.get("data", {}):
            picture = Image.open(io.BytesIO(base64.b64decode(output["data"]["image/png"]))).convert("RGBA")
            white = Image.new("RGBA", picture.size, "white")
            found.append(Image.alpha_composite(white, picture).convert("RGB"))
    return found


def compare(stored: list, fresh: list, name: str, tags: Sequence[str] = ()) -> list[str]:
    """Says which pictures of a cell's outputs differ, and how; saves each pair side by side in `FOLDER`."""
    before, after = pictures(stored), pictures(fresh)
    if len(before) != len(after):
        return [f"{len(before)} pictures are stored, {len(after)} were drawn"]
    lines = []
    if OF_THIS_MACHINE not in tags:
        for index, pair in enumerate(zip(before, after, strict=True)):
            tolerance = LOOSE if DRIFTS in tags else EXACT
            if spread.is_asked_for():
                apart = distance(*pair, tolerance)
                spread.note(f"{name}, picture {index + 1}", 0.0, apart, apart / tolerance.limit)
            if reason := differ(*pair, tolerance):
                FOLDER.mkdir(parents=True, exist_ok=True)
                path = FOLDER / f"{name}-{index}.png"
                side_by_side(*pair).save(path)
                lines.append(f"picture {index}: {reason}; both are in {path}")
    return lines


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    if isinstance(item, IPyNbCell) and item.options["check"]:
        name = f"{item.path.stem}-cell-{item.cell_num}"
        if lines := compare(item.cell.outputs, item.test_outputs, name, item.cell.metadata.get("tags", [])):
            item.raise_cell_error("Pictures differ", "\n".join(lines))
    return result
