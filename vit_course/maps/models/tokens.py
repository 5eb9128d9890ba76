"""Which tokens of a sequence are patches, where those lie, and what the others are called."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, shown
from vit_course.maps.models.description import Description, numbered
from vit_course.maps.models.patch_geometry import Box, PatchGeometry, equal_shares

# How many tokens before the patches are tried, if neither the caller nor the model says it: as a class token and four
# registers.
MOST_OTHERS = 5


@dataclass(frozen=True)
class Tokens:
    """The order of a sequence: first the tokens that are not patches, by name, then the patches row by row.

    Args:
        prefix: such as ("class token", "register 1").
        grid: (rows, columns) of patches.
        geometry: where the patches lie in the image that the model was given; None if no model was asked.
        tested: whether the order was tested, on this model or, for a family that is known by name, by the tests.
    """

    prefix: tuple[str, ...]
    grid: tuple[int, int]
    geometry: PatchGeometry | None = field(default=None, compare=False, repr=False)
    tested: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        sides = self.geometry.size if self.geometry is not None else None
        patches = f"{self.grid[0]} x {self.grid[1]} patches" + (f" of {sides[0]} x {sides[1]} pixels" if sides else "")
        first = f"{', '.join(self.prefix)}, then {patches}" if self.prefix else patches
        return first if self.tested else f"{first}, not tested"

    @property
    def num_prefix(self) -> int:
        """How many tokens come before the first patch."""
        return len(self.prefix)

    def name(self, token: int) -> str:
        """A readable name of the token: "register 2", or "row 3, column 0"."""
        if token < self.num_prefix:
            return self.prefix[token]
        row, column = divmod(token - self.num_prefix, self.grid[1])
        return f"row {row}, column {column}"

    def pixels(self, token: int) -> Box | None:
        """(top, left, bottom, right): the token's patch is `image[:, top:bottom, left:right]` of the model's input.

        If the model pads a patch, only pixels of the image count. An image may have pixels at its right and lower edges
        that belong to no patch: a side of 416 pixels has 29 patches of 14, and the last 10 are not seen.

        Returns:
            None for a token that is not a patch; or if it is not known what its patch covers, as behind a stem of
            several convolutions.

        Raises:
            IndexError: there is no such token.
        """
        count = self.num_prefix + self.grid[0] * self.grid[1]
        if not 0 <= token < count:
            raise IndexError(f"there is no token {token}, only tokens 0 to {count - 1}")
        if token < self.num_prefix or self.geometry is None:
            return None
        return self.geometry.pixels(*divmod(token - self.num_prefix, self.grid[1]))

    @property
    def area(self) -> Box | None:
        """(top, left, bottom, right) of the grid in the model's input, so that a map can be drawn over its patches.

        It leaves out pixels that no patch sees, and reaches beyond the image where the model pads it. Patches that
        overlap are drawn as their middles, and these need not reach the edges of the image. None if no model was asked.
        """
        return None if self.geometry is None else self.geometry.area


def find_tokens(
    description: Description | None,
    num_tokens: int,
    image_size: tuple[int, int] | None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
) -> Tokens:
    """Finds the patches in a sequence: from the arguments, else from the description of the model.

    Args:
        description: of the model; None if it has none.
        num_tokens: T
        image_size: (H, W) of the images that the model was given; None if it is not known.
        grid: (rows, columns) of patches.
        prefix: the names of the tokens in front of the patches, or how many there are.

    Raises:
        ValueError: grid and prefix do not make T tokens; or one of them is neither given nor known.
    """
    if grid is not None:
        check_arguments(grid=grid)
        grid = grid[0], grid[1]
    names = need_prefix(prefix)
    if names is None and description is not None:
        names = description.prefix
    geometry = None
    if description is not None and image_size is not None:
        geometry = description.geometry(image_size, grid)
    elif grid is not None and image_size is not None:
        geometry = equal_shares(image_size, grid)
    place = grid if geometry is None else geometry.grid
    if place is None:
        raise ValueError(
            "nothing says where the patches lie"
            + (", as the images were not seen, or have several sizes" if image_size is None else "")
            + ": give grid=(rows, columns) and prefix=, or say by maps.describe which patches= and tokens= it has"
        )
    if names is None:
        if num_tokens > place[0] * place[1]:
            raise ValueError(
                f"of {num_tokens} tokens {place[0]} x {place[1]} are patches, and nothing says what the others are: "
                "give prefix=, the names of the tokens before the patches"
            )
        names = ()
    count = place[0] * place[1] + len(names)
    if count != num_tokens:
        said = ", ".join(names) or "no other token"
        raise ValueError(
            f"the maps have {num_tokens} tokens, but {place[0]} x {place[1]} patches with {said} make {count}: if the "
            "model leaves patches out or joins them, it is not known where they lie; else give grid= and prefix="
        )
    return Tokens(names, place, geometry)


def fit_tokens(
    num_tokens: int,
    image_size: tuple[int, int],
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
) -> Tokens:
    """Finds the patches of maps without a model: from the arguments, else the one grid of square patches that fits.

    Args:
        num_tokens, image_size, grid, prefix: as in `find_tokens`.

    Raises:
        ValueError: arguments that do not make T tokens; or none or more than one grid of square patches fits T.
    """
    names = need_prefix(prefix)
    if grid is not None:
        names = _unnamed(max(num_tokens - grid[0] * grid[1], 0)) if names is None else names
        return find_tokens(None, num_tokens, image_size, grid, names)
    height, width = image_size
    fitting = []
    for others in range(MOST_OTHERS + 1) if names is None else [len(names)]:
        rows = round((max(num_tokens - others, 0) * height / width) ** 0.5)
        columns = (num_tokens - others) // rows if rows else 0
        if rows * columns == num_tokens - others > 0 and rows * width == columns * height:
            fitting.append((others, rows, columns))
    if len(fitting) > 1:  # a grid of 1 x 1 is hardly ever meant
        fitting = [one for one in fitting if one[1:] != (1, 1)]
    if not fitting:
        raise ValueError(
            f"no grid of square patches over an image of {height} x {width} has {num_tokens} tokens: give grid"
        )
    if len(fitting) > 1:
        listed = ", or ".join(f"{others} and {rows} x {columns} patches" for others, rows, columns in fitting)
        raise ValueError(f"{num_tokens} tokens may be {listed}: give grid=(rows, columns), prefix= or both")
    others, rows, columns = fitting[0]
    return Tokens(_unnamed(others) if names is None else names, (rows, columns))


def need_prefix(prefix: int | Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns the names of the tokens before the patches, or None if `prefix` is None.

    Raises:
        ValueError: a `prefix` that is neither names nor a number.
    """
    if prefix is None:
        return None
    if is_int(prefix) and prefix >= 0:
        return _unnamed(prefix)
    if not isinstance(prefix, (list, tuple)) or not all(isinstance(name, str) for name in prefix):
        raise ValueError(
            f"prefix must be the names of the tokens before the patches, or their number, got {shown(prefix)}"
        )
    return tuple(prefix)


def _unnamed(count: int) -> tuple[str, ...]:
    # A single token before the patches is the class token in every known model.
    return ("class token",) if count == 1 else numbered("extra token", count)
