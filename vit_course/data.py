"""Four sources of images, one call each: generated shapes with masks, real digits, CIFAR-10, a folder of your own."""

import io
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import torch

if TYPE_CHECKING:
    import PIL.Image

SHAPES = ("circle", "square", "triangle", "cross", "ring")


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels, in memory.

    `images` (n, C, H, W) uint8, `labels` (n,) int64, and for the shapes `masks` (n, H, W) bool: the object's pixels.
    """

    images: torch.Tensor
    labels: torch.Tensor
    masks: torch.Tensor | None = None

    def __post_init__(self):
        if len(self.images) != len(self.labels):
            raise ValueError(f"{len(self.images)} images with {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: slice | torch.Tensor) -> "ImageSet":
        """Some of the images, by slice or tensor of indices."""
        return ImageSet(self.images[index], self.labels[index], None if self.masks is None else self.masks[index])


@dataclass(frozen=True)
class Dataset:
    """Train, validation and test sets with what is needed to use them.

    `mean` and `std` are of the training images, a value a channel, on the scale 0 to 1; `class_names[label]` is a word.
    """

    name: str
    train: ImageSet
    validation: ImageSet
    test: ImageSet
    class_names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def image_size(self) -> tuple[int, int]:
        """(H, W)."""
        return tuple(self.train.images.shape[2:])

    @property
    def in_channels(self) -> int:
        """C."""
        return self.train.images.shape[1]

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


def folder(root: str | Path, image_size: int | tuple[int, int] = 32, seed: int = 0) -> Dataset:
    """Your own images: one sub-folder a class, named as the class. Split 80 / 10 / 10 by chance.

    Every image is turned upright (EXIF), made RGB, resized so that it covers `image_size`, and cropped at the centre.

    Args:
        root: the folder of the classes.
        image_size: in pixels; one int means a square, a pair is (height, width).
        seed: which image goes where.

    Raises:
        ValueError: no such folder, fewer than two classes, a class without images, fewer than 10 images in all,
            or a file that is no readable image, by name.
    """
    from torchvision.datasets import ImageFolder

    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    try:
        files = ImageFolder(root, loader=lambda path: open_image(path, (height, width)))
    except FileNotFoundError as error:
        raise ValueError(
            f"{Path(root).resolve()} must be a folder with a sub-folder of images for each class: {error}"
        ) from error
    if len(files.classes) < 2:
        raise ValueError(f"{Path(root).resolve()} has {len(files.classes)} class, at least 2 are needed")
    if len(files) < 10:
        raise ValueError(f"{Path(root).resolve()} has {len(files)} images, at least 10 are needed for three parts")
    images, labels = zip(*(files[i] for i in range(len(files))), strict=True)
    whole = ImageSet(torch.stack(images), torch.tensor(labels))
    order = torch.from_numpy(np.random.RandomState(seed).permutation(len(whole)))
    tenth = len(whole) // 10
    train, validation, test = (whole[part] for part in order.split((len(whole) - 2 * tenth, tenth, tenth)))
    return _with_statistics(Path(root).name, train, validation, test, tuple(files.classes))


def open_image(path: str | Path | bytes | BinaryIO, image_size: int | tuple[int, int] | None = None) -> torch.Tensor:
    """A file -> (3, H, W) uint8: `open_picture`, resized to cover `image_size` and cropped at the centre if given.

    Args:
        path: as `open_picture` takes it.
        image_size: in pixels; one int means a square, a pair is (height, width).

    Raises:
        ValueError: as `open_picture`.
    """
    from PIL import Image, ImageOps

    image = open_picture(path)
    if image_size is not None:
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        image = ImageOps.fit(image, (width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()  # (3, H, W)


def open_picture(source: "str | Path | bytes | BinaryIO | PIL.Image.Image") -> "PIL.Image.Image":
    """A file, or an image of Pillow's in any mode -> an image of Pillow's, upright, in RGB.

    Upright: turned as the camera noted (EXIF). What is transparent is put on white, of 16 bits a value the upper eight
    are kept, and of an animation the first picture.

    Args:
        source: a path, the bytes of a file, a binary file object, whose `name` errors then mention, or an image.

    Raises:
        ValueError: no such file, no readable image, or one of more pixels than Pillow takes for harmless.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    name = source if isinstance(source, (str, Path)) else getattr(source, "name", "the picture")
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    if not (isinstance(file, (str, Path, Image.Image)) or hasattr(file, "read")):
        raise ValueError(f"a picture is a path, bytes, a file or a PIL image, got {type(source).__name__}")
    try:
        # What Pillow only warns of, such as damaged EXIF, leaves a picture to look at.
        with warnings.catch_warnings(action="ignore"):
            if isinstance(file, Image.Image):
                return _rgb(ImageOps.exif_transpose(file))
            with Image.open(file) as opened:
                return _rgb(ImageOps.exif_transpose(opened))
    except FileNotFoundError:
        raise ValueError(f"there is no file {name}") from None
    except Image.DecompressionBombError as error:
        numbers = str(error).split(",")[0]  # what follows speaks of an attack
        raise ValueError(f"{name} has too many pixels: {numbers}") from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{name} is no readable image: {_why_unknown(file)}") from error
    except Exception as error:  # a damaged file can end in nearly any error, depending on its format
        raise ValueError(f"{name} is no readable image: {error or type(error).__name__}") from error


def _rgb(image):
    # Pillow's own conversion cuts 16 bits off at 255 and shows the colours that lie hidden where a picture is clear.
    from PIL import Image

    if image.mode.startswith("I"):
        image = Image.fromarray((np.clip(np.asarray(image), 0, 65535) >> 8).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _why_unknown(file) -> str:
    # Reached only by a file that can be read, so it can be read again.
    if isinstance(file, (str, Path)):
        head = Path(file).read_bytes()[:12]
    else:
        file.seek(0)
        head = file.read(12)
    if not head:
        return "it is empty"
    if head[4:8] == b"ftyp" and head[8:] in (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"):
        return "it is a HEIC photograph, which cannot be read here; save it as JPEG on the phone or computer it is from"
    return "its content has no image format that is known here"


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
    batch, _, height, width = images.shape
    if not 0 <= padding < min(height, width):
        raise ValueError(
            f"padding {padding} does not fit an image of {height} x {width}: at least 0 and less than each side"
        )
    top, left = torch.randint(0, 2 * padding + 1, (2, batch, 1), generator=generator)
    mirror = (torch.rand(batch, 1, generator=generator) < 0.5) & flip
    # Row and column numbers before the crop; a number outside the image is reflected back at its edge.
    rows = _reflect(top - padding + torch.arange(height), height)  # (B, H)
    columns = torch.arange(width).expand(batch, -1)  # (B, W)
    columns = _reflect(left - padding + torch.where(mirror, columns.flip(1), columns), width)  # (B, W)
    rows, columns = rows.to(images.device), columns.to(images.device)
    picked = torch.arange(batch, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[picked, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)  # (B, C, H, W)


def _reflect(index: torch.Tensor, size: int) -> torch.Tensor:
    index = index.abs()
    return torch.where(index < size, index, 2 * (size - 1) - index)


def _with_statistics(
    name: str, train: ImageSet, validation: ImageSet, test: ImageSet, class_names: tuple[str, ...]
) -> Dataset:
    # By channel from a histogram of the 256 values: exact, the same on every machine, no float copy of the images.
    values = torch.arange(256, dtype=torch.float64) / 255
    mean, std = [], []
    for channel in train.images.unbind(1):
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
