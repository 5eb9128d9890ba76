"""Exercise maps.class_map: the class token's map."""

from vit_course.checks.maps.rollout import uneven_maps
from vit_course.checks.tools.no_gradient import same_without_gradient


def class_map(answer, draw):
    """`answer(maps, grid)`: (B, L, h, T, T) and (rows, columns) -> (B, rows, columns), last layer, head mean."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, layers, heads), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((uneven_maps(draw, batch, layers, heads, rows * columns + 1), (rows, columns)))
    maps, (rows, columns) = draws[0]
    same_without_gradient(__name__, answer, cut, draws, "(B, rows, columns)", seen=locals())


def cut(
    maps,
    grid,
    layer=lambda maps: maps[:, -1],
    heads=lambda maps: maps.mean(dim=-3),
    entries=lambda whole: whole[..., 0, 1:],
    lay=lambda row, grid: row.unflatten(-1, grid),
    scale=lambda map: map,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    return scale(lay(entries(heads(layer(maps))), grid))
