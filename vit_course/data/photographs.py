"""Photographs that come with the course: with author, licence, and the main object of most as a mask."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageChops, ImageDraw

from vit_course._support.files.course_files import stored
from vit_course._support.inputs.rules import shown
from vit_course.data.pictures import open_picture

_FINE = 4  # polygons are drawn this many times as large as the photograph, then reduced, for antialiased edges

Polygon = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Photograph:
    """A photograph of the course, and who made it. `photographs` has them all.

    Args:
        name: "cat".
        path: of the file.
        size: (H, W) in pixels.
        title: what it shows.
        author: the photographer, or who published it where no photographer is named.
        licence: under which it may be passed on.
        source: where it comes from.
        changes: what was done to it here.
        object: what the mask covers, in words; None where there is no mask.
        polygons: the outlines of the object, each corner as (x, y) in pixels from the upper left corner of the file.
    """

    name: str
    path: Path
    size: tuple[int, int]
    title: str
    author: str
    licence: str
    source: str
    changes: str
    object: str | None = None
    polygons: tuple[Polygon, ...] = field(default=(), repr=False)

    def open(self) -> Image.Image:
        """The photograph as a Pillow image, in RGB."""
        return open_picture(self.path)

    def mask(self, preprocess: Callable | None = None) -> torch.Tensor:
        """Returns (H, W) bool: True on the main object.

        A pixel belongs to the object where it lies within an odd number of the polygons, so that a polygon inside
        another is a hole.

        Args:
            preprocess: from a picture to the (1, C, H, W) that a model takes. It resizes and crops the mask as it does
                the photograph, so the mask has the size of its result. By default, the size of the file.

        Raises:
            ValueError: a photograph without a mask, or an invalid `preprocess`.
        """
        if not self.polygons:
            raise ValueError(f"the photograph {self.name!r} has no mask; {', '.join(_with_masks())} have one")
        drawn = _draw(self.polygons, self.size)
        if preprocess is None:
            return torch.from_numpy(np.array(drawn) >= 128)
        return _passed_on(preprocess, drawn)


def photographs() -> dict[str, Photograph]:
    """Returns the photographs that come with the course, by name: `photographs()["cat"].open()`.

    Raises:
        OSError: this installation has no files of the course.
    """
    return dict(_read())


@cache
def _read() -> dict[str, Photograph]:
    folder = stored("photographs")
    entries = json.loads((folder / "photographs.json").read_text(encoding="utf-8"))
    masks = json.loads((folder / "masks.json").read_text(encoding="utf-8"))
    found = {}
    for name, entry in entries.items():
        path = folder / f"{name}.jpg"
        with Image.open(path, formats=["JPEG"]) as image:  # reads only the header of the file
            width, height = image.size
        mask = masks.get(name, {"object": None, "polygons": []})
        outlines = tuple(tuple(map(tuple, polygon)) for polygon in mask["polygons"])
        found[name] = Photograph(name, path, (height, width), **entry, object=mask["object"], polygons=outlines)
    return found


def _with_masks() -> list[str]:
    return [name for name, photograph in photographs().items() if photograph.polygons]


def _draw(polygons: tuple[Polygon, ...], size: tuple[int, int]) -> Image.Image:
    """Returns a grey image of (H, W): 255 on the object, 0 beside it, between them at its edge."""
    height, width = size
    mask = Image.new("1", (width * _FINE, height * _FINE))
    for polygon in polygons:
        one = Image.new("1", mask.size)
        # Whole numbers are the centres of pixels in Pillow, but their corners in the outlines.
        ImageDraw.Draw(one).polygon([(x * _FINE - 0.5, y * _FINE - 0.5) for x, y in polygon], fill=1)
        mask = ImageChops.logical_xor(mask, one)
    return mask.convert("L").resize((width, height), Image.Resampling.BOX)


def _passed_on(preprocess: Callable, drawn: Image.Image) -> torch.Tensor:
    """Returns (H, W) bool: where the preprocessed mask is lighter than preprocessed grey."""
    if not callable(preprocess):
        raise ValueError(
            f"preprocess must be a function from a picture to what the model takes, got {shown(preprocess)}"
        )
    results = [preprocess(image) for image in (drawn, Image.new("L", drawn.size, 127))]
    for result in results:
        if not isinstance(result, torch.Tensor) or result.ndim != 4 or len(result) != 1:
            given = tuple(result.shape) if isinstance(result, torch.Tensor) else type(result).__name__
            raise ValueError(f"preprocess must turn a picture into (1, C, H, W), got {given}")
    mask, grey = results
    return (mask > grey)[0, 0]
