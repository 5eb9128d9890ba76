"""Turns a photograph into the input of a published model: resized, cropped and normalised as in its training."""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from vit_course._support.files.json_files import need_object
from vit_course._support.inputs.arguments import check_statistics, height_and_width
from vit_course._support.inputs.rules import flag, is_int, real, shown
from vit_course.data.pictures import Picture, normalise, open_picture

# The names of torchvision and timm, and what Pillow calls them.
_NAMES = ("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
INTERPOLATIONS = {name: Image.Resampling[name.partition("-")[0].upper()] for name in _NAMES}
# Hugging Face writes Pillow's numbers.
RESAMPLE = {0: "nearest-exact", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
# Filters that only Pillow has; tensors cannot be resized by them.
PILLOWS_OWN = ("box", "hamming")
MOST_PIXELS = 100_000_000


@dataclass(frozen=True)
class Preprocessing:
    """A picture -> (1, C, H, W) float32, as the model was trained: resized, cropped at the centre, normalised.

    Call it with what `pictures.open_picture` takes, such as a path or a PIL image. It is made grey where `mean` has one
    value.

    Args:
        resize: an int is the new shorter side, and proportions stay; a pair is (height, width), at any proportions.
        crop: (height, width) of the part at the centre that is kept; None keeps all.
        interpolation: "bilinear", "bicubic" or another of `INTERPOLATIONS`.
        mean: of each channel, on the scale 0 to 1, to be subtracted.
        std: of each channel, to be divided by.
        on_tensor: whether to resize a uint8 tensor, as Hugging Face does since its version 5, or the picture by Pillow,
            as all others do. The results differ by 1 of 255, at less than one value in a hundred.

    Raises:
        ValueError: an impossible size, a crop larger than the resized picture, an unknown interpolation, a number of
            channels other than 1 and 3, or a mean and std that are not on the scale 0 to 1; when called, a picture that
            cannot be read, or one so long that it would not fit into memory.
    """

    resize: int | tuple[int, int]
    crop: tuple[int, int] | None
    interpolation: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    on_tensor: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "resize", _tuple(self.resize))
        object.__setattr__(self, "crop", _pair(self.crop))
        for name, value in (("resize", self.resize), ("crop", self.resize if self.crop is None else self.crop)):
            sides = _pair(value)
            if not isinstance(sides, tuple) or len(sides) != 2 or not all(is_int(side) and side > 0 for side in sides):
                raise ValueError(f"{name} must be a positive int or a pair (height, width), got {shown(value)}")
            if sides[0] * sides[1] > MOST_PIXELS:
                raise ValueError(f"{name} must give at most {MOST_PIXELS:,} pixels, got {shown(value)}")
        if self.crop and any(part > side for part, side in zip(self.crop, _pair(self.resize), strict=True)):
            raise ValueError(f"crop {self.crop} is larger than the picture, which is resized to {self.resize}")
        check_statistics(self.mean, self.std)
        if not isinstance(self.interpolation, str) or self.interpolation not in INTERPOLATIONS:
            raise ValueError(
                f"interpolation must be one of {', '.join(INTERPOLATIONS)}, got {shown(self.interpolation)}"
            )
        flag("on_tensor", self.on_tensor)
        if self.on_tensor and self.interpolation in PILLOWS_OWN:
            raise ValueError(f"interpolation {self.interpolation!r} is Pillow's own: on_tensor=False is needed")

    def __call__(self, image: Picture) -> torch.Tensor:
        picture = open_picture(image).convert("RGB" if len(self.mean) == 3 else "L")
        size = self._resized(picture.height, picture.width)
        if self.on_tensor:
            values = resize_tensor(to_tensor(picture), size, self.interpolation)  # (1, C, H, W) uint8
        else:
            values = to_tensor(picture.resize(size[::-1], INTERPOLATIONS[self.interpolation]))  # (1, C, H, W) uint8
        if self.crop:
            values = self._cropped(values, *self.crop)
        return normalise(values, self.mean, self.std)  # (1, C, H, W)

    def _cropped(self, values: torch.Tensor, height: int, width: int) -> torch.Tensor:
        # The two ways place a crop differently if the margin is half a pixel.
        half = math.floor if self.on_tensor else round
        top, left = (half((side - part) / 2) for side, part in zip(values.shape[2:], (height, width), strict=True))
        return values[..., top : top + height, left : left + width]

    def kept(self, height: int, width: int) -> tuple[float, float]:
        """The shares of a picture's height and width, around its centre, that are kept."""
        size = self._resized(height, width)
        high, wide = (part / side for part, side in zip(self.crop or size, size, strict=True))
        return high, wide

    @property
    def image_size(self) -> tuple[int, int] | None:
        """(H, W) of the result; None if it depends on the picture."""
        return self.crop or (None if isinstance(self.resize, int) else self.resize)

    def at(self, image_size: int | tuple[int, int]) -> "Preprocessing":
        """The same for images of another size: the same share of the picture, with more or fewer pixels.

        Raises:
            ValueError: an impossible size, or one that is not square where the proportions of the picture are kept.
        """
        size = height_and_width("image_size", image_size)
        if not isinstance(self.resize, int):
            high, wide = (new / old for new, old in zip(size, self.crop or self.resize, strict=True))
            return replace(self, resize=(round(high * self.resize[0]), round(wide * self.resize[1])), crop=size)
        if size[0] != size[1]:
            raise ValueError(f"image_size must be a square for this model's preprocessing, got {size}")
        return replace(self, resize=round(self.resize * size[0] / min(self.crop)) if self.crop else size[0], crop=size)

    def _resized(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.resize, int):
            return self.resize
        short, long = sorted((height, width))
        long = self.resize * long // short
        if self.resize * long > MOST_PIXELS:
            raise ValueError(
                f"the picture is {height} x {width}: with its shorter side resized to {self.resize} it would have "
                f"{self.resize * long:,} pixels, but at most {MOST_PIXELS:,} are allowed; crop it first"
            )
        return (self.resize, long) if height <= width else (long, self.resize)

    @classmethod
    def from_torchvision(cls, weights: Any) -> "Preprocessing":
        """From an entry of a torchvision weights enum, such as `ViT_B_16_Weights.IMAGENET1K_V1`."""
        preset = weights.transforms()
        return cls(
            resize=preset.resize_size[0],
            crop=_pair(preset.crop_size[0]),
            interpolation=preset.interpolation.value,
            mean=tuple(preset.mean),
            std=tuple(preset.std),
        )

    @classmethod
    def from_timm(cls, config: Mapping) -> "Preprocessing":
        """From what `timm.data.resolve_model_data_config` says of a model, or from its `pretrained_cfg`.

        Raises:
            ValueError: a crop mode other than "center" and "squash", or a value that cannot be used.
        """
        config = need_object("the preprocessing of timm", config)
        # timm's own defaults, where the config is silent.
        size, share = config.get("input_size") or (3, 224, 224), config.get("crop_pct") or 0.875
        if not isinstance(size, (list, tuple)) or len(size) != 3 or not all(is_int(n) and n > 0 for n in size):
            raise ValueError(f"input_size must be (channels, height, width), ints of at least 1, got {shown(size)}")
        real(0.01, 1.0)("crop_pct", share)
        _, height, width = size
        resized = math.floor(height / share), math.floor(width / share)
        mode = config.get("crop_mode") or "center"
        if mode == "center" and height != width:
            raise ValueError(
                f"images of {height} x {width} with crop mode 'center' are not supported, only square ones"
            )
        if mode not in ("center", "squash"):
            raise ValueError(f"crop mode must be 'center' or 'squash', got {shown(mode)}")
        return cls(
            resize=resized[0] if mode == "center" else resized,
            crop=(height, width),
            interpolation=config.get("interpolation") or "bicubic",
            mean=_tuple(config.get("mean") or (0.485, 0.456, 0.406)),
            std=_tuple(config.get("std") or (0.229, 0.224, 0.225)),
        )

    @classmethod
    def from_huggingface(cls, config: Mapping, on_tensor: bool = True) -> "Preprocessing":
        """From the `to_dict()` of a Hugging Face image processor, such as that of ViT, DeiT, DINOv2, CLIP or SigLIP.

        Args:
            config: with its size, its crop, its resampling, its mean and its std.
            on_tensor: as the processor does: those on torchvision resize a tensor, those on Pillow the picture.

        Raises:
            ValueError: a size other than a height and a width or a shortest_edge, or a value that cannot be used.
        """
        config = need_object("the preprocessing of Hugging Face", config)
        if missing := [key for key in ("size", "resample", "image_mean", "image_std") if config.get(key) is None]:
            raise ValueError(f"the preprocessing of Hugging Face must state {', '.join(missing)}, but does not")
        crop = config.get("crop_size") if config.get("do_center_crop") else None
        resample = config["resample"]
        name = RESAMPLE.get(resample) if is_int(resample) else None
        return cls(
            resize=_size("size", config["size"]),
            crop=None if crop is None else _pair(_size("crop_size", crop)),
            interpolation=resample if name is None else name,
            mean=_tuple(config["image_mean"]),
            std=_tuple(config["image_std"]),
            on_tensor=on_tensor,
        )


def to_tensor(picture: Image.Image) -> torch.Tensor:
    """A picture in RGB or in grey -> (1, 3, H, W) or (1, 1, H, W) uint8."""
    values = torch.from_numpy(np.array(picture))  # (H, W, 3) or (H, W)
    return (values.permute(2, 0, 1) if values.ndim == 3 else values[None])[None].contiguous()


def resize_tensor(images: torch.Tensor, size: tuple[int, int], interpolation: str) -> torch.Tensor:
    """(B, C, H, W) uint8 -> (B, C, *size) uint8, as Hugging Face resizes tensors, by torchvision on a CPU."""
    if tuple(images.shape[2:]) == tuple(size):
        return images
    if interpolation.startswith("nearest"):
        return F.interpolate(images, size, mode=interpolation)
    # In uint8, except where torchvision converts to float as well: bilinear on an old processor.
    on_bytes = interpolation != "bilinear" or torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
    on_bytes = on_bytes or platform.machine() in ("aarch64", "arm64")
    values = images if on_bytes else images.float()
    values = F.interpolate(values, size, mode=interpolation, align_corners=False, antialias=True)
    return values if on_bytes else values.clamp(0, 255).round().to(torch.uint8)


def _size(name: str, value: Any) -> int | tuple[int, int]:
    # {"shortest_edge": n} alone keeps the proportions.
    sides = {key: side for key, side in need_object(name, value).items() if side is not None}
    if sides.keys() == {"height", "width"}:
        return sides["height"], sides["width"]
    if sides.keys() == {"shortest_edge"}:
        return sides["shortest_edge"]
    raise ValueError(f"a size must be a height and a width, or a shortest_edge, got {shown(value)} as {name}")


def _pair(value: Any) -> Any:
    return (value, value) if is_int(value) else _tuple(value)


def _tuple(value: Any) -> Any:
    # A list, as in JSON, becomes a tuple. Any: other values stay as they are, and later checks refuse them.
    return tuple(value) if isinstance(value, list) else value
