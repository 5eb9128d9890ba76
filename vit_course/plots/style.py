"""What the figures share: colours, line styles, and what figures are asked for."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, shown, text

COLOUR_MAP = "viridis"  # lightness rises evenly, so it reads the same in grey
MARKERS = "os^Dv*"
LINES = ("-", "--", "-.", ":")


def use_style() -> None:
    """Draws the figures made from here on in the course's style, `course.mplstyle` next to this file."""
    from matplotlib import style

    style.use(Path(__file__).with_name("course.mplstyle"))


def show(figure: Figure, alt: str) -> None:
    """Displays a figure in a notebook with `alt` text for readers who cannot see it.

    Raises:
        TypeError: not a matplotlib Figure.
    """
    from IPython.display import display

    if not isinstance(figure, Figure):
        raise TypeError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
    display(figure, metadata={"image/png": {"alt": alt}})


def check_text(**values: str) -> None:
    """Raises a `ValueError` where a title or another word on a figure is no text."""
    for name, value in values.items():
        text(name, value)


def check_axes_of_figure(axes: Axes) -> None:
    """Raises a `TypeError` where `axes` are not matplotlib's."""
    if not isinstance(axes, Axes):
        raise TypeError(f"axes must be matplotlib Axes, got {type(axes).__name__}")


def check_grid(count: int, grid: tuple[int, int]) -> None:
    """Raises a `ValueError` where `grid` is no (rows, columns), or has another number of patches than `count`."""
    check_arguments(grid=grid)
    if count != grid[0] * grid[1]:
        raise ValueError(f"a grid of {grid[0]} x {grid[1]} has {grid[0] * grid[1]} patches, got {count}")


def check_query(query: tuple[int, int] | None, grid: tuple[int, int]) -> None:
    """Raises a `ValueError` where `query` is neither None nor the (row, column) of a patch of `grid`."""
    if query is None:
        return
    pair = isinstance(query, (tuple, list)) and len(query) == 2 and all(map(is_int, query))
    if not pair or not all(0 <= place < size for place, size in zip(query, grid, strict=True)):
        raise ValueError(f"query must be the (row, column) of a patch of {grid[0]} x {grid[1]}, got {shown(query)}")
