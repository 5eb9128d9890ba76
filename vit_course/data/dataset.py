"""The three parts of a dataset, and what is needed to use them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from vit_course._support.inputs.arguments import check_statistics
from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.tensors import check_axes
from vit_course.data.pictures import normalise
from vit_course.data.sets import Images, ImageSet


@dataclass(frozen=True)
class Dataset:
    """Train, validation and test sets with what is needed to use them.

    Args:
        name: for titles and messages.
        train, validation, test: of one image size, at least one image each.
        class_names: `class_names[label]` is the name of a class.
        mean, std: of the training images, one value per channel, on the scale 0 to 1.
        source: the [data] part of a recipe for these images, in JSON values, from which `from_recipe` makes them again.
            Later changes by `dataclasses.replace` are not in it.
        summary: of a folder, what was found in it and what was left out (`folder_summary.summarise`).

    Raises:
        ValueError: parts that do not fit together, a label without a class, or invalid statistics.
    """

    name: str
    train: Images
    validation: Images
    test: Images
    class_names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: dict = field(default_factory=dict)
    summary: dict = field(default_factory=dict)

    def __post_init__(self):
        names = self.class_names
        if not isinstance(names, (tuple, list)) or not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"class_names must be a tuple of words, one per class, got {shown(names)}")
        if not isinstance(self.name, str) or not isinstance(self.source, dict):
            raise ValueError(f"name must be a str and source a dict, got {shown(self.name)} and {shown(self.source)}")
        for part in ("train", "validation", "test"):
            self._check_part(part)
        check_statistics(self.mean, self.std, channels=(self.train.in_channels,))

    def _check_part(self, part: str) -> None:
        images = getattr(self, part)
        if not isinstance(images, Images):
            raise ValueError(f"{part} must be an ImageSet or ImageFiles, got {shown(images)}")
        if len(images) == 0:
            raise ValueError(f"{part} needs at least one image, got none")
        found, wanted = ((one.in_channels, *one.image_size) for one in (images, self.train))
        if found != wanted:
            raise ValueError(f"{part} has images of (C, H, W) = {found}, but train of {wanted}: one size is needed")
        for label in (extreme.item() for extreme in images.labels.aminmax()):
            if not 0 <= label < len(self.class_names):
                classes = f"{len(self.class_names)} classes, 0 to {len(self.class_names) - 1}"
                raise ValueError(f"{part} has the label {label}, but there are {classes}")

    @property
    def image_size(self) -> tuple[int, int]:
        """(H, W)."""
        return self.train.image_size

    @property
    def in_channels(self) -> int:
        """C, the number of channels."""
        return len(self.mean)

    def normalise(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) uint8 -> (B, C, H, W) float32 with mean 0 and standard deviation 1 over the training set.

        Raises:
            TypeError: not a tensor.
            ValueError: other axes, another number of channels, or another dtype: floats count as normalised already.
        """
        check_axes("images to normalise", images, "(B, C, H, W)", torch.uint8)
        if images.shape[1] != self.in_channels:
            raise ValueError(
                f"images have {images.shape[1]} channels, but those of {self.name} have {self.in_channels}"
            )
        return normalise(images, self.mean, self.std)


def source_of(function: Callable, source: str, **given) -> dict:
    """Returns `Dataset.source`: the `source` and the `given` arguments other than the defaults of `function`."""
    if "image_size" in given:
        height, width = given["image_size"]
        given["image_size"] = height if height == width else [height, width]
    defaults = inspect.signature(function).parameters
    return {"source": source} | {name: value for name, value in given.items() if value != defaults[name].default}


def with_statistics(
    name: str,
    train: Images,
    validation: Images,
    test: Images,
    class_names: tuple[str, ...],
    source: dict,
    images: ImageSet | None = None,
    summary: dict | None = None,
) -> Dataset:
    """A `Dataset` with the mean and standard deviation of its training images by channel.

    Args:
        images: those of a random sample of the training images, if they are files.

    Raises:
        ValueError: not one of the files could be read.
    """
    images = train if images is None else images
    # By channel from a histogram of the 256 values: exact, the same on every machine, no float copy of the images.
    values = torch.arange(256, dtype=torch.float64) / 255
    mean, std = [], []
    if not len(images):
        raise ValueError(f"none of the first {min(1000, len(train))} training images of {name} can be read")
    for channel in images.images.unbind(1):
        share = torch.bincount(channel.flatten(), minlength=256).double() / channel.numel()
        centre = (share * values).sum()
        mean.append(round(centre.item(), 4))
        # A constant channel has the deviation 0. Divided by 1/255 instead, one step of its values, it becomes 0
        # everywhere; divided by 0, it would become NaN.
        std.append(round(max((share * (values - centre) ** 2).sum().sqrt().item(), 1 / 255), 4))
    return Dataset(name, train, validation, test, class_names, tuple(mean), tuple(std), source, summary or {})
