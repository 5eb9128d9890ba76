"""Chapter 01: a photograph cut into patches and unrolled into its sequence, to drag."""

import io
from functools import cache

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from vit_course import data, plots
from vit_course._support.widgets.encoding import Sections
from vit_course.explorables.explorable import Explorable
from vit_course.patches import patchify, unpatchify

SIZE = 224
RIGHT, STRANGER = "2435", "4235"
SHOWN = 49  # pixels of a square


def cutter(**state) -> Explorable:
    """The course's cat, 224 x 224 pixels, to be cut into patches: drag the corner of the first one.

    Args:
        state: `side`, P; `square`, that of the sequence which is pointed at, the last one if there are not so many;
            `axes`, the order in which `permute` puts the axes 2 to 5 of an image split into six, "2435" being the right
            one; `stranger`, whether somebody else has cut and `axes` is how the sequence is put together again.

    Raises:
        ValueError: a state that is none.

    Source: Dosovitskiy et al. 2020 (arXiv:2010.11929), section 3.1.
    """
    content, sections = io.BytesIO(), Sections()
    Image.fromarray(cat().permute(1, 2, 0).numpy()).save(content, "JPEG", quality=90)
    sections.file("photograph", content.getvalue(), "image/jpeg")
    return Explorable("cutter", {}, still, computed, sections, **state)


@cache
def cat() -> torch.Tensor:
    """-> (3, 224, 224) uint8"""
    return data.open_image(data.photographs()["cat"].path, SIZE)


def cut_in_order(images: torch.Tensor, side: int, axes: str) -> torch.Tensor:
    """(B, C, H, W) -> (B, N, P*P*C), with the four axes of height and width in another order than `patchify` has."""
    batch, channels, height, width = images.shape
    x = images.reshape(batch, channels, height // side, side, width // side, side)  # (B, C, H/P, P, W/P, P)
    x = x.permute(0, *map(int, axes), 1)
    return x.reshape(batch, -1, side * side * channels)  # (B, N, P*P*C)


def put_together(patches: torch.Tensor, side: int, axes: str) -> torch.Tensor:
    """(B, N, P*P*C) -> (B, C, 224, 224), the inverse of `cut_in_order`."""
    if axes == RIGHT:
        return unpatchify(patches, side, (SIZE, SIZE))
    long = {2: SIZE // side, 3: side, 4: SIZE // side, 5: side}
    order = (0, *map(int, axes), 1)
    x = patches.reshape(len(patches), *(long[axis] for axis in order[1:5]), -1)
    x = x.permute(*(order.index(axis) for axis in range(6)))  # (B, C, H/P, P, W/P, P)
    return x.reshape(len(patches), -1, SIZE, SIZE)


def ways(state: dict) -> tuple[str, str]:
    """-> the order of the axes in which the image was cut, and the one in which it is put together."""
    return (STRANGER, state["axes"]) if state["stranger"] else (state["axes"], RIGHT)


def computed(state: dict) -> dict:
    """Counts; where the square lies; how many patches are right, and how many pixels come back in another place."""
    side, (cut, back) = state["side"], ways(state)
    places = torch.arange(SIZE * SIZE).reshape(1, 1, SIZE, SIZE)  # each pixel is the number of its place
    rightly = patchify(places, side)  # (1, N, P*P)
    sequence = rightly if cut == RIGHT else cut_in_order(places, side, cut)  # (1, N, P*P)
    patches, pixels = sequence.shape[1:]
    place = min(state["square"], patches - 1)
    row, column = divmod(place, SIZE // side)
    return {
        "patches": patches,
        "numbers": pixels * 3,
        "pairs": patches**2,
        "place": place,
        "row": row,
        "column": column,
        "right": int((sequence == rightly).all(dim=2).sum()),
        "moved": int((put_together(sequence, side, back) != places).sum()),
        "pixels": sequence[0, place, :SHOWN].tolist(),
    }


def still(state: dict) -> tuple[Figure, str]:
    """The photograph with its cuts, the sequence, and the picture that is put together again."""
    side, (cut, back), found = state["side"], ways(state), computed(state)
    image, grid, patches, place = cat()[None], SIZE // state["side"], found["patches"], found["place"]
    sequence = cut_in_order(image, side, cut)  # (1, N, P*P*C)
    fig = Figure(figsize=(8.2, 5.0), layout="constrained")
    parts = fig.add_gridspec(2, 2, height_ratios=(3, 1 if patches > 16 else 0.6))
    left, right, below = (fig.add_subplot(part) for part in (parts[0, 0], parts[0, 1], parts[1, :]))
    left.imshow(plots.to_picture(image[0]), extent=(0, SIZE, SIZE, 0))
    for lines in (left.hlines, left.vlines):
        lines(range(side, SIZE, side), 0, SIZE, color="white", linewidth=1 if side > 8 else 0.4)
    left.add_patch(Rectangle((0, 0), side, side, fill=False, edgecolor="black", linewidth=3))
    left.plot(side, side, "o", color="#ff7a00", markeredgecolor="black", markersize=12)
    right.imshow(plots.to_picture(put_together(sequence, side, back)[0]))
    columns = min(patches, 16 if patches <= 64 else 64)
    gap = max(1, side // 14)
    squares = sequence[0].reshape(patches, side, side, 3)
    empty = -patches % columns  # places in the last row
    framed = F.pad(squares, (0, 0, 0, gap, 0, gap, 0, empty), value=255)  # (N + empty, P + gap, P + gap, C)
    below.imshow(framed.unflatten(0, (-1, columns)).transpose(1, 2).flatten(2, 3).flatten(0, 1).numpy())
    corner = ((place % columns) * (side + gap), (place // columns) * (side + gap))
    below.add_patch(Rectangle(corner, side, side, fill=False, edgecolor="black", linewidth=2.5))
    if cut == RIGHT:
        corner = (found["column"] * side, found["row"] * side)
        left.add_patch(Rectangle(corner, side, side, fill=False, edgecolor="black", linewidth=2.5))
        if side >= 28:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            left.text(corner[0] + 5, corner[1] + 5, str(place), fontsize=9, va="top", bbox=box)
    if patches <= 64:
        for n in range(patches):
            where = ((n % columns + 0.06) * (side + gap), (n // columns + 0.06) * (side + gap))
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            below.text(*where, str(n), fontsize=7, va="top", bbox=box)
    again = "put back together" if not found["moved"] else f"put together: {found['moved']:,} pixels in the wrong place"
    counts = f"{patches:,} patches of {found['numbers']:,} numbers each"
    titles = (f"P = {side}: {grid} x {grid} patches", again, f"the sequence: {counts}")
    for ax, title in zip((left, right, below), titles, strict=True):
        ax.set(xticks=[], yticks=[], title=title)
        ax.spines[:].set(visible=False)
    at = f". Patch {place} is in row {found['row']}, column {found['column']}, counting from 0" if cut == RIGHT else ""
    return fig, (
        f"A photograph of a cat, cut into {patches:,} patches of side {side}, with their sequence below it. Put back "
        f"together, {found['moved']:,} of {SIZE * SIZE:,} pixels are in the wrong place{at}"
    )
