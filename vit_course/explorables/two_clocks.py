"""Chapter 03: two places on the grid to drag, and their position vectors, learned or of sines and cosines (clocks)."""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from vit_course._support.files.course_files import stored
from vit_course._support.widgets.encoding import Sections
from vit_course.embeddings import interpolate_positions, sincos2d
from vit_course.explorables.explorable import Explorable
from vit_course.plots.style import COLOUR_MAP

MADE, SIDE, AXIS = (37, 37), 16, 96  # grid of the learned table; side and clocks per axis of the other
# The choices of clocks to compare, of all 192: first those of the column, then those of the row.
CLOCKS = {"hand 0": [0, AXIS], "hand 24": [24, AXIS + 24], "first eight": [*range(8)], "all": [*range(2 * AXIS)]}
SHOWN = {"hand 0": -1, "hand 24": 0, "first eight": -1, "all": 0.5}  # the lowest value of a map's colour scale


def two_clocks(**state) -> Explorable:
    """Two places on the grid of patches: how similar their position vectors are, and which clocks tell them apart.

    The learned table is that of vit-s14, reduced from 384 to 48 dimensions (`res/explorables/make_two_clocks.py`;
    cosine similarities are off by 0.005 on average, and by 0.05 at most), resized from 37 x 37 places. The other is
    `embeddings.sincos2d` of 16 x 16 places with D = 384, in which each pair of sine and cosine is a clock: 96 clocks
    for the column, then 96 for the row.

    Args:
        state: `place` and `other`, (row, column) from 0 each; `hands`, the clocks that are compared, "hand 0" or
            "hand 24" of column and row, the "first eight", or "all"; `table`, "16 x 16", or the way of resizing to
            16 x 24: "interpolated", which is right, "exchanged" (rows and columns) or "as one line".

    Raises:
        ValueError: an invalid state.

    Source: Beyer et al. 2022 (arXiv:2205.01580) for the clocks; Dosovitskiy et al. 2020, section 3.2, for resizing.
    """
    table, steps = stored_table()
    sections = Sections()
    sections.bytes("table", table)
    sections.floats("steps", steps)
    return Explorable("two_clocks", {}, still, computed, sections, **state)


@cache
def stored_table() -> tuple[np.ndarray, np.ndarray]:
    """Loads the learned table as bytes (T, 48), with 128 for 0, and the steps of its columns (48,)."""
    with np.load(stored("explorables/two_clocks.npz")) as file:
        return file["table"], file["steps"]


@cache
def tables(name: str) -> tuple[tuple[int, int], torch.Tensor, torch.Tensor]:
    """Returns the grid of a choice of table, and its vectors: learned (N, 48), and sines and cosines (N, D)."""
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
    """Returns the similarities of all places with the chosen one, and the angles between the clocks of the two places.

    The cosine similarities are `learned` (N,), and by `clocks` (N,), those that are compared. `apart` (192,) holds the
    angles in radians between the hands of all clocks, and `largest` is the largest among the clocks that are compared.
    """
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
    """Returns both places of a state, limited to its grid."""
    rows, columns = tables(state["table"])[0]
    place, other = ((min(row, rows - 1), min(column, columns - 1)) for row, column in (state["place"], state["other"]))
    return place, other


def still(state: dict) -> tuple[Figure, str]:
    """Draws both maps of a state and the first clocks of its places, and describes them in words."""
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
