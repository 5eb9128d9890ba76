"""Prepares any kind of image for a model, and keeps the part that the model sees, to be shown."""

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import nn

from vit_course.data.pictures import open_image, open_picture
from vit_course.explorer.arguments import need_batch, need_image
from vit_course.maps.models.statements import Statements
from vit_course.pretrained.bundled import AsTrained
from vit_course.pretrained.preprocessing import Preprocessing

# By library whose published models were trained on normalised images; only timm's models say by which mean and std.
ADVICE = {
    "transformers": "its processor, as AutoImageProcessor.from_pretrained gives it",
    "torchvision": "its weights' entry, such as torchvision.models.ViT_B_16_Weights.DEFAULT",
    "timm": "timm.data.create_transform(**timm.data.resolve_model_data_config(model))",
}


class Unnormalised(UserWarning):
    """Warning: values from 0 to 1 go to a model that was most likely trained on normalised images."""


class Prepared(NamedTuple):
    """One picture: `shown` (C, H, W) from 0 to 1, and the same crop as `given` to the model, (1, C, H, W).

    `whole` is the uncropped picture, with the shares of its height and width that the crop kept; None if the crop is
    not known.
    """

    shown: torch.Tensor
    given: torch.Tensor
    whole: tuple[Image.Image, tuple[float, float]] | None = None


def prepare(model: nn.Module, image, preprocess: Callable | None) -> Prepared:
    """Prepares an image for the model.

    Args:
        model, image, preprocess: as `explore` takes them.

    Raises:
        ValueError: an image that cannot be used, a library's model without a known preprocessing, or a `preprocess`
            that does not give one image; or a model of neither 1 nor 3 channels.
    """
    inside = Statements(model)
    if inside.channels not in (1, 3):
        raise ValueError(
            f"the explorer shows pictures of 1 or 3 channels, but {inside.name} takes {inside.channels}: record its "
            "maps by record_attention"
        )
    is_picture = isinstance(image, (str, Path, bytes, Image.Image)) or hasattr(image, "read")
    way = preprocessing_of(preprocess)
    if not is_picture:
        image = _one_image(image)
    if way is None and preprocess is None and (is_picture or image.dtype == torch.uint8):
        way = preprocessing_of_model(model)
    if way is not None:
        picture = open_picture(image) if is_picture else _picture(image)
        given = need_batch(_called(way, picture, "a picture"))
        return Prepared(_undone(given[0], way.mean, way.std), given, _whole(picture, way))
    size = inside.image_size
    whole = None
    if is_picture:
        picture = open_picture(image)
        whole = _whole(picture, size)
        image = open_image(picture, size)
        if inside.channels == 1:  # a model of grey images, such as the digits
            image = image.float().mean(dim=0, keepdim=True).round().to(torch.uint8)  # (1, H, W)
    if size is not None and tuple(image.shape[1:]) != size:
        resized = nn.functional.interpolate(image[None].float(), size, mode="bilinear", antialias=True)[0]
        image = resized.round().to(torch.uint8) if image.dtype == torch.uint8 else resized
    shown = image / 255 if image.dtype == torch.uint8 else image  # (C, H, W)
    if preprocess is None:
        _warn_of_shares(inside, shown)
        return Prepared(_stretched(shown), shown[None], whole)
    # A bare Normalize takes only floats.
    batch = shown[None] if type(preprocess).__name__ == "Normalize" else image[None]
    given = need_batch(_called(preprocess, batch, f"images {tuple(batch.shape)} of {batch.dtype}"))
    if given.shape[2:] != shown.shape[1:]:  # `preprocess` crops or resizes: show its output
        shown, whole = given[0], None
    return Prepared(_stretched(shown), given, whole)


def _whole(picture: Image.Image, way) -> tuple[Image.Image, tuple[float, float]] | None:
    # way: a preprocessing, or the size (H, W) that the picture is resized to cover. -> `Prepared.whole`
    size = getattr(way, "image_size", None) if isinstance(way, AsTrained) else way
    if isinstance(way, Preprocessing):
        kept = way.kept(picture.height, picture.width)
    elif isinstance(size, tuple):
        high, wide = size[0] / picture.height, size[1] / picture.width
        kept = high / max(high, wide), wide / max(high, wide)
    else:
        return None
    return picture, kept


def preprocessing_of(preprocess) -> Callable | None:
    """Returns a function from a Pillow image to (1, C, H, W), or None if `preprocess` takes a batch or is None."""
    if isinstance(preprocess, (Preprocessing, AsTrained, _HuggingFace, _Transform)):
        return preprocess
    preprocess = getattr(preprocess, "image_processor", preprocess)  # of a processor of pictures and words
    if hasattr(preprocess, "model_input_names"):
        return _HuggingFace(preprocess)
    if hasattr(preprocess, "transforms") and hasattr(preprocess, "meta"):  # an entry of torchvision's weights
        preprocess = preprocess.transforms()
    place, name = type(preprocess).__module__, type(preprocess).__name__
    takes_pictures = place.startswith(("torchvision.transforms", "timm.data")) and name != "Normalize"
    return _Transform(preprocess) if takes_pictures else None


