"""Four sources of images, one call each: generated shapes with masks, real digits, CIFAR-10, a folder of your own."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader

from vit_course.pictures import open_image

SHAPES = ("circle", "square", "triangle", "cross", "ring")


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels, in memory.

    `images` (n, C, H, W) uint8, `labels` (n,) int64, and for the shapes `masks` (n, H, W) bool: the object's pixels.
    Where some that were asked for could not be opened, `unreadable` names them and `kept` (n,) says which are here.
    """

    images: torch.Tensor
    labels: torch.Tensor
    masks: torch.Tensor | None = None
    unreadable: tuple[str, ...] = ()
    kept: torch.Tensor | None = None

    def __post_init__(self):
        if len(self.images) != len(self.labels):
            raise ValueError(f"{len(self.images)} images with {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.images)

    @property
    def image_size(self) -> tuple[int, int]:
        """(H, W)."""
        return tuple(self.images.shape[2:])

    def __getitem__(self, index: slice | torch.Tensor) -> "ImageSet":
        """Some of the images, by slice or tensor of indices."""
        return ImageSet(self.images[index], self.labels[index], None if self.masks is None else self.masks[index])


@dataclass(frozen=True)
class ImageFiles:
    """Images that stay on disk and are opened when they are asked for: for more of them than the memory holds.

    A file that is damaged or missing is left out, and its name is put into `unreadable`.

    Args:
        paths: n files.
        labels: (n,) int64.
        image_size: (H, W), to which each is resized and cropped (`pictures.open_image`).
    """

    paths: np.ndarray
    labels: torch.Tensor
    image_size: tuple[int, int]
    unreadable: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: slice | torch.Tensor) -> ImageSet:
        """Some of the images, opened: at most as many as were asked for.

        Raises:
            OSError: as `pictures.open_picture`: it is not the file that is damaged.
        """
        paths, labels = self.paths[index], self.labels[index]
        images, kept, unreadable = [], [], []
        for i, path in enumerate(paths):
            try:
                images.append(open_image(str(path), self.image_size))
                kept.append(i)
            except ValueError:
                unreadable.append(str(path))
        self.unreadable.update(unreadable)
        kept = torch.tensor(kept, dtype=torch.int64)
        stacked = torch.stack(images) if images else torch.empty(0, 3, *self.image_size, dtype=torch.uint8)
        return ImageSet(stacked, labels[kept], unreadable=tuple(unreadable), kept=kept)

    __getitems__ = __getitem__  # a worker of PyTorch's DataLoader asks for a whole batch by this name


Images = ImageSet | ImageFiles


def load_batches(images: Images, batches: list[torch.Tensor], workers: int = 0) -> Iterator[ImageSet]:
    """The images in batches, one after the other; those on disk are read ahead.

    Args:
        images: a part of a dataset.
        batches: the indices of each batch.
        workers: processes that read files; 0 reads in this one.

    Raises:
        ValueError: a worker that died.
        OSError: a file that cannot be read for a cause that lies not in it, as `pictures.open_picture`.
    """
    if isinstance(images, ImageSet):
        yield from (images[batch] for batch in batches)
        return
    # Its own generator: DataLoader would draw from the global one, from which dropout draws.
    loader = DataLoader(
        images,
        batch_sampler=[batch.numpy() for batch in batches],
        num_workers=workers,
        collate_fn=_as_it_is,
        generator=torch.Generator().manual_seed(0),
    )
    try:
        for batch in loader:
            images.unreadable.update(batch.unreadable)
            yield batch
    except OSError as error:
        if error.errno is not None:
            raise
        # Of a worker's error the loader keeps the class and, as its text, the whole traceback.
        raise OSError(str(error).strip().splitlines()[-1]) from error
    except RuntimeError as error:
        if "worker" not in str(error):
            raise
        raise ValueError(
            f"one of {workers} workers that read images died, often for want of memory; try fewer: {error}"
        ) from error


def unreadable(dataset: "Dataset", engine=None) -> list[str]:
    """-> the files of `dataset` that could not be read so far, by all processes of `engine` (Accelerate), sorted."""
    parts = [part for part in (dataset.train, dataset.validation, dataset.test) if isinstance(part, ImageFiles)]
    names = [name for part in parts for name in part.unreadable]
    if parts and engine is not None and engine.num_processes > 1:
        from accelerate.utils import gather_object

        names = gather_object(names)
    return sorted(set(names))


def _as_it_is(batch: ImageSet) -> ImageSet:
    return batch  # a function of the module, since workers are handed it by name


