"""Arrays and pictures as NumPy arrays, from whatever holds their numbers."""

import numpy as np
import torch

from vit_course._support.inputs.rules import shown


def to_picture(image) -> np.ndarray:
    """(3, H, W), (1, H, W) or (H, W), uint8 or float from 0 to 1 -> (H, W, 3) or (H, W) from 0 to 1.

    Raises:
        ValueError: another shape, an empty image, other whole numbers than uint8, or a value that is not finite.
    """
    image = to_array("an image to show", image)
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[0] not in (1, 3)):
        raise ValueError(f"an image to show is (3, H, W), (1, H, W) or (H, W), got shape {image.shape}")
    if image.dtype.kind in "iu" and image.dtype != np.uint8:
        raise ValueError(f"an image to show is uint8 or floating-point numbers from 0 to 1, got {image.dtype}")
    if image.ndim == 3:
        image = image[0] if image.shape[0] == 1 else image.transpose(1, 2, 0)
    return image / 255 if image.dtype == np.uint8 else image.clip(0, 1)


def to_array(name: str, values, axes: tuple[int, ...] = (), finite: bool = True) -> np.ndarray:
    """A tensor, an array or a list as a NumPy array.

    Args:
        name: of the values, for the error message.
        axes: the permitted numbers of axes; empty for any.
        finite: whether NaN and infinity are refused.

    Raises:
        ValueError: not an array of real numbers, empty, of another number of axes, or not finite.
    """
    if isinstance(values, torch.Tensor):
        values = values.detach()
        values = values.float() if values.dtype == torch.bfloat16 else values  # NumPy has no bfloat16
    try:
        found = np.asarray(values.cpu() if isinstance(values, torch.Tensor) else values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be an array of numbers, got {type(values).__name__}") from error
    if found.dtype.kind not in "buif":
        raise ValueError(f"{name} must be an array of numbers, got {shown(values)}")
    if axes and found.ndim not in axes:
        raise ValueError(f"{name} must have {' or '.join(map(str, axes))} axes, got shape {found.shape}")
    if found.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {found.shape}")
    if finite and not np.isfinite(found).all():
        wrong = np.count_nonzero(~np.isfinite(found))
        raise ValueError(f"{name} must be finite, but {wrong} of {found.size} numbers are NaN or infinite")
    return found
