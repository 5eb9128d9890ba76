"""Figures of training results: curves, predictions, and a received tensor beside the expected one."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vit_course._support.inputs.arrays import to_array, to_picture
from vit_course._support.inputs.rules import check, one_of, shown, whole
from vit_course.plots.style import COLOUR_MAP, LINES, MARKERS, check_text

WRONG = "#D55E00"  # seen on black and on white


def curves(
    series: dict[str, Sequence[float]],
    xlabel: str,
    ylabel: str,
    x: Sequence[float] | None = None,
    title: str = "",
    log: str = "",
) -> Figure:
    """{name: values} -> one line each, with its own style and marker. `log` is "", "x", "y" or "xy".

    NaN leaves a gap.

    Raises:
        ValueError: no series, one that is empty or has no finite number, or a length other than that of `x`.
    """
    check({"log": one_of("", "x", "y", "xy")}, {"log": log})
    check_text(xlabel=xlabel, ylabel=ylabel, title=title)
    if not isinstance(series, dict) or not series:
        raise ValueError(f"series must be a dict {{name: values}} with at least one line, got {shown(series)}")
    lines = {name: to_array(f"the series {name!r}", values, (1,), finite=False) for name, values in series.items()}
    for name, values in lines.items():
        if not np.isfinite(values).any():
            raise ValueError(f"the series {name!r} has no finite number")
        if x is not None and len(to_array("x", x, (1,))) != len(values):
            raise ValueError(f"x has {len(x)} values, but the series {name!r} has {len(values)}")
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for i, (name, values) in enumerate(lines.items()):
        places = np.arange(1, len(values) + 1) if x is None else to_array("x", x)
        look = {"linestyle": LINES[i % len(LINES)], "marker": MARKERS[i % len(MARKERS)], "markersize": 4}
        axes.plot(places, values, label=name, markevery=max(1, len(values) // 12), **look)
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:  # names that are empty or begin with "_" are not in the legend
        axes.legend()
    return figure


def predictions(images, probabilities, class_names: Sequence[str], labels=None, columns: int = 6) -> Figure:
    """(n, C, H, W), (n, num_classes) -> each image with its predicted class and probability; wrong ones are marked.

    Args:
        images: as `to_picture` takes them, or (n, H, W).
        probabilities: of each class, from 0 to 1.
        class_names: one per class.
        labels: (n,), the right classes, where they are known.
        columns: images side by side.

    Raises:
        ValueError: numbers of images, rows, labels or class names that do not go together, or values that are not
            probabilities or classes.
    """
    images, probabilities = to_array("images", images, (3, 4)), to_array("probabilities", probabilities, (2,))
    labels = None if labels is None else to_array("labels", labels, (1,))
    _check_predictions(len(images), probabilities, class_names, labels)
    check({"columns": whole(1, 100)}, {"columns": columns})
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
            axes.set_xlabel(f"wrong: is {class_names[int(labels[i])]}", fontsize=9)
            axes.spines[:].set(visible=True, linewidth=3, linestyle="--", color=WRONG)
    return figure


def _check_predictions(count: int, probabilities: np.ndarray, class_names, labels: np.ndarray | None) -> None:
    rows, classes = probabilities.shape
    if rows != count:
        raise ValueError(f"there are {count} images but {rows} rows of probabilities: one for each image is needed")
    if probabilities.min() < 0 or probabilities.max() > 1.001:  # a softmax may round to a little over 1
        raise ValueError(
            f"probabilities must be from 0 to 1, got {probabilities.min():.3g} to {probabilities.max():.3g}: "
            "apply softmax to logits first"
        )
    if not isinstance(class_names, Sequence):
        raise ValueError(f"class_names must be a list of names, got {shown(class_names)}")
    if len(class_names) != classes:
        raise ValueError(f"there are {classes} classes but {len(class_names)} class names: one for each is needed")
    if labels is not None and (labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= classes):
        raise ValueError(f"labels must be whole numbers from 0 to {classes - 1}, got {shown(labels.tolist())}")
    if labels is not None and len(labels) != count:
        raise ValueError(f"there are {count} images but {len(labels)} labels: one for each is needed")


def expected_and_received(expected, received) -> Figure:
    """Shows two tensors of one shape side by side: the first plane of the last two axes in which they differ.

    A cross marks each number that differs, NaN included. Both share one scale.

    Raises:
        ValueError: tensors of different shapes, or empty ones.
    """
    expected, received = (
        np.atleast_2d(to_array(name, values, finite=False)).astype(float)
        for name, values in (("expected", expected), ("received", received))
    )
    if expected.shape != received.shape:
        raise ValueError(f"expected has shape {expected.shape}, but received has shape {received.shape}")
    apart = ~np.isclose(expected, received, rtol=1e-4, atol=1e-5)
    first = tuple(np.argwhere(apart)[0][:-2]) if apart.any() else (0,) * (expected.ndim - 2)
    planes = {"expected": expected[first], "received": received[first]}
    finite = np.concatenate([plane[np.isfinite(plane)] for plane in planes.values()])
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
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
