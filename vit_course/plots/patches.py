"""Figures of an image as patches, and of what their positions learn."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.arrays import to_array, to_picture
from vit_course._support.inputs.rules import check, flag, shown, whole
from vit_course.plots.style import COLOUR_MAP, check_grid, check_text


def image_with_grid(image, patch_size: int, title: str = "") -> Figure:
    """(C, H, W) or (H, W) -> the image with its patches outlined, axes in pixels.

    Raises:
        ValueError: not an image (`to_picture`), or a patch size that is impossible or larger than the image.
    """
    image = to_picture(image)
    check_arguments(patch_size=patch_size)
    check_text(title=title)
    height, width = image.shape[:2]
    if patch_size > min(height, width):
        raise ValueError(f"patch size {patch_size} does not fit an image of {height} x {width}")
    figure = Figure(figsize=(5, 5 * height / width + 0.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(image, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    for line, side in ((axes.axvline, width), (axes.axhline, height)):
        for place in range(0, side + 1, patch_size):
            line(place, color="white", linewidth=1.6)
            line(place, color="black", linewidth=0.6)
    title = title or f"{height} x {width} pixels, patches of {patch_size} x {patch_size}"
    axes.set(title=title, xlabel="column (pixel)", ylabel="row (pixel)")
    return figure


def patch_grid(patches, grid: tuple[int, int], title: str = "", numbers: bool = True) -> Figure:
    """(N, C, P, P) or (N, P, P) -> the patches apart, in their places, each with its index.

    Raises:
        ValueError: patches of another shape, not finite, or not as many as the grid has.
    """
    patches = _patches(patches)
    check_grid(len(patches), grid)
    check_text(title=title)
    check({"numbers": flag}, {"numbers": numbers})
    rows, columns = grid
    width = min(9.0, 0.9 * columns + 0.6)
    figure = Figure(figsize=(width, width * rows / columns + 0.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    low, high = float(patches.min()), float(patches.max())
    for index, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        _picture(axes, patches[index], low, high)
        if numbers:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            axes.text(0.04, 0.94, str(index), transform=axes.transAxes, va="top", fontsize=7, color="black", bbox=box)
    figure.suptitle(title or f"{rows} x {columns} = {rows * columns} patches", fontsize=11)
    figure.supxlabel("column of patches", fontsize=9)
    figure.supylabel("row of patches", fontsize=9)
    return figure


def patch_sequence(patches, title: str = "", first: int = 16, labels: Sequence[str] | None = None) -> Figure:
    """(N, C, P, P) or (N, P, P) -> the first patches side by side, as the encoder gets them.

    Raises:
        ValueError: patches of another shape or not finite, or fewer labels than patches that are shown.
    """
    check({"first": whole(1, 10**6)}, {"first": first})
    check_text(title=title)
    patches = _patches(patches)[:first]
    if labels is not None and not isinstance(labels, Sequence):
        raise ValueError(f"labels must be a list of words, got {shown(labels)}")
    if labels is not None and len(labels) < len(patches):
        raise ValueError(f"{len(patches)} patches are shown, but there are {len(labels)} labels")
    low, high = float(patches.min()), float(patches.max())
    figure = Figure(figsize=(9.5, 9.5 / max(len(patches), 4) + 0.8), layout="constrained")
    for index, axes in enumerate(figure.subplots(1, len(patches), squeeze=False).flat):
        _picture(axes, patches[index], low, high)
        axes.set_xlabel(str(index) if labels is None else labels[index], fontsize=8)
    figure.suptitle(title or f"the sequence: its first {len(patches)} patches", fontsize=11)
    figure.supxlabel("place in the sequence", fontsize=9)
    return figure


def position_similarity(table, grid: tuple[int, int], title: str = "") -> Figure:
    """(N, D) -> for each patch a map of the cosine similarity of its position vector with all others.

    As in Dosovitskiy et al. 2020, Fig. 7 centre. Leave the class token's row out.

    Raises:
        ValueError: a table of another shape, not finite, with a row of zeros, or without one row per patch of the grid.
    """
    table = to_array("table", table, axes=(2,))
    check_grid(len(table), grid)
    check_text(title=title)
    if not table.any(axis=1).all():
        raise ValueError(f"row {int(table.any(axis=1).argmin())} of the table is 0 everywhere, so it has no direction")
    rows, columns = grid
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    similarity = (unit @ unit.T).reshape(rows, columns, rows, columns)
    figure = Figure(figsize=(7.2, 6.4 * rows / columns + 0.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.015, h_pad=0.015, wspace=0.02, hspace=0.02)
    all_axes = figure.subplots(rows, columns, squeeze=False)
    for (row, column), axes in np.ndenumerate(all_axes):
        drawn = axes.imshow(similarity[row, column], cmap=COLOUR_MAP, vmin=-1, vmax=1)
        axes.set(xticks=[], yticks=[])
        if row == rows - 1:
            axes.set_xlabel(column, fontsize=8)
        if column == 0:
            axes.set_ylabel(row, fontsize=8)
    figure.colorbar(drawn, ax=all_axes, label="cosine similarity", shrink=0.8)
    figure.supxlabel("column of the patch", fontsize=9)
    figure.supylabel("row of the patch", fontsize=9)
    figure.suptitle(title or "how alike the position vectors are", fontsize=11)
    return figure


def _patches(patches) -> np.ndarray:
    patches = to_array("patches", patches, axes=(3, 4))
    if patches.ndim == 4 and patches.shape[1] not in (1, 3):
        raise ValueError(f"patches to show are (N, 3, P, P), (N, 1, P, P) or (N, P, P), got shape {patches.shape}")
    return patches


def _picture(axes: Axes, patch: np.ndarray, low: float, high: float) -> None:
    # One scale for all patches, so that they can be compared.
    if patch.ndim == 3:
        patch = patch[0] if patch.shape[0] == 1 else patch.transpose(1, 2, 0)
    axes.imshow((patch - low) / max(high - low, 1e-12), cmap="gray", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