@dataclass(frozen=True)
class Dataset:
    """Train, validation and test sets with what is needed to use them.

    `mean` and `std` are of the training images, a value a channel, on the scale 0 to 1; `class_names[label]` is a word.
    """

    name: str
    train: Images
    validation: Images
    test: Images
    class_names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def image_size(self) -> tuple[int, int]:
        """(H, W)."""
        return self.train.image_size

    @property
    def in_channels(self) -> int:
        """C."""
        return len(self.mean)

    def normalise(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) uint8 -> (B, C, H, W) float32 with mean 0 and standard deviation 1 over the training set."""
        if images.dtype != torch.uint8:
            raise ValueError(f"normalise takes images as torch.uint8 (0 to 255), got {images.dtype}")
        if images.ndim != 4 or images.shape[1] != len(self.mean):
            raise ValueError(f"normalise takes images (B, {len(self.mean)}, H, W), got shape {tuple(images.shape)}")
        return (images / 255 - self._channels(self.mean, images)) / self._channels(self.std, images)

    def denormalise(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, C, H, W): the inverse of `normalise`, on the scale 0 to 1, to look at."""
        return (images * self._channels(self.std, images) + self._channels(self.mean, images)).clamp(0, 1)

    @staticmethod
    def _channels(values: tuple[float, ...], images: torch.Tensor) -> torch.Tensor:
        return torch.tensor(values, device=images.device).view(1, -1, 1, 1)  # (1, C, 1, 1)


def seed_everything(seed: int) -> None:
    """Seeds Python, NumPy and PyTorch, so that a run can be repeated."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (a learner's own code may draw from it)
    torch.manual_seed(seed)


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
    and noise covers everything. Nothing but the form tells the class, so a linear classifier fails.

    Args:
        num_train, num_validation, num_test: how many images; three independent draws.
        image_size: in pixels; one int means a square, a pair is (height, width).
        noise: the standard deviation of the noise, on the scale 0 to 1.
        clutter: how many dots an image.
        seed: another seed, other images.

    Raises:
        ValueError: a count below 1, an image side below 8, or negative noise or clutter.
    """
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    if min(height, width) < 8:
        raise ValueError(f"image_size must be at least 8 x 8 for the shapes to be told apart, got {height} x {width}")
    if noise < 0 or clutter < 0:
        raise ValueError(f"noise and clutter must not be negative, got {noise} and {clutter}")
    sets = []
    for part, count in enumerate((num_train, num_validation, num_test)):
        if count < 1:
            raise ValueError(f"every part needs at least 1 image, got {(num_train, num_validation, num_test)}")
        # RandomState and not default_rng: NumPy promises that its numbers never change.
        rng = np.random.RandomState([seed, part])
        # A thousand at a time keeps the memory small and in the cache.
        chunks = [
            _draw_shapes(min(1000, count - start), height, width, noise, clutter, rng)
            for start in range(0, count, 1000)
        ]
        sets.append(ImageSet(*(torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*chunks, strict=True))))
    return _with_statistics("shapes", *sets, SHAPES)


def digits(seed: int = 0) -> Dataset:
    """The 1,797 real handwritten digits, 8 x 8 in grey, that come inside scikit-learn: 1,197 / 200 / 400.

    Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998.
    """
    from sklearn.datasets import load_digits

    source = load_digits()
    images = torch.from_numpy((source.images * (255 / 16)).round().astype(np.uint8))[:, None]  # (n, 1, 8, 8)
    whole = ImageSet(images, torch.from_numpy(source.target.astype(np.int64)))
    order = torch.from_numpy(np.random.RandomState(seed).permutation(len(whole)))
    train, validation, test = (whole[part] for part in order.split((1197, 200, 400)))
    return _with_statistics("digits", train, validation, test, tuple("0123456789"))


