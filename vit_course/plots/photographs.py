"""Colour figures of photographs: lit up by attention, and tokens as colours."""

import numpy as np
from matplotlib.axes import Axes

from vit_course._support.inputs.arrays import to_array
from vit_course._support.inputs.rules import check, flag, positive
from vit_course.plots.style import check_axes_of_figure

DARKEST = 0.15  # the share of its brightness that a picture keeps where there is no attention
PALE = 0.18  # the share of white that is mixed in, so that black places can light up as well


def spotlight(axes: Axes, image: np.ndarray, attention: np.ndarray, high: float | None = None, smooth: bool = False):
    """Draws the photograph dark, but bright where attention goes: each pixel times 0.15 + 0.85 a.

    a is the weight of the pixel's patch as a share of `high`, at most 1. The picture is first mixed with 18 % white,
    because black would stay black.

    Args:
        axes: where to draw.
        image: (H, W, 3) or (H, W) from 0 to 1, as `to_picture` gives it.
        attention: (rows, columns).
        high: the weight at which the picture has its own brightness. By default the 98th percentile of the map, so that
            one patch alone does not leave all others in the dark.
        smooth: interpolates between patches, which adds no detail to the map.

    Raises:
        TypeError: not Axes.
        ValueError: shapes other than these, values that are not finite, or no `high` above 0.
    """
    check_axes_of_figure(axes)
    check({"smooth": flag}, {"smooth": smooth})
    if high is not None:
        check({"high": positive(1e30)}, {"high": high})
    image, attention = to_array("image", image, axes=(2, 3)), to_array("attention", attention, axes=(2,))
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    if image.shape[2] != 3:
        raise ValueError(f"image must be (H, W, 3) or (H, W), got shape {image.shape}: `to_picture` converts it")
    high = high or max(float(np.quantile(attention, 0.98)), 1e-30)
    share = enlarged((attention / high).clip(0, 1), image.shape[:2], smooth)
    light = DARKEST + (1 - DARKEST) * share
    axes.set(xticks=[], yticks=[])
    pale = PALE + (1 - PALE) * image.clip(0, 1)
    return axes.imshow(pale * light[..., None])


def enlarged(values: np.ndarray, size: tuple[int, int], smooth: bool = False) -> np.ndarray:
    """(rows, columns) -> (H, W): each value over its patch, or blended from one to the next."""
    from PIL import Image

    way = Image.Resampling.BILINEAR if smooth else Image.Resampling.NEAREST
    return np.array(Image.fromarray(values.astype(np.float32)).resize(size[::-1], way))


def principal_colours(tokens: np.ndarray) -> np.ndarray:
    """(n, rows, columns, D) -> (n, rows, columns, 3)

    The first three principal components of the patch tokens of n pictures together, from their 2nd to their 98th
    percentile, as red, green and blue: tokens that are alike have the same colour, in all pictures.

    Raises:
        ValueError: another number of axes, fewer than three numbers per token, or values that are not finite.

    Source: Oquab et al. 2023 (arXiv:2304.07193), Fig. 1.
    """
    tokens = to_array("tokens", tokens, axes=(4,)).astype(np.float64)
    width = tokens.shape[-1]
    if width < 3 or tokens[..., 0].size < 3:
        raise ValueError(f"three components need three tokens of three numbers at least, got shape {tokens.shape}")
    rows = tokens.reshape(-1, width)
    rows = rows - rows.mean(axis=0)
    _, _, directions = np.linalg.svd(rows, full_matrices=False)
    directions = directions[:3]
    # The sign of a component is arbitrary; this one makes the figure the same on every machine.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(3), largest])[:, None]
    found = rows @ directions.T  # (n x rows x columns, 3)
    low, high = np.quantile(found, [0.02, 0.98], axis=0)
    return ((found - low) / np.maximum(high - low, 1e-12)).clip(0, 1).reshape(*tokens.shape[:3], 3)
