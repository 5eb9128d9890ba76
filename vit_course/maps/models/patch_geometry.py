"""Which pixels of an image each patch of a model covers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from vit_course._support.inputs.rules import is_int

Sides = tuple[int, int]
Box = tuple[int, int, int, int]  # (top, left, bottom, right), in pixels


@dataclass(frozen=True)
class PatchGeometry:
    """The patches of an image: rows and columns of equal cells, each drawn where its patch lies.

    A patch covers its cell. Where patches overlap it covers more, and its cell is its middle, as large as the step from
    one patch to the next; where there are gaps between patches, its cell begins with it.

    Args:
        image_size: (H, W) of the image that the model is given.
        grid: (rows, columns)
        start: (top, left) of the first cell, in pixels; negative where the model pads the image there.
        step: (height, width) of a cell, in pixels.
        size: (height, width) of what one patch covers, with a dilated convolution of the box around it; None if it is
            not known.
    """

    image_size: Sides
    grid: Sides
    start: Sides
    step: tuple[float, float]
    size: Sides | None

    @property
    def fills_cells(self) -> bool:
        """Whether each patch is known to cover exactly its cell."""
        return self.size is not None and self.size == self.step

    @property
    def area(self) -> Box:
        """(top, left, bottom, right) of all cells, beyond the image where the model pads it."""
        bottom, right = (round(self.start[axis] + self.grid[axis] * self.step[axis]) for axis in (0, 1))
        return *self.start, bottom, right

    def pixels(self, row: int, column: int) -> Box | None:
        """(top, left, bottom, right) of the pixels of the image that one patch covers; None if they are not known."""
        if self.size is None:
            return None
        top, bottom = self._covered(0)[row]
        left, right = self._covered(1)[column]
        return top, left, bottom, right

    def cells(self, axis: int) -> list[Sides]:
        """The first and the last pixel of each row (axis 0) or column (1) of cells, inside the image."""
        most = self.image_size[axis] - 1
        edges = [self.start[axis] + place * self.step[axis] for place in range(self.grid[axis] + 1)]
        inside = [min(max(round(edge), 0), most) for edge in edges[:-1]]
        return [(first, min(max(round(edge) - 1, first), most)) for first, edge in zip(inside, edges[1:], strict=True)]

    def unseen(self) -> torch.Tensor:
        """(H, W), True for pixels that no patch covers; all False if it is not known what patches cover."""
        seen = [torch.zeros(side, dtype=torch.bool) for side in self.image_size]
        for axis in (0, 1):
            for first, end in self._covered(axis) if self.size else []:
                seen[axis][first:end] = True
        return ~(seen[0][:, None] & seen[1]) if self.size else torch.zeros(self.image_size, dtype=torch.bool)

    def _covered(self, axis: int) -> list[Sides]:
        # The first pixel, and the one after the last, of each row or column of patches.
        assert self.size is not None
        before = max(self.size[axis] - int(self.step[axis]), 0) // 2
        starts = [self.start[axis] - before + place * int(self.step[axis]) for place in range(self.grid[axis])]
        most = self.image_size[axis]
        return [(min(max(start, 0), most), min(max(start + self.size[axis], 0), most)) for start in starts]


@dataclass(frozen=True)
class _Kernel:
    # What a convolution, or another way of cutting patches, has in each direction.
    size: Sides
    step: Sides
    padding: Sides = (0, 0)
    zero_padded: bool = True  # whether the padding is zeros, and not other pixels of the image

    def possible_grids(self, image_size: Sides) -> list[Sides]:
        # (rows, columns) of whole patches; and, where patches lie side by side, of those that are begun.
        spaces = [side + 2 * more for side, more in zip(image_size, self.padding, strict=True)]
        of = list(zip(spaces, self.size, self.step, strict=True))
        rows, columns = ((space - size) // step + 1 for space, size, step in of)
        below, right = (-(-space // step) for space, _, step in of)
        return [(rows, columns), (below, right)] if self.size == self.step else [(rows, columns)]


def find_geometry(
    around: nn.Module | None, model: nn.Module, image_size: Sides, grid: Sides | None = None
) -> PatchGeometry | None:
    """Finds where the patches lie: by the convolution that cuts them, or by the patch size that a module states.

    Behind a stem of several convolutions, or for a grid that does not follow from these, all cells have an equal share
    of the image, and what their patches cover is not known.

    Args:
        around: the part of the model that cuts the image into patches; None if it is not known.
        model: may state the patch size.
        image_size: (H, W)
        grid: (rows, columns), if the caller knows it; by default the model's own.

    Returns:
        None if it is not known how many patches there are.
    """
    modules = [] if around is None else list(around.modules())
    stated = (
        next((size for module in (*modules, model) if (size := _stated_patch_size(module))), None) if modules else None
    )
    kernel = _kernel(modules, stated)
    if grid is None:
        grid = _grid_from_timm(modules, image_size)
    if grid is None and kernel is not None:
        grid = kernel.possible_grids(image_size)[0]
    elif grid is None and stated is not None:
        grid = image_size[0] // stated[0], image_size[1] // stated[1]
    if grid is None or min(grid) < 1:
        return None
    if kernel is None or grid not in kernel.possible_grids(image_size):
        return equal_shares(image_size, grid)
    top, left = (
        max(size - step, 0) // 2 - padding
        for size, step, padding in zip(kernel.size, kernel.step, kernel.padding, strict=True)
    )
    return PatchGeometry(image_size, grid, (top, left), kernel.step, kernel.size if kernel.zero_padded else None)


def equal_shares(image_size: Sides, grid: Sides) -> PatchGeometry:
    """A geometry in which each cell has an equal share of the image, and what its patch covers is not known."""
    height, width = (side / count for side, count in zip(image_size, grid, strict=True))
    return PatchGeometry(image_size, grid, (0, 0), (height, width), None)


def _grid_from_timm(modules: Sequence[nn.Module], image_size: Sides) -> Sides | None:
    # timm's patch embedding is asked, which knows about its padding and about hybrid stems.
    for module in modules:
        if callable(ask := getattr(module, "dynamic_feat_size", None)):
            rows, columns = ask(tuple(image_size))
            return int(rows), int(columns)
    return None


def _stated_patch_size(module: nn.Module) -> Sides | None:
    # The patch size that a module or its config has as an attribute, or vit-pytorch's Rearrange in its letters.
    for owner in (module, getattr(module, "config", None)):
        if size := pair(getattr(owner, "patch_size", None)):
            return size
    letters = getattr(module, "axes_lengths", None)
    return pair([letters.get("p1"), letters.get("p2")]) if isinstance(letters, Mapping) else None


def _kernel(modules: Sequence[nn.Module], stated: Sides | None) -> _Kernel | None:
    # None if patches are cut in several steps, or in one that is not known.
    found = [one for one in modules if isinstance(one, (nn.Conv2d, nn.Unfold))]
    if not found:
        return _Kernel(stated, stated) if stated else None
    one = found[0]
    size, step, dilation = (pair(getattr(one, name)) for name in ("kernel_size", "stride", "dilation"))
    padding = (0, 0) if one.padding == "valid" else pair(one.padding, least=0)
    pooled = any(isinstance(module, (nn.MaxPool2d, nn.AvgPool2d)) for module in modules)
    if len(found) > 1 or pooled or not (size and step and padding and dilation) or stated not in (None, size, step):
        return None
    height, width = ((count - 1) * apart + 1 for count, apart in zip(size, dilation, strict=True))
    zero_padded = padding == (0, 0) or getattr(one, "padding_mode", "zeros") == "zeros"
    return _Kernel((height, width), step, padding, zero_padded)


def pair(size: object, least: int = 1) -> Sides | None:
    """16 -> (16, 16); a pair -> that pair; anything else, or a side below `least` -> None."""
    sides = (size, size) if is_int(size) else size
    if isinstance(sides, (tuple, list)) and len(sides) == 2 and all(is_int(side) and side >= least for side in sides):
        return sides[0], sides[1]
    return None
