"""Which tokens of a sequence are patches, where those lie, and what the others are called."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, shown
from vit_course.maps.anatomy import Anatomy, numbered
from vit_course.maps.patch_geometry import Box, PatchGeometry

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
        tested: whether the order was tested on the model, or is known because the model is ours.
    """

    prefix: tuple[str, ...]
    grid: tuple[int, int]
    geometry: PatchGeometry | None = field(default=None, compare=False, repr=False)
    tested: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        sides = self.geometry.size if self.geometry is not None else None
        patches = f"{self.grid[0]} x {self.grid[1]} patches" + (f" of {sides[0]} x {sides[1]} pixels" if sides else "")
        first = f"{', '.join(self.prefix)}, then {patches}" if self.prefix else patches
        return first + (", tested on the model" if self.tested else ", as the model says: it could not be tested")

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
            several convolutions, or in a model that could not be tested.

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
    num_tokens: int,
    image_size: tuple[int, int] | None,
    anatomy: Anatomy | None = None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
) -> Tokens:
    """Finds the patches in a sequence: from the arguments, else from the model, else from the sizes alone.

    Args:
        num_tokens: T
        image_size: (H, W) of the images that the model was given.
        anatomy: of the model, which may tell its prefix tokens and its grid; they must agree with T.
        grid: (rows, columns) of patches.
        prefix: the names of the tokens in front of the patches, or how many there are.

    Raises:
        ValueError: arguments or a model that do not fit T; or neither gives the grid, and none or more than one grid of
            square patches fits T.
    """
    if grid is not None:
        check_arguments(grid=grid)
    names = need_prefix(prefix)
    if anatomy is not None and anatomy.suffix_tokens:
        raise ValueError(
            f"{anatomy.name} puts {anatomy.suffix_tokens[0]} after its patches, but other tokens are supported only "
            "before them"
        )
    if anatomy is not None and names is None:
        names = anatomy.prefix
    place = grid
    if place is None:
        if image_size is None:
            raise ValueError(
                "the size of the images was not seen, or they have several sizes, so it is not known where the "
                "patches lie: give grid"
            )
        place = None if anatomy is None else anatomy.grid(image_size)
        if place is None:
            return _fitting(num_tokens, image_size, anatomy, names)
    rows, columns = place
    others = num_tokens - rows * columns
    if others < 0 and grid is not None:
        raise ValueError(
            f"a grid of {rows} x {columns} has {rows * columns} patches, but the maps have {num_tokens} tokens"
        )
    if names is None:
        names = _need_order(anatomy, others)
    _check_count(num_tokens, (rows, columns), names)
    return Tokens(names, (rows, columns), _geometry(anatomy, image_size, (rows, columns)))


def check_whole(anatomy: Anatomy, num_tokens: int, image_size: tuple[int, int] | None) -> None:
    """Checks that maps of T tokens have all patches of the image, in their order.

    Raises:
        ValueError: the model shuffles its patches, or T tokens are not its prefix tokens and all patches.
    """
    if anatomy.shuffles:
        raise ValueError(
            f"{anatomy.name} leaves patches out at random and shuffles the others, even in eval mode, so "
            "it is not known where they lie: load its weights by pretrained.load_huggingface, which keeps all of them"
        )
    if image_size is None or anatomy.suffix_tokens:
        return
    names, place = anatomy.prefix, anatomy.grid(image_size)
    if names is not None and place is not None:
        _check_count(num_tokens, place, names)


def _check_count(num_tokens: int, grid: tuple[int, int], names: tuple[str, ...]) -> None:
    rows, columns = grid
    if rows * columns + len(names) != num_tokens:
        said = ", ".join(names) or "no other token"
        raise ValueError(
            f"the maps have {num_tokens} tokens, but {rows} x {columns} patches with {said} make "
            f"{rows * columns + len(names)}: patches are left out, joined or added, so it is not known where they lie"
        )


def _need_order(anatomy: Anatomy | None, others: int) -> tuple[str, ...]:
    # A single extra token is taken for a class token in front of the patches, unless the model names a special token.
    special = [] if anatomy is None else anatomy.special_tokens
    if others and (special or others > 1) and anatomy is not None:
        which = f" ({', '.join(special)})" if special else ""
        raise ValueError(
            f"{anatomy.name} does not say where its {others} tokens that are not patches are{which}: if "
            "they come before the patches, give their names as prefix="
        )
    return _unnamed(max(others, 0))


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


def _fitting(
    num_tokens: int, image_size: tuple[int, int], anatomy: Anatomy | None, names: tuple[str, ...] | None
) -> Tokens:
    # Square patches: the grid has the proportions of the image.
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
    names = _need_order(anatomy, others) if names is None else names
    return Tokens(names, (rows, columns), _geometry(anatomy, image_size, (rows, columns)))


def _geometry(
    anatomy: Anatomy | None, image_size: tuple[int, int] | None, grid: tuple[int, int]
) -> PatchGeometry | None:
    return None if anatomy is None or image_size is None else anatomy.geometry(image_size, grid)
