"""Arrays in, a matplotlib Figure out. Every figure is readable in grey: by lightness, numbers, line style and marker.

The figures do not touch pyplot's state, so a cell that ends in one shows it once.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

COLOUR_MAP = "viridis"  # lightness rises evenly, so it reads the same in grey
MARKERS = "os^Dv*"
LINES = ("-", "--", "-.", ":")


def show(figure: Figure, alt: str) -> None:
    """Displays a figure in a notebook with `alt` text for readers who cannot see it."""
    from IPython.display import display

    display(figure, metadata={"image/png": {"alt": alt}})


def image_with_grid(image, patch_size: int, title: str = "") -> Figure:
    """(C, H, W) or (H, W) -> the image with its patches outlined, axes in pixels."""
    image = to_picture(image)
    height, width = image.shape[:2]
    figure = Figure(figsize=(5, 5 * height / width + 0.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(image, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    for x in range(0, width + 1, patch_size):
        axes.axvline(x, color="white", linewidth=1.6)
        axes.axvline(x, color="black", linewidth=0.6)
    for y in range(0, height + 1, patch_size):
        axes.axhline(y, color="white", linewidth=1.6)
        axes.axhline(y, color="black", linewidth=0.6)
    axes.set(
        title=title or f"{height} x {width} pixels, patches of {patch_size} x {patch_size}",
        xlabel="column (pixel)",
        ylabel="row (pixel)",
    )
    return figure


def patch_grid(patches, grid: tuple[int, int], title: str = "", numbers: bool = True) -> Figure:
    """(N, C, P, P) or (N, P, P) -> the patches apart, in their places, each with its index."""
    patches = _array(patches)
    _check_count(len(patches), grid)
    rows, columns = grid
    width = min(9.0, 0.9 * columns + 0.6)
    figure = Figure(figsize=(width, width * rows / columns + 0.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    low, high = float(patches.min()), float(patches.max())
    for index, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        _picture(axes, patches[index], low, high)
        if numbers:
            axes.text(
                0.04,
                0.94,
                str(index),
                transform=axes.transAxes,
                va="top",
                fontsize=7,
                color="black",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )
    figure.suptitle(title or f"{rows} x {columns} = {rows * columns} patches", fontsize=11)
    figure.supxlabel("column of patches", fontsize=9)
    figure.supylabel("row of patches", fontsize=9)
    return figure


def patch_sequence(patches, title: str = "", first: int = 16, labels: Sequence[str] | None = None) -> Figure:
    """(N, C, P, P) or (N, P, P) -> the first patches side by side, as the encoder gets them."""
    patches = _array(patches)[:first]
    low, high = float(patches.min()), float(patches.max())
    figure = Figure(figsize=(9.5, 9.5 / max(len(patches), 4) + 0.8), layout="constrained")
    for index, axes in enumerate(figure.subplots(1, len(patches), squeeze=False).flat):
        _picture(axes, patches[index], low, high)
        axes.set_xlabel(labels[index] if labels else str(index), fontsize=8)
    figure.suptitle(title or f"the sequence: its first {len(patches)} patches", fontsize=11)
    figure.supxlabel("place in the sequence", fontsize=9)
    return figure


def position_similarity(table, grid: tuple[int, int], title: str = "") -> Figure:
    """(N, D) -> for each patch a map of the cosine similarity of its position vector with all others.

    As in Dosovitskiy et al. 2020, Fig. 7 centre. Leave the class token's row out.
    """
    table = _array(table)
    _check_count(len(table), grid)
    rows, columns = grid
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    similarity = (unit @ unit.T).reshape(rows, columns, rows, columns)
    figure = Figure(figsize=(7.2, 6.4 * rows / columns + 0.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.015, h_pad=0.015, wspace=0.02, hspace=0.02)
    all_axes = figure.subplots(rows, columns, squeeze=False)
    for row in range(rows):
        for column in range(columns):
            axes = all_axes[row, column]
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


def attention_over_image(image, attention, title: str = "", query: tuple[int, int] | None = None) -> Figure:
    """(C, H, W), (rows, columns) -> the image, and in grey beneath its attention map with a legend of real values.

    `query` (row, column) outlines the patch that asks; leave it out for the class token.
    """
    image, attention = to_picture(image), _array(attention)
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
    """(C, H, W), (L, h, rows, columns) -> one query's attention in every layer (down) and head (across), one legend.

    `first_layer` is the number of the first row, where only some layers are shown.
    """
    image, maps = to_picture(image), _array(maps)
    layers, heads = maps.shape[:2]
    height, width = image.shape[:2]
    figure = Figure(figsize=(1.7 * heads + 1.3, 1.75 * layers * height / width + 0.6), layout="constrained")
    all_axes = figure.subplots(layers, heads, squeeze=False)
    high = float(maps.max())
    for layer in range(layers):
        for head in range(heads):
            axes = all_axes[layer, head]
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


def curves(
    series: dict[str, Sequence[float]],
    xlabel: str,
    ylabel: str,
    x: Sequence[float] | None = None,
    title: str = "",
    log: str = "",
) -> Figure:
    """{name: values} -> one line each, with its own style and marker. `log` is "", "x", "y" or "xy"."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for i, (name, values) in enumerate(series.items()):
        values = _array(values)
        places = np.arange(1, len(values) + 1) if x is None else _array(x)
        axes.plot(
            places,
            values,
            label=name,
            linestyle=LINES[i % len(LINES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=4,
            markevery=max(1, len(values) // 12),
        )
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def predictions(images, probabilities, class_names: Sequence[str], labels=None, columns: int = 6) -> Figure:
    """(n, C, H, W), (n, num_classes) -> each image with its predicted class and probability; a wrong one says so."""
    probabilities = _array(probabilities)
    labels = None if labels is None else _array(labels)
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    figure = Figure(figsize=(1.55 * columns, 2.0 * rows), layout="constrained")
    for i, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        axes.set(xticks=[], yticks=[])
        if i >= len(images):
            axes.axis("off")
            continue
        axes.imshow(to_picture(images[i]), cmap="gray", vmin=0, vmax=1)
        best = int(probabilities[i].argmax())
        axes.set_title(f"{class_names[best]} {probabilities[i, best]:.0%}", fontsize=9)
        if labels is not None and best != labels[i]:
            axes.set_xlabel(f"wrong: {class_names[int(labels[i])]}", fontsize=9)
            axes.spines[:].set(linewidth=3, linestyle="--")
    return figure


def expected_and_received(expected, received) -> Figure:
    """Two tensors of one shape, side by side, as the plane of the last two axes in which they first differ.

    A cross marks each number that differs. Both share one scale.
    """
    expected, received = np.atleast_2d(_array(expected)).astype(float), np.atleast_2d(_array(received)).astype(float)
    apart = ~np.isclose(expected, received, rtol=1e-4, atol=1e-5)
    first = tuple(np.argwhere(apart)[0][:-2]) if apart.any() else (0,) * (expected.ndim - 2)
    planes = {"expected": expected[first], "received": received[first]}
    low, high = min(plane.min() for plane in planes.values()), max(plane.max() for plane in planes.values())
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    place = f", at [{', '.join(map(str, first))}, :, :]" if first else ""
    rows, columns = np.nonzero(apart[first])
    for axes, (name, plane) in zip(figure.subplots(1, 2), planes.items(), strict=True):
        image = axes.imshow(plane, cmap=COLOUR_MAP, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        axes.set(title=name + place, xlabel="index on the last axis", ylabel="index on the axis before it")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
    for colour, width in (("black", 2.6), ("white", 1.0)):  # a white cross with a black rim is seen on any colour
        axes.plot(columns, rows, "x", color=colour, markeredgewidth=width, markersize=6)
    figure.colorbar(image, ax=figure.axes, label="value")
    return figure


def overlay(axes: Axes, image: np.ndarray, attention: np.ndarray, high: float | None = None):
    """Draws the image in grey with the map over it; returns what a colour bar needs. Strong attention is bright."""
    height, width = image.shape[:2]
    grey = image if image.ndim == 2 else image @ np.array([0.299, 0.587, 0.114], dtype=image.dtype)
    extent = (0, width, height, 0)
    # A colour map over a colour image misleads, so the image is grey, and faint enough to leave the map readable.
    axes.imshow(grey, cmap="gray", vmin=0, vmax=1, extent=extent)
    return axes.imshow(
        attention, cmap=COLOUR_MAP, vmin=0, vmax=high, alpha=0.62, extent=extent, interpolation="nearest"
    )


def outline(axes: Axes, query: tuple[int, int], patch_height: float, patch_width: float) -> None:
    """Frames the patch (row, column) in black and white."""
    from matplotlib.patches import Rectangle

    corner = (query[1] * patch_width, query[0] * patch_height)
    for colour, thickness in (("black", 4), ("white", 1.8)):
        axes.add_patch(Rectangle(corner, patch_width, patch_height, fill=False, edgecolor=colour, linewidth=thickness))


def to_picture(image) -> np.ndarray:
    """(3, H, W), (1, H, W) or (H, W), uint8 or float from 0 to 1 -> (H, W, 3) or (H, W) from 0 to 1."""
    image = _array(image)
    if image.ndim == 3:
        if image.shape[0] not in (1, 3):
            raise ValueError(f"an image to show is (3, H, W), (1, H, W) or (H, W), got shape {image.shape}")
        image = image[0] if image.shape[0] == 1 else image.transpose(1, 2, 0)
    if image.ndim != 2 and image.ndim != 3:
        raise ValueError(f"an image to show is (3, H, W), (1, H, W) or (H, W), got shape {image.shape}")
    return image / 255 if image.dtype == np.uint8 else image.clip(0, 1)


def _picture(axes: Axes, patch: np.ndarray, low: float, high: float) -> None:
    # One scale for all patches, so that they can be compared.
    if patch.ndim == 3:
        patch = patch[0] if patch.shape[0] == 1 else patch.transpose(1, 2, 0)
    axes.imshow((patch - low) / max(high - low, 1e-12), cmap="gray", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])


def _array(values) -> np.ndarray:
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def _check_count(count: int, grid: tuple[int, int]) -> None:
    if count != grid[0] * grid[1]:
        raise ValueError(f"a grid of {grid[0]} x {grid[1]} has {grid[0] * grid[1]} patches, got {count}")
