"""Chapter 03: two places on the grid, their position vectors in a learned table and in one of clocks, to drag."""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from vit_course._support.files.stored import stored
from vit_course._support.widgets.encoding import Sections
from vit_course.embeddings import interpolate_positions, sincos2d
from vit_course.explorables.explorable import Explorable
from vit_course.plots.style import COLOUR_MAP

MADE, SIDE, AXIS = (37, 37), 16, 96  # the grid of the learned table, the side of the other's, hands of one axis
# Of the 192 clocks, the column's before the row's, those that count.
CLOCKS = {"hand 0": [0, AXIS], "hand 24": [24, AXIS + 24], "first eight": [*range(8)], "all": [*range(2 * AXIS)]}
SHOWN = {"hand 0": -1, "hand 24": 0, "first eight": -1, "all": 0.5}  # the darkest that a map shows


def two_clocks(**state) -> Explorable:
    """Two places on the grid of patches: how alike their position vectors are, and by which of the clocks.

    The learned table is that of vit-s14, in 48 of its 384 directions (`res/explorables/make_two_clocks.py`; cosine
    similarities are off by 0.005 on average, and by 0.05 at most), resized from 37 x 37 places. The other is
    `embeddings.sincos2d` of 16 x 16 places with D = 384: 96 clocks for the column, then 96 for the row.

    Args:
        state: `place` and `other`, (row, column) from 0 each; `hands`, the clocks that count, "hand 0" or "hand 24" of
            column and row, the "first eight", or "all"; `table`, "16 x 16", or for 16 x 24 "interpolated", which is
            right, "exchanged" (rows and columns) or "as one line".

    Raises:
        ValueError: a state that is none.

    Source: Beyer et al. 2022 (arXiv:2205.01580) for the clocks; Dosovitskiy et al. 2020, section 3.2, for resizing.
    """
    table, steps = stored_table()
    sections = Sections()
    sections.bytes("table", table)
    sections.floats("steps", steps)
    return Explorable("two_clocks", {}, still, computed, sections, **state)


@cache
def stored_table() -> tuple[np.ndarray, np.ndarray]:
    """-> the learned table in bytes (T, 48), of which 128 is 0, and the steps of its columns (48,)."""
    with np.load(stored("explorables/two_clocks.npz")) as file:
        return file["table"], file["steps"]


@cache
def tables(name: str) -> tuple[tuple[int, int], torch.Tensor, torch.Tensor]:
    """-> the grid of a choice, and the vectors of its places, (N, 48) learned and (N, D) sines and cosines."""
    table, steps = stored_table()
    learned = torch.from_numpy((table.astype(float) - 128) * steps)[None]  # (1, T, 48)
    fixed = F.pad(sincos2d((SIDE, SIDE), 4 * AXIS).double(), (0, 0, 1, 0))[None]  # (1, T, D)
    grid = (16, 16) if name == "16 x 16" else (16, 24)

    def made(table: torch.Tensor, before: tuple[int, int]) -> torch.Tensor:
        if name == "as one line":
            return F.interpolate(table.mT, size=385, mode="linear").mT[0, 1:]
        return interpolate_positions(table, before, grid[::-1] if name == "exchanged" else grid)[0, 1:]

    return grid, made(learned, MADE), made(fixed, (SIDE, SIDE))


def computed(state: dict) -> dict:
    """-> cosine similarities with the place, `learned` (N,) and of the `clocks` that count (N,), and how far the hands
    of the two places are `apart`, in radians: of all (192,), and the `largest` of those that count."""
    grid, learned, fixed = tables(state["table"])
    n, m = (row * grid[1] + column for row, column in places(state))
    hands = fixed.view(-1, 2, 2, AXIS).transpose(2, 3).flatten(1, 2)  # (N, 192, 2): sine and cosine of each clock
    counted = CLOCKS[state["hands"]]
    (s, c), (t, d) = hands[n].T, hands[m].T  # (192,) each
    apart = torch.atan2(s * d - c * t, s * t + c * d).abs()
    similar = [F.cosine_similarity(v, v[[n]], dim=1) for v in (learned, hands[:, counted].flatten(1))]
    return {
        "learned": similar[0].tolist(),
        "clocks": similar[1].tolist(),
        "apart": apart.tolist(),
        "largest": apart[counted].max().item(),
    }


