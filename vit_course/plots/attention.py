"""Figures of attention maps over an image."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from vit_course._support.inputs.arrays import to_array, to_picture
from vit_course._support.inputs.rules import check, positive, real, whole
from vit_course.plots.style import check_axes_of_figure, check_query, check_text

# The explorer's heat map: one hue, rare in photographs, with the weight as its opacity. With red-green colour blindness
# it looks blue; a redder hue would look as grey as its surroundings.
HEAT = LinearSegmentedColormap.from_list("heat", [(0.8, 0, 1, 0), (0.8, 0, 1, 0.7)])


def attention_over_image(image, attention, title: str = "", query: tuple[int, int] | None = None) -> Figure:
    """(C, H, W), (rows, columns) -> the image, next to it the same under its attention map, and a colour bar.

    `query` (row, column) outlines the query patch; leave it out for the class token. The map is drawn over all of the
    image: cut an image that the patches do not cover to `maps.Tokens.area`.

    Raises:
        ValueError: shapes other than these, values that are not finite, or a query that is not a patch of the map.
    """
    image, attention = to_picture(image), to_array("attention", attention, axes=(2,))
    check_query(query, attention.shape)
    check_text(title=title)
    height, width = image.shape[:2]
    figure = Figure(figsize=(8.2, 3.9 * height / width + 0.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.imshow(image, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    left.set(title="image", xlabel="column (pixel)", ylabel="row (pixel)")
    drawn = overlay(right, image, attention)
    right.set(title=title or "attention", xlabel="column (pixel)", ylabel="row (pixel)")
    if query is not None:
        for axes in (left, right):
            outline(axes, query, height / attention.shape[0], width / attention.shape[1])
    figure.colorbar(drawn, ax=right, label="attention weight", shrink=0.85)
    return figure


def attention_grid(image, maps, title: str = "", query: tuple[int, int] | None = None, first_layer: int = 0) -> Figure:
    """(C, H, W), (L, h, rows, columns) -> one query's attention in each layer (down) and head (across), one colour bar.

    `first_layer` is the number of the first row, where only some layers are shown.

    Raises:
        ValueError: shapes other than these, values that are not finite, or a query that is not a patch of the maps.
    """
    image, maps = to_picture(image), to_array("maps", maps, axes=(4,))
    check_query(query, maps.shape[2:])
    check_text(title=title)
    check({"first_layer": whole(0, 10**6)}, {"first_layer": first_layer})
    layers, heads = maps.shape[:2]
    height, width = image.shape[:2]
    figure = Figure(figsize=(1.7 * heads + 1.3, 1.75 * layers * height / width + 0.6), layout="constrained")
    all_axes = figure.subplots(layers, heads, squeeze=False)
    high = float(maps.max())
    for (layer, head), axes in np.ndenumerate(all_axes):
        drawn = overlay(axes, image, maps[layer, head], high)
        axes.set(xticks=[], yticks=[])
        if query is not None:
            outline(axes, query, height / maps.shape[2], width / maps.shape[3])
        if layer == layers - 1:
            axes.set_xlabel(f"head {head}")
        if head == 0:
            axes.set_ylabel(f"layer {first_layer + layer}")
    figure.colorbar(drawn, ax=all_axes, label="attention weight", shrink=0.7)
    figure.suptitle(title or "attention by layer and head", fontsize=11)
    return figure


def overlay(axes: Axes, image: np.ndarray, attention: np.ndarray, high: float | None = None):
    """Draws the image with the map over it, more opaque for larger weights; returns the artist for a colour bar.

    Args:
        axes: where to draw.
        image: (H, W, 3) or (H, W) from 0 to 1, as `to_picture` gives it.
        attention: (rows, columns).
        high: the weight that is most opaque; by default, the largest of the map.

    Raises:
        TypeError: not Axes.
        ValueError: shapes other than these, or values that are not finite.
    """
    check_axes_of_figure(axes)
    if high is not None:
        check({"high": real(-1e30, 1e30)}, {"high": high})
    image, attention = to_array("image", image, axes=(2, 3)), to_array("attention", attention, axes=(2,))
    if image.ndim == 3 and image.shape[2] != 3:
        raise ValueError(f"image must be (H, W, 3) or (H, W), got shape {image.shape}: `to_picture` converts it")
    height, width = image.shape[:2]
    extent = (0, width, height, 0)
    axes.imshow(image, cmap="gray", vmin=0, vmax=1, extent=extent)
    return axes.imshow(attention, cmap=HEAT, vmin=0, vmax=high, extent=extent, interpolation="nearest")


def outline(axes: Axes, query: tuple[int, int], patch_height: float, patch_width: float) -> None:
    """Frames the patch (row, column) in black and white.

    Raises:
        TypeError: not Axes.
        ValueError: a query that is not a (row, column), or a size of a patch that is not positive.
    """
    from matplotlib.patches import Rectangle

    check_axes_of_figure(axes)
    check_query(query, (10**6, 10**6))
    sizes = {"patch_height": patch_height, "patch_width": patch_width}
    check(dict.fromkeys(sizes, positive(1e6)), sizes)
    corner = (query[1] * patch_width, query[0] * patch_height)
    for colour, thickness in (("black", 4), ("white", 1.8)):
        axes.add_patch(Rectangle(corner, patch_width, patch_height, fill=False, edgecolor=colour, linewidth=thickness))
