"""The still picture of the explorer, for where it is not live."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from vit_course.explorer.panel import Panel
from vit_course.plots.photographs import spotlight


def picture_of(panel: Panel, layer: int, head: int, fusion: str, query: int, direction: str) -> Figure:
    """Draws the photograph lit by the chosen map, and beside it by the map of each head of the layer.

    Args:
        panel: the panel to draw.
        layer, head, fusion, query, direction: the state, as of the `AttentionExplorer`.
    """
    order, heads = panel.order, panel.attention.heads
    head = min(head, heads - 1)
    chosen = panel.shown(layer, head, fusion, query, direction)
    height, width = panel.picture.shape[:2]
    tall = 4.0 * min(height / width, 1.25)
    figure = Figure(figsize=(8.5, tall + 0.55), dpi=100, layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(4.0, 4.5))
    smooth = min(height, width) >= 96  # in a smaller picture the model's own pixels are to be seen
    _light(left.subplots(), panel, chosen, query, smooth)
    columns = _columns(heads, 4.5, tall, height / width)
    rows = -(-heads // columns)
    grid = right.subplots(rows, columns, squeeze=False)
    for index, axes in enumerate(grid.flat):
        if index >= heads:
            axes.set_axis_off()
            continue
        _light(axes, panel, panel.shown(layer, index, "head", query, direction), None, smooth)
        weight = "bold" if (fusion, head) == ("head", index) else "normal"
        axes.set_title(f"head {index}", fontsize=9, pad=2, fontweight=weight)
    what = {"head": f"head {head}", "mean": "mean of heads", "rollout": "rollout"}[fusion]
    where = "where {} looks" if direction == "from" else "who looks at {}"
    name = f"the {order.name(query)}" if query < order.num_prefix else order.name(query)
    figure.suptitle(f"layer {layer}, {what}: {where.format(name)}", fontsize=11)
    return figure


def _columns(count: int, wide: float, tall: float, ratio: float) -> int:
    # The number of columns for which the pictures are largest.
    def size(columns: int) -> float:
        rows = -(-count // columns)
        return min(wide / columns, (tall / rows - 0.2) / ratio)

    return max(range(1, count + 1), key=size)


def _light(axes, panel: Panel, attention: np.ndarray, query: int | None, smooth: bool) -> None:
    rows, columns = panel.order.grid
    axes.set_frame_on(False)
    spotlight(axes, panel.picture, attention[panel.order.num_prefix :].reshape(rows, columns), smooth=smooth)
    if query is not None and query >= panel.order.num_prefix:
        row, column = divmod(query - panel.order.num_prefix, columns)
        height, width = panel.picture.shape[0] / rows, panel.picture.shape[1] / columns
        corner = (column * width - 0.5, row * height - 0.5)
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor="white", linewidth=1.5))