def cifar10(root: str | Path = "data", download: bool = True, seed: int = 0) -> Dataset:
    """CIFAR-10, 32 x 32 in colour, ten classes: 45,000 / 5,000 / 10,000. Downloads 170 MB the first time, with a bar.

    Args:
        root: the folder that holds `cifar-10-batches-py`, or will.
        download: whether to fetch what is not there.
        seed: which training images are set apart for validation.

    Raises:
        ValueError: nothing there and none could be downloaded, or the files are damaged.

    Source: A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009.
    """
    from torchvision.datasets import CIFAR10

    try:
        sources = [CIFAR10(root, train=train, download=download) for train in (True, False)]
    except (RuntimeError, OSError) as error:
        raise ValueError(
            f"CIFAR-10 is not in {Path(root).resolve()} and could not be had ({type(error).__name__}). With a network, "
            f"call cifar10(download=True); without one, copy the folder cifar-10-batches-py there. "
            f"data.shapes() and data.digits() need no network."
        ) from error
    whole, test = (
        ImageSet(torch.from_numpy(source.data).permute(0, 3, 1, 2).contiguous(), torch.tensor(source.targets))
        for source in sources
    )
    order = torch.from_numpy(np.random.RandomState(seed).permutation(len(whole)))
    train, validation = (whole[part] for part in order.split((len(whole) * 9 // 10, len(whole) - len(whole) * 9 // 10)))
    return _with_statistics("cifar10", train, validation, test, tuple(sources[0].classes))


def folder(root: str | Path, image_size: int | tuple[int, int] = 32, seed: int = 0, on_disk: bool = False) -> Dataset:
    """Your own images: one sub-folder a class, named as the class. Split 80 / 10 / 10 by chance.

    Every image is turned upright (EXIF), made RGB, resized so that it covers `image_size`, and cropped at the centre.

    Args:
        root: the folder of the classes.
        image_size: in pixels; one int means a square, a pair is (height, width).
        seed: which image goes where.
        on_disk: leave the images on disk and open them batch by batch, for more than the memory holds. Damaged files
            are then left out and named in `unreadable`; mean and deviation are those of 1,000 images.

    Raises:
        ValueError: no such folder, fewer than two classes, a class without images, fewer than 10 images in all,
            or, where all are read at once, a file that is no readable image, by name.
        OSError: as `pictures.open_picture`.
    """
    from torchvision.datasets import ImageFolder

    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    try:
        files = ImageFolder(root)
    except FileNotFoundError as error:
        raise ValueError(
            f"{Path(root).resolve()} must be a folder with a sub-folder of images for each class: {error}"
        ) from error
    if len(files.classes) < 2:
        raise ValueError(f"{Path(root).resolve()} has {len(files.classes)} class, at least 2 are needed")
    if len(files) < 10:
        raise ValueError(f"{Path(root).resolve()} has {len(files)} images, at least 10 are needed for three parts")
    order = np.random.RandomState(seed).permutation(len(files))
    tenth = len(order) // 10
    parts = np.split(order, [len(order) - 2 * tenth, len(order) - tenth])
    paths, labels = np.array([path for path, _ in files.samples]), torch.tensor(files.targets)
    on_disk_parts = [ImageFiles(paths[part], labels[part], (height, width)) for part in parts]
    if on_disk:
        return _with_statistics(Path(root).name, *on_disk_parts, tuple(files.classes))
    return _with_statistics(Path(root).name, *(_read(part) for part in on_disk_parts), tuple(files.classes))


def _read(files: ImageFiles) -> ImageSet:
    images = [open_image(str(path), files.image_size) for path in files.paths]  # the first damaged one is named
    return ImageSet(torch.stack(images), files.labels)


def shift_and_flip(
    images: torch.Tensor, padding: int, flip: bool, generator: torch.Generator | None = None
) -> torch.Tensor:
    """(B, C, H, W) -> (B, C, H, W)

    The usual augmentation of small images, on tensors: each image is padded by reflection and cropped back at a random
    place, and mirrored half of the time.

    Args:
        images: a batch on any device, any dtype.
        padding: by how many pixels an image may shift at most; 0 for none.
        flip: whether to mirror left and right. Never for digits.
        generator: on the CPU, for repeatable draws.

    Raises:
        ValueError: where the padding does not fit into the image.
    """
    return shift_images(images, random_shifts(len(images), padding, flip, generator), padding)


def random_shifts(count: int, padding: int, flip: bool, generator: torch.Generator | None = None) -> torch.Tensor:
    """-> (count, 3): for each image the row and the column at which the crop begins, and whether it is mirrored then.

    Row and column run from -padding to padding; where they are positive, what is seen moves up and left.
    """
    shifts = torch.randint(0, 2 * max(0, padding) + 1, (2, count), generator=generator) - padding
    mirror = (torch.rand(count, generator=generator) < 0.5) & flip
    return torch.cat([shifts, mirror[None]]).T  # (count, 3)


def shift_images(images: torch.Tensor, shifts: torch.Tensor, padding: int) -> torch.Tensor:
    """(B, C, H, W), (B, 3) -> (B, C, H, W): `shift_and_flip` by the given `random_shifts` of at most `padding`."""
    batch, _, height, width = images.shape
    if not 0 <= padding < min(height, width):
        raise ValueError(
            f"padding {padding} does not fit an image of {height} x {width}: at least 0 and less than each side"
        )
    top, left, mirror = shifts[:, :, None].unbind(1)  # 3 x (B, 1)
    # Row and column numbers before the crop; a number outside the image is reflected back at its edge.
    rows = _reflect(top + torch.arange(height), height)  # (B, H)
    columns = torch.arange(width).expand(batch, -1)  # (B, W)
    columns = _reflect(left + torch.where(mirror.bool(), columns.flip(1), columns), width)  # (B, W)
    rows, columns = rows.to(images.device), columns.to(images.device)
    picked = torch.arange(batch, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[picked, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)  # (B, C, H, W)


def random_places(count: int, image_size: tuple[int, int], generator: torch.Generator | None = None) -> torch.Tensor:
    """-> (count, 2): a row and a column for each image, for `cut_out`."""
    height, width = image_size
    rows = torch.randint(0, height, (count,), generator=generator)
    return torch.stack([rows, torch.randint(0, width, (count,), generator=generator)], dim=1)  # (count, 2)


def cut_out(images: torch.Tensor, places: torch.Tensor, side: int) -> torch.Tensor:
    """(B, C, H, W), (B, 2) -> (B, C, H, W)

    Sets a square in each image to 0, which in a normalised image is the mean of the training set: the model cannot
    rely on any one part. Of a square near the edge a part lies outside.

    Args:
        images: a batch, normalised.
        places: the row and column of each square's middle, as `random_places` draws them.
        side: of the square, in pixels; 0 for none.

    Source: DeVries & Taylor 2017 (arXiv:1708.04552).
    """
    rows, columns = torch.arange(images.shape[2]), torch.arange(images.shape[3])
    top, left = (places - side // 2).unbind(1)  # 2 x (B,)
    inside_rows = (rows >= top[:, None]) & (rows < top[:, None] + side)  # (B, H)
    inside_columns = (columns >= left[:, None]) & (columns < left[:, None] + side)  # (B, W)
    square = inside_rows[:, None, :, None] & inside_columns[:, None, None, :]  # (B, 1, H, W)
    return images.masked_fill(square.to(images.device), 0.0)


def _reflect(index: torch.Tensor, size: int) -> torch.Tensor:
    index = index.abs()
    return torch.where(index < size, index, 2 * (size - 1) - index)


def _with_statistics(
    name: str, train: Images, validation: Images, test: Images, class_names: tuple[str, ...]
) -> Dataset:
    # By channel from a histogram of the 256 values: exact, the same on every machine, no float copy of the images.
    values = torch.arange(256, dtype=torch.float64) / 255
    mean, std = [], []
    images = train if isinstance(train, ImageSet) else train[:1000]  # in the order of the split, which is by chance
    if not len(images):
        raise ValueError(f"none of the first {min(1000, len(train))} training images of {name} can be read")
    for channel in images.images.unbind(1):
        share = torch.bincount(channel.flatten(), minlength=256).double() / channel.numel()
        centre = (share * values).sum()
        mean.append(round(centre.item(), 4))
        std.append(round((share * (values - centre) ** 2).sum().sqrt().item(), 4))
    return Dataset(name, train, validation, test, class_names, tuple(mean), tuple(std))


def _draw_shapes(
    count: int, height: int, width: int, noise: float, clutter: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-> images (n, 3, H, W) uint8, labels (n,) int64, masks (n, H, W) bool.

    Only +, -, *, / and comparisons: they are exact everywhere, which sine and exponential are not.
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
    for label, inside in enumerate(_INSIDE):
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

    # The sum of three even draws is close to a normal one, and is the same everywhere.
    draws = rng.randint(0, 256, (3, count, 3, height, width), dtype=np.uint8).sum(axis=0, dtype=np.int32)
    images = images + (draws - 382.5).astype(np.float32) * np.float32(noise / 128)
    return (images.clip(0, 1) * 255).astype(np.uint8), labels.astype(np.int64), masks


# Whether the point (u, v), from -1 to 1 with v downwards, lies inside each shape, in the order of SHAPES.
_INSIDE: tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], ...] = (
    lambda u, v: u * u + v * v <= 0.85,
    lambda u, v: np.maximum(abs(u), abs(v)) <= 0.78,
    lambda u, v: (v <= 0.7) & (2 * abs(u) <= 0.95 + v),
    lambda u, v: (np.minimum(abs(u), abs(v)) <= 0.27) & (np.maximum(abs(u), abs(v)) <= 0.95),
    lambda u, v: (u * u + v * v <= 1) & (u * u + v * v >= 0.36),
)