def preprocessing_of_model(model: nn.Module) -> Callable | None:
    """Returns the model's own preprocessing, as `preprocessing_of` does; None for a model that is of no library.

    A model without one gets the values unchanged.

    Raises:
        ValueError: a library's model whose preprocessing is not known.
    """
    inside = Statements(model)
    if inside.timm_config is not None:
        return _of_timm(inside, inside.timm_config)
    if inside.checkpoint is not None and "transformers" in sys.modules:
        from transformers import AutoImageProcessor

        try:  # the model was loaded from a folder or the cache, so its processor is there too
            return _HuggingFace(AutoImageProcessor.from_pretrained(inside.checkpoint, local_files_only=True))
        except (OSError, ValueError, ImportError):
            pass
    if inside.library not in ADVICE:
        return None
    if inside.around:
        raise ValueError(
            f"{inside.around}, so it is not known how it needs a picture cropped and normalised: give "
            f"preprocess=, a function from a picture to the input of {inside.name}"
        )
    raise ValueError(
        f"{inside.name} does not say how it needs a picture cropped and normalised: give preprocess=, "
        + ADVICE[inside.library]
    )


class _HuggingFace:
    """A processor of Hugging Face's, from a picture to a batch of one."""

    def __init__(self, processor):
        self.processor = processor
        does = getattr(processor, "do_normalize", True)
        self.mean = getattr(processor, "image_mean", None) if does else None
        self.std = getattr(processor, "image_std", None) if does else None

    def __call__(self, picture: Image.Image) -> torch.Tensor:
        return self.processor(images=picture, return_tensors="pt")["pixel_values"]


class _Transform:
    """A transform of torchvision's or timm's, from a picture to a batch of one."""

    def __init__(self, transform):
        self.transform = transform
        # The mean and std of the last step that has them, or of the transform itself.
        steps = [transform, *getattr(transform, "transforms", ())]
        stated = [step for step in steps if hasattr(step, "mean") and hasattr(step, "std")]
        self.mean, self.std = (stated[-1].mean, stated[-1].std) if stated else (None, None)

    def __call__(self, picture: Image.Image) -> torch.Tensor:
        image = self.transform(picture)
        return image[None] if isinstance(image, torch.Tensor) and image.ndim == 3 else image


def _of_timm(inside: Statements, config: Mapping) -> Callable:
    size = inside.image_size or tuple(config.get("input_size") or (3, 224, 224))[1:]
    channels = inside.channels
    if len(config["mean"]) != channels:
        raise ValueError(
            f"{inside.name} takes images of {channels} channels, but states a mean for {len(config['mean'])} "
            "channels: give preprocess="
        )
    if size[0] == size[1] or config.get("crop_mode") == "squash":
        return Preprocessing.from_timm({**config, "input_size": (channels, *size)})
    return AsTrained(size, tuple(config["mean"]), tuple(config["std"]))


def _warn_of_shares(inside: Statements, image: torch.Tensor) -> None:
    if image.min() < 0 or image.max() > 1 or not inside.library or inside.around:
        return
    config = inside.timm_config
    if config is not None and not any(config["mean"]) and set(config["std"]) == {1}:
        return
    hint = ", such as that of pretrained.load_run" if inside.library == "vit_course" else ""
    warnings.warn(
        "the image goes to the model as numbers from 0 to 1, but models like this one are trained on normalised "
        f"images: give preprocess={hint}",
        Unnormalised,
        stacklevel=4,
    )


def _one_image(image) -> torch.Tensor:
    if not isinstance(image, (torch.Tensor, np.ndarray)):
        raise ValueError(f"image must be a path or a tensor (C, H, W), got {type(image).__name__}")
    if image.ndim == 4 and len(image) == 1:
        image = image[0]
    if image.ndim != 3:
        raise ValueError(f"one image is (C, H, W), got shape {tuple(image.shape)}")
    return need_image(image)


def _picture(image: torch.Tensor) -> Image.Image:
    if image.dtype != torch.uint8:
        if image.min() < 0 or image.max() > 1:
            raise ValueError(
                f"this preprocess takes a picture, and only floats from 0 to 1 can be made into one, but those of the "
                f"image go from {image.min():.3g} to {image.max():.3g}"
            )
        image = (255 * image).round().to(torch.uint8)
    return Image.fromarray(image.expand(3, -1, -1).permute(1, 2, 0).numpy())


def _called(preprocess: Callable, argument, what: str):
    try:
        return preprocess(argument)
    except (AttributeError, TypeError, AssertionError, RuntimeError) as error:  # it expects another input
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"preprocess cannot take {what}: {reason}") from error


def _undone(image: torch.Tensor, mean, std) -> torch.Tensor:
    # Reverses the normalisation of an image (C, H, W), to show it.
    if mean is not None and std is not None:
        mean, std = (torch.as_tensor(values, dtype=image.dtype).flatten()[:, None, None] for values in (mean, std))
        before = image * std + mean
        if before.min() > -0.02 and before.max() < 1.02:
            return before.clamp(0, 1)
    return _stretched(image)


def _stretched(image: torch.Tensor) -> torch.Tensor:
    low, high = float(image.min()), float(image.max())
    if low >= 0 and high <= 1:
        return image
    return (image - low) / max(high - low, 1e-12)  # normalised values are stretched to the range from 0 to 1
