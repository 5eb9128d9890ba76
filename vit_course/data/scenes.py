"""Generated scenes of two or three shapes with captions, and where every shape lies: the same on every machine."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments, height_and_width
from vit_course._support.inputs.tensors import check_axes
from vit_course.data.captions import COLOURS, RELATIONS, SIZES, Sentence, Thing, parse
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.memory import check_memory
from vit_course.data.sets import ImageSet, chosen
from vit_course.data.shapes import DRAWING_BYTES, INSIDE, SHAPES, with_noise

# The combinations that no training image has: one shape for each colour.
HELD_OUT = ("red ring", "green cross", "blue triangle", "yellow square", "purple circle", "white ring")
COMBINATIONS = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)

_RGB = ((0.85, 0.15, 0.15), (0.15, 0.7, 0.2), (0.2, 0.3, 0.9), (0.9, 0.85, 0.15), (0.6, 0.2, 0.75), (0.95, 0.95, 0.95))
_RADIUS = (0.09, 0.145)  # of a small and a large shape, as a share of the shorter side; a cell is a third of a side
_KINDS = (SIZES, COLOURS, SHAPES)  # in the order of the columns of `Scenes.things`
NO_SHAPE = -1


@dataclass(frozen=True)
class Scenes(ImageSet):
    """Images with captions, and what was drawn in each.

    Args:
        images: (n, 3, H, W) uint8.
        labels: (n,) int64: the combination of the first thing of the caption, an index into `COMBINATIONS`.
        captions: n sentences.
        things: (n, 3, 4) int64: of each shape the index of its size, colour, form and cell; the cells are 3 x 3, row by
            row. The third shape is -1 where there are only two.
        places: (n, H, W) uint8: 0 on the background, else the number of the shape, 1 to 3.

    Raises:
        TypeError, ValueError: as of an `ImageSet`, or sizes that do not fit together.
    """

    captions: tuple[str, ...] = ()
    things: torch.Tensor | None = None
    places: torch.Tensor | None = None

    def __post_init__(self):
        super().__post_init__()
        check_axes("things", self.things, "(n, 3, 4)", torch.int64)
        check_axes("places", self.places, "(n, H, W)", torch.uint8)
        if not len(self.images) == len(self.captions) == len(self.things) == len(self.places):
            raise ValueError(
                f"there are {len(self.images)} images, but {len(self.captions)} captions, {len(self.things)} rows of "
                f"things and {len(self.places)} of places: one for each is needed"
            )

    def __getitem__(self, index: slice | torch.Tensor) -> "Scenes":
        """Some of the scenes, as of an `ImageSet`."""
        index = chosen(index, len(self), "train.images[{0}] and train.captions[{0}]")
        rows = range(len(self))[index] if isinstance(index, slice) else index.tolist()
        captions = tuple(self.captions[row] for row in rows)
        return Scenes(
            self.images[index],
            self.labels[index],
            captions=captions,
            things=self.things[index],
            places=self.places[index],
        )

    def fits(self, thing: Thing) -> torch.Tensor:
        """Returns (n, 3) bool: which shapes of each image a thing describes."""
        found = self.things[:, :, 0] != NO_SHAPE
        for word, words, column in zip((thing.size, thing.colour, thing.shape), _KINDS, range(3), strict=True):
            if word:
                found &= self.things[:, :, column] == words.index(word)
        return found

    def is_true(self, caption: str) -> torch.Tensor:
        """Returns (n,) bool: of which images a caption is true.

        Raises:
            ValueError: as `parse`.
        """
        sentence = parse(caption)
        first = self.fits(sentence.first)
        if sentence.second is None:
            return first.any(1)
        second = self.fits(sentence.second)
        holds = related(self.things[:, :, None, 3], self.things[:, None, :, 3])[RELATIONS.index(sentence.relation)]
        return (first[:, :, None] & second[:, None, :] & holds).flatten(1).any(1)

    def masks_of(self, caption: str) -> torch.Tensor:
        """Returns (n, H, W) bool: True on the shapes that the first thing of a caption describes.

        Raises:
            ValueError: as `parse`.
        """
        fits = self.fits(parse(caption).first)  # (n, 3)
        found = torch.zeros(self.places.shape, dtype=torch.bool)
        for number in range(3):
            found |= fits[:, number, None, None] & (self.places == number + 1)
        return found


def related(cell: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns for each of `RELATIONS` whether it holds between two cells of the 3 x 3, given by their indices."""
    (row, column), (other_row, other_column) = ((each // 3, each % 3) for each in (cell, other))
    return column < other_column, column > other_column, row < other_row, row > other_row


def scenes(
    num_train: int = 20_000,
    num_validation: int = 1_000,
    num_test: int = 1_000,
    image_size: int | tuple[int, int] = 48,
    noise: float = 0.05,
    new_combinations: bool = False,
    permuted: bool = False,
    seed: int = 0,
) -> Dataset:
    """Scenes of two or three shapes with a caption each: the same on every machine for the same arguments.

    The shapes of a scene lie in different cells of a grid of 3 x 3, and no two have the same colour and form. A quarter
    of the captions name one of them, the others two and their relation; a size is named half of the times. The six
    combinations of `HELD_OUT` never occur.

    Args:
        num_train, num_validation, num_test: how many images; three independent draws.
        image_size: in pixels; one int means a square, a pair is (height, width).
        noise: the standard deviation of the noise, on the scale 0 to 1.
        new_combinations: whether every caption names a combination of `HELD_OUT`.
        permuted: whether each training image has the caption of another one, as a control.
        seed: another seed gives other scenes.

    Raises:
        ValueError: an image side below 24, more images than fit into memory, or an argument of another kind or out of
            its range.
    """
    check_arguments(
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
        noise=noise,
        new_combinations=new_combinations,
        permuted=permuted,
        seed=seed,
    )
    counts = num_train, num_validation, num_test
    height, width = height_and_width("image_size", image_size)
    if min(height, width) < 24:
        raise ValueError(f"image_size must be at least 24 x 24 for the shapes to be told apart, got {height} x {width}")
    needed = (sum(counts) + max(counts)) * height * width * 4 + min(1000, max(counts)) * height * width * DRAWING_BYTES
    check_memory(needed, f"{sum(counts)} scenes of {height} x {width}", "ask for fewer or smaller images")
    train, validation, test = (
        # RandomState and not default_rng: NumPy promises that its numbers never change.
        _draw(count, height, width, noise, new_combinations, np.random.RandomState([seed, part]))
        for part, count in enumerate(counts)
    )
    if permuted:
        order = np.random.RandomState([seed, len(counts)]).permutation(num_train)
        train = replace(train, captions=tuple(train.captions[i] for i in order), labels=train.labels[order])
    source = source_of(
        scenes,
        "scenes",
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
        image_size=(height, width),
        noise=float(noise),
        new_combinations=new_combinations,
        permuted=permuted,
        seed=seed,
    )
    return with_statistics("scenes", train, validation, test, COMBINATIONS, source)


def _draw(count: int, height: int, width: int, noise: float, new: bool, rng: np.random.RandomState) -> Scenes:
    drawn = _draw_things(count, new, rng)
    captions = _write_captions(drawn, rng)
    # A thousand at a time keeps the memory small and in the cache.
    parts = [_paint(drawn[start : start + 1000], height, width, noise, rng) for start in range(0, count, 1000)]
    images, places = (torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*parts, strict=True))
    firsts = (parse(caption).first for caption in captions)
    labels = torch.tensor([COMBINATIONS.index(f"{one.colour} {one.shape}") for one in firsts])
    return Scenes(images, labels, captions=captions, things=torch.from_numpy(drawn), places=places)


def _draw_things(count: int, new: bool, rng: np.random.RandomState) -> np.ndarray:
    """Returns (n, 3, 4): size, colour, form and cell of each shape; the third is -1 in half of the scenes."""
    known = np.array([i for i, name in enumerate(COMBINATIONS) if name not in HELD_OUT])
    held_out = np.array([i for i, name in enumerate(COMBINATIONS) if name in HELD_OUT])
    combination = known[rng.random_sample((count, len(known))).argsort(1)[:, :3]]
    if new:
        combination[:, 0] = held_out[rng.randint(0, len(held_out), count)]
    cell = rng.random_sample((count, 9)).argsort(1)[:, :3]
    size = rng.randint(0, len(SIZES), (count, 3))
    things = np.stack([size, combination // len(SHAPES), combination % len(SHAPES), cell], 2)
    things[rng.random_sample(count) < 0.5, 2] = NO_SHAPE
    return things.astype(np.int64)


def _write_captions(things: np.ndarray, rng: np.random.RandomState) -> tuple[str, ...]:
    # The first shape is always named, which makes a caption new where the first combination is; which of two comes
    # first in the sentence is drawn.
    draws = rng.random_sample((len(things), 6))
    captions = []
    for shapes, (kind, other, order, which, *sized) in zip(things, draws, strict=True):
        second = 2 if other < 0.5 and shapes[2, 0] != NO_SHAPE else 1
        pair = [shapes[0], shapes[second]] if order < 0.5 or kind < 0.25 else [shapes[second], shapes[0]]
        first, last = (
            Thing(COLOURS[colour], SHAPES[shape], SIZES[size] if share < 0.5 else "")
            for (size, colour, shape, _), share in zip(pair, sized, strict=True)
        )
        holding = [name for name, holds in zip(RELATIONS, related(pair[0][3], pair[1][3]), strict=True) if holds]
        relation = holding[int(which * len(holding))]
        captions.append(str(Sentence(first) if kind < 0.25 else Sentence(first, relation, last)))
    return tuple(captions)


def _paint(
    things: np.ndarray, height: int, width: int, noise: float, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Returns images (n, 3, H, W) uint8, places (n, H, W) uint8.

    Uses only +, -, `*`, / and comparisons, which give the same on every machine.
    """
    count, side = len(things), min(height, width)

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return (low + (high - low) * rng.random_sample((count, *shape))).astype(np.float32)

    y = np.arange(height, dtype=np.float32)[None, :, None]  # (1, H, 1)
    x = np.arange(width, dtype=np.float32)[None, None, :]  # (1, 1, W)
    # A grey background that runs from one brightness at the top left to another at the bottom right.
    start, stop = uniform(0.1, 0.6, 1, 1, 1), uniform(0.1, 0.6, 1, 1, 1)
    images = start + (stop - start) * ((y / height + x / width) / 2)[:, None] * np.ones((1, 3, 1, 1), np.float32)
    places = np.zeros((count, height, width), np.uint8)
    for number in range(things.shape[1]):
        size, colour, shape, cell = things[:, number].T
        there = shape != NO_SHAPE
        radius = np.array(_RADIUS, np.float32)[size][:, None, None] * side * uniform(0.93, 1.07, 1, 1)
        wobble = np.float32(0.02 * side)
        centre_y = (2 * (cell // 3)[:, None, None] + 1) * np.float32(height / 6) + uniform(-1, 1, 1, 1) * wobble
        centre_x = (2 * (cell % 3)[:, None, None] + 1) * np.float32(width / 6) + uniform(-1, 1, 1, 1) * wobble
        v, u = (y + 0.5 - centre_y) / radius, (x + 0.5 - centre_x) / radius  # (n, H, W)
        mask = np.zeros(places.shape, bool)
        for form, inside in enumerate(INSIDE):
            chosen_ones = there & (shape == form)
            mask[chosen_ones] = inside(u[chosen_ones], v[chosen_ones])
        paint = np.array(_RGB, np.float32)[colour][:, :, None, None] + uniform(-0.08, 0.08, 3, 1, 1)
        images = np.where(mask[:, None], paint, images)
        places[mask] = number + 1
    return with_noise(images, noise, rng), places
