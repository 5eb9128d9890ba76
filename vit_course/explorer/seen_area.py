"""Cuts the picture to the patches of a model, so that the grid lies where they are, and says what is beside them."""

import numpy as np
import torch
from PIL import Image

from vit_course._support.inputs.arrays import to_picture
from vit_course.explorer.panel import cut_out
from vit_course.explorer.prepared import Prepared
from vit_course.maps.models.patch_geometry import PatchGeometry

SIDES = ("at the top", "at the left", "at the bottom", "at the right")
Whole = tuple[Image.Image, tuple[float, float]] | tuple[Image.Image, tuple[float, float], tuple[float, float]]


def cut_to_patches(prepared: Prepared, geometry: PatchGeometry | None) -> tuple[torch.Tensor, Whole | None, str]:
    """Returns `image`, `whole` and `note` as an `AttentionExplorer` takes them.

    The image is the part of `prepared.shown` over which the patches lie, hatched where the model pads it. Pixels that
    no patch sees are only in `whole`, outside of the frame that the page draws there.

    Args:
        prepared: a picture as it was given to a model.
        geometry: of the patches; None if it is not known, and then they share the picture equally.
    """
    shown, whole = prepared.shown, prepared.whole
    height, width = shown.shape[1:]
    if geometry is None or geometry.image_size != (height, width):
        return shown, whole, ""
    top, left, bottom, right = geometry.area
    if (top, left, bottom, right) == (0, 0, height, width):
        return shown, whole, _note(geometry)
    seen = Image.fromarray(np.rint(255 * to_picture(shown)).astype(np.uint8))
    image = torch.from_numpy(np.array(cut_out(seen, (left, top, right, bottom))))  # (H, W) or (H, W, 3)
    picture, (high, wide) = whole or (seen, (1.0, 1.0))
    kept = high * (bottom - top) / height, wide * (right - left) / width
    at = (1 - high) / 2 + high * top / height, (1 - wide) / 2 + wide * left / width
    return image if image.ndim == 2 else image.permute(2, 0, 1), (picture, kept, at), _note(geometry)


def _note(geometry: PatchGeometry) -> str:
    # What the reader has to know of the edges of the picture, and of patches that overlap.
    (height, width), (top, left, bottom, right) = geometry.image_size, geometry.area
    (tall, wide), (down, across) = geometry.size or geometry.step, geometry.step
    sides = height, width, height, width
    said = []
    rows, columns = ((~geometry.unseen()).any(dim=axis).int() for axis in (1, 0))
    unseen = (int(line.argmax()) for line in (rows, columns, rows.flip(0), columns.flip(0)))
    if without := [f"{n} of {side} {where}" for n, side, where in zip(unseen, sides, SIDES, strict=True) if n]:
        said.append(f"No patch sees the outermost pixels: {', '.join(without)}.")
    beyond = -top, -left, bottom - height, right - width
    gaps = tall < down or wide < across  # which end the last cells, so that they may reach beyond the image
    if not gaps and (padded := [f"{n} {where}" for n, where in zip(beyond, SIDES, strict=True) if n > 0]):
        said.append(f"The model adds pixels beyond the picture, drawn hatched: {', '.join(padded)}.")
    if tall > down or wide > across:
        said.append(f"Patches of {tall} x {wide} pixels overlap: each is drawn as its middle {down} x {across}.")
    return " ".join(said)
