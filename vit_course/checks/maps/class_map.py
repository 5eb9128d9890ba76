"""Exercise maps.class_map: the class token's map."""

import math

from vit_course.checks.maps.rollout import uneven_maps
from vit_course.checks.tools.mistakes import Known, Mistake
from vit_course.checks.tools.no_gradient import same_without_gradient


def class_map(answer, draw):
    """`answer(maps, grid)`: (B, L, h, T, T) and (rows, columns) -> (B, rows, columns), last layer, head mean."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, layers, heads), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((uneven_maps(draw, batch, layers, heads, rows * columns + 1), (rows, columns)))
    maps, _ = draws[0]
    batch, tokens = len(maps), maps.shape[-1]
    own_entry = Known(
        rf"size {batch * tokens}\b|length {tokens}\b|\({tokens}\)|{tokens} !=",
        "own-entry-kept",
        "T entries are laid out as the grid, which has T - 1 places.",
    )
    same_without_gradient(answer, cut, draws, "(B, rows, columns)", MISTAKES, [own_entry])


def cut(
    maps,
    grid,
    layer=lambda maps: maps[:, -1],
    heads=lambda maps: maps.mean(dim=-3),
    entries=lambda table: table[..., 0, 1:],
    lay=lambda row, grid: row.unflatten(-1, grid),
    scale=lambda map: map,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    return scale(lay(entries(heads(layer(maps))), grid))


MISTAKES = [
    Mistake(
        "column-of-the-class-token",
        "This is the class token's column: what the patches take from it, not what it takes from them.",
        {"entries": lambda table: table[..., 1:, 0]},
    ),
    Mistake(
        "one-place-too-far",
        "The class token's weight for itself is drawn as the first patch, and all others are shifted by one place.",
        {"entries": lambda table: table[..., 0, :-1]},
    ),
    Mistake(
        "another-query",
        "This is the row of a patch; the first row is that of the class token.",
        {"entries": lambda table: table[..., 1, 1:]},
        {"entries": lambda table: table[..., -1, 1:]},
    ),
    Mistake(
        "queries-averaged",
        "This is a mean over all queries, including the rows of the patches.",
        {"entries": lambda table: table.mean(dim=-2)[..., 1:]},
    ),
    Mistake(
        "grid-swapped",
        "The rows and columns of the grid are swapped.",
        {"lay": lambda row, grid: row.unflatten(-1, grid[::-1])},
    ),
    Mistake(
        "filled-by-columns",
        "The grid is filled column by column; the patches were numbered row by row.",
        {"lay": lambda row, grid: row.unflatten(-1, grid[::-1]).mT},
    ),
    Mistake(
        "grid-taken-for-square",
        "The sides are computed as the square root of N, as if every grid were square.",
        {"lay": lambda row, grid: row.unflatten(-1, (math.isqrt(row.shape[-1]), -1))},
    ),
    Mistake("not-laid-out", "The N weights are still in one line.", {"lay": lambda row, grid: row}),
    Mistake(
        "heads-summed",
        "The heads are added up, so the numbers are no longer shares of 1.",
        {"heads": lambda maps: maps.sum(dim=-3)},
    ),
    Mistake(
        "head-maximum",
        "Each patch gets the largest weight of any head, so the numbers are no longer shares of 1.",
        {"heads": lambda maps: maps.amax(dim=-3)},
    ),
    Mistake(
        "one-head",
        "This is a single head.",
        {"heads": lambda maps: maps[..., 0, :, :]},
        {"heads": lambda maps: maps[..., -1, :, :]},
    ),
    Mistake("heads-not-averaged", "The heads are still separate.", {"heads": lambda maps: maps}),
    Mistake("first-layer", "This is the first layer's map.", {"layer": lambda maps: maps[:, 0]}),
    Mistake("layers-averaged", "This is a mean over all layers.", {"layer": lambda maps: maps.mean(dim=1)}),
    Mistake(
        "divided-by-its-sum",
        "The map was divided by a sum; the weights should stay as they are.",
        {"scale": lambda map: map / map.sum(dim=(-2, -1), keepdim=True)},
        {"scale": lambda map: map / map.sum()},
    ),
    Mistake(
        "stretched",
        "The map was divided by its largest entry, so the maps of two images cannot be compared.",
        {"scale": lambda map: map / map.amax(dim=(-2, -1), keepdim=True)},
        {"scale": lambda map: map / map.max()},
    ),
    Mistake(
        "stretched-from-0-to-1",
        "The map was stretched to run from 0 to 1.",
        {"scale": lambda map: (map - map.amin((-2, -1), True)) / (map.amax((-2, -1), True) - map.amin((-2, -1), True))},
        {"scale": lambda map: (map - map.min()) / (map.max() - map.min())},
    ),
    Mistake(
        "first-image-alone",
        "Only the first image of the batch has a map.",
        {"scale": lambda map: map[0]},
        {"scale": lambda map: map[:1]},
    ),
    Mistake(
        "heads-taken-for-layers",
        "The axes of layers and heads are swapped: this is the last head, averaged over the layers.",
        lambda maps, grid: cut(maps.transpose(1, 2), grid),
    ),
    Mistake(
        "grid-swapped-and-first-layer",
        "Two things are wrong. The rows and columns of the grid are swapped. This is the first layer's map.",
        {"lay": lambda row, grid: row.unflatten(-1, grid[::-1]), "layer": lambda maps: maps[:, 0]},
    ),
]