def places(state: dict) -> tuple[tuple[int, int], tuple[int, int]]:
    """-> both places of a state, on its grid."""
    rows, columns = tables(state["table"])[0]
    place, other = ((min(row, rows - 1), min(column, columns - 1)) for row, column in (state["place"], state["other"]))
    return place, other


def still(state: dict) -> tuple[Figure, str]:
    """Both maps of a state and the first hands of its places, and the same in words."""
    grid, found, (here, there) = tables(state["table"])[0], computed(state), places(state)
    fixed = tables(state["table"])[2].view(*grid, 2, 2, AXIS)
    fig = Figure(figsize=(8.2, 5.6), layout="constrained")
    rows = fig.add_gridspec(2, 2, height_ratios=(4, 2))
    values = {}
    titles = {"learned": "learned by a real ViT", "clocks": f"sin-cos clocks: {state['hands']}"}
    for column, (name, title) in enumerate(titles.items()):
        ax = fig.add_subplot(rows[0, column])
        image = torch.tensor(found[name]).view(grid)
        least = -0.6 if name == "learned" else SHOWN[state["hands"]]
        drawn = ax.imshow(image.numpy(), cmap=COLOUR_MAP, vmin=least, vmax=1)
        fig.colorbar(drawn, ax=ax, shrink=0.8, label="cosine similarity" if column else None)
        values[name] = image[there].item()
        for (row, col), marker, said in ((here, "s", "here"), (there, "o", f"{values[name]:.2f}")):
            for edge, width in (("black", 4), ("white", 2)):
                look: dict = dict(markersize=12, markerfacecolor="none", markeredgecolor=edge, markeredgewidth=width)
                ax.plot(col, row, marker, **look)
            box = dict(facecolor="white", edgecolor="black", pad=1.5)
            ax.annotate(said, (col, row), (0, 12), textcoords="offset points", ha="center", fontsize=9, bbox=box)
        ax.set(title=title, xticks=[], yticks=[])
    ax = fig.add_subplot(rows[1, :])
    for axis, line in enumerate(("column", "row")):
        ax.text(-0.8, -2.4 * axis, f"{line} clocks", ha="right", va="center")
        for hand in range(8):
            x, y = 2.4 * hand + 1, -2.4 * axis
            ax.add_patch(Circle((x, y), 1.1, facecolor="0.95", edgecolor="0.6"))
            for place, style in ((there, "o--"), (here, "o-")):
                sine, cosine = fixed[place][axis, :, hand].tolist()
                look = {"color": "#c2410c", "markerfacecolor": "white"} if place == there else {"color": "black"}
                ax.plot([x, x + sine], [y, y + cosine], style, markevery=[1], markersize=5, linewidth=2, **look)
            if axis == 0:
                ax.text(x, 1.3, f"hand {hand}", ha="center", fontsize=9)
    ax.text(9.4, -4.3, "solid hand: the square; dashed hand: the ring", ha="center", fontsize=9)
    ax.set(xlim=(-4, 19.2), ylim=(-4.6, 2), aspect="equal")
    ax.set_axis_off()
    return fig, (
        f"Two maps of the cosine similarity with the place in row {here[0]}, column {here[1]}, which a square marks. A "
        f"ring marks row {there[0]}, column {there[1]}: {values['learned']:.2f} in the learned table and "
        f"{values['clocks']:.2f} in the sin-cos table. Below, the first eight clocks of column and row, each with a "
        "solid hand for the square and a dashed hand for the ring"
    )
