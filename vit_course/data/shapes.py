"""Generated images of five shapes, with the mask of each: the same on every machine."""

from collections.abc import Callable

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments, height_and_width
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.memory import check_memory
from vit_course.data.sets import ImageSet

SHAPES = ("circle", "square", "triangle", "cross", "ring")
# Memory per pixel while drawing: several float32 arrays of three channels, measured.
DRAWING_BYTES = 80


def shapes(
    num_train: int = 10_000,
    num_validation: int = 1_000,
    num_test: int = 1_000,
    image_size: int | tuple[int, int] = 32,
    noise: float = 0.1,
    clutter: int = 6,
    seed: int = 0,
) -> Dataset:
    """Colour images of one shape each, with the mask of the shape: the same on every machine for the same arguments.

    Place, size, angle and colour of the shape are random, and so are the background's colours; small dots lie about
    and noise covers everything. Only the form reveals the class, so a linear classifier fails.

    Args:
        num_train, num_validation, num_test: how many images; three independent draws.
        image_size: in pixels; one int means a square, a pair is (height, width).
        noise: the standard deviation of the noise, on the scale 0 to 1.
        clutter: how many dots per image.
        seed: another seed gives other images.

    Raises:
        ValueError: an image side below 8, more images than fit into memory, or an argument of another kind or out of
            its range.
    """
    check_arguments(
        num_train=num_train, num_validation=num_validation, num_test=num_test, noise=noise, clutter=clutter, seed=seed
    )
    counts = num_train, num_validation, num_test
    height, width = height_and_width("image_size", image_size)
    if min(height, width) < 8:
        raise ValueError(f"image_size must be at least 8 x 8 for the shapes to be told apart, got {height} x {width}")
    _check_memory_for(counts, height, width)
    sets = []
    for part, count in enumerate(counts):
        # RandomState and not default_rng: NumPy promises that its numbers never change.
        rng = np.random.RandomState([seed, part])
        # A thousand at a time keeps the memory small and in the cache.
        chunks = [
            _draw_shapes(min(1000, count - start), height, width, noise, clutter, rng)
            for start in range(0, count, 1000)
        ]
        sets.append(ImageSet(*(torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*chunks, strict=True))))
    source = source_of(
        shapes,
        "shapes",
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
        image_size=(height, width),
        noise=float(noise),
        clutter=clutter,
        seed=seed,
    )
    return with_statistics("shapes", *sets, SHAPES, source)


def _check_memory_for(counts: tuple[int, ...], height: int, width: int) -> None:
    stored = height * width * 4  # three channels and the mask, a byte each
    # All parts, the largest of them twice while it is concatenated, and the memory for drawing a thousand at once.
    needed = (sum(counts) + max(counts)) * stored + min(1000, max(counts)) * height * width * DRAWING_BYTES
    check_memory(needed, f"{sum(counts)} shapes of {height} x {width}", "ask for fewer or smaller images")


def _draw_shapes(
    count: int, height: int, width: int, noise: float, clutter: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns images (n, 3, H, W) uint8, labels (n,) int64, masks (n, H, W) bool.

    Uses only +, -, `*`, / and comparisons, which give the same on every machine; sine and exponential do not.
    """

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return (low + (high - low) * rng.random_sample((count, *shape))).astype(np.float32)

    side = min(height, width)
    y = np.arange(height, dtype=np.float32)[None, :, None]  # (1, H, 1)
    x = np.arange(width, dtype=np.float32)[None, None, :]  # (1, 1, W)

    # A background that runs from one colour at the top left to another at the bottom right.
    start, stop = uniform(0, 1, 3, 1, 1), uniform(0, 1, 3, 1, 1)  # (n, 3, 1, 1)
    slope = (y / height + x / width) / 2  # (1, H, W)
    images = start + (stop - start) * slope[:, None]  # (n, 3, H, W)

    for _ in range(clutter):
        centre_y, centre_x, radius = uniform(0, height, 1, 1), uniform(0, width, 1, 1), uniform(0.7, 0.06 * side, 1, 1)
        dot = (y - centre_y) ** 2 + (x - centre_x) ** 2 <= radius**2  # (n, H, W)
        images = np.where(dot[:, None], uniform(0, 1, 3, 1, 1), images)

    labels = rng.randint(0, len(SHAPES), count)
    radius = uniform(0.2, 0.34, 1, 1) * side
    centre_y = radius + uniform(0, 1, 1, 1) * (height - 1 - 2 * radius)
    centre_x = radius + uniform(0, 1, 1, 1) * (width - 1 - 2 * radius)
    # A turn by up to 30 degrees either way, without sine: ((1 - t^2), 2 t) / (1 + t^2) lies on the circle.
    t = uniform(-0.27, 0.27, 1, 1)
    cosine, sine = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    dy, dx = (y - centre_y) / radius, (x - centre_x) / radius  # (n, H, W), the shape fits into -1 to 1
    u, v = cosine * dx + sine * dy, cosine * dy - sine * dx
    masks = np.empty((count, height, width), dtype=bool)
    for label, inside in enumerate(INSIDE):
        chosen = labels == label
        masks[chosen] = inside(u[chosen], v[chosen])

    # The shape's colour differs from the background behind it by at least 0.35 in brightness.
    behind = images.mean(axis=1)[np.arange(count), *(c.astype(int).ravel() for c in (centre_y, centre_x))][
        :, None, None, None
    ]
    colour = uniform(0, 1, 3, 1, 1)
    wanted = np.where(behind < 0.5, behind + uniform(0.35, 0.5, 1, 1, 1), behind - uniform(0.35, 0.5, 1, 1, 1))
    colour = colour + wanted - colour.mean(axis=1, keepdims=True)
    images = np.where(masks[:, None], colour, images)

    return with_noise(images, noise, rng), labels.astype(np.int64), masks


def with_noise(images: np.ndarray, noise: float, rng: np.random.RandomState) -> np.ndarray:
    """(n, 3, H, W) from 0 to 1 -> (n, 3, H, W) uint8, with noise of this standard deviation."""
    # The sum of three uniform draws is close to normal, and is the same on every machine.
    draws = rng.randint(0, 256, (3, *images.shape), dtype=np.uint8).sum(axis=0, dtype=np.int32)
    images = images + (draws - 382.5).astype(np.float32) * np.float32(noise / 128)
    return (images.clip(0, 1) * 255).astype(np.uint8)


# Whether the point (u, v), from -1 to 1 with v downwards, lies inside each shape, in the order of SHAPES.
INSIDE: tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], ...] = (
    lambda u, v: u * u + v * v <= 0.85,
    lambda u, v: np.maximum(abs(u), abs(v)) <= 0.78,
    lambda u, v: (v <= 0.7) & (2 * abs(u) <= 0.95 + v),
    lambda u, v: (np.minimum(abs(u), abs(v)) <= 0.27) & (np.maximum(abs(u), abs(v)) <= 0.95),
    lambda u, v: (u * u + v * v <= 1) & (u * u + v * v >= 0.36),
)
