"""Exercise maps.class_map: the class token's map."""

import math

from vit_course.checks.maps.rollout import uneven_maps
from vit_course.checks.tools.mistakes import Known, Slip, wrong_functions
from vit_course.checks.tools.no_gradient import same_without_gradient


def class_map(answer, draw):
    """`answer(maps, grid)`: (B, L, h, T, T) and (rows, columns) -> (B, rows, columns), last layer, head mean."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, layers, heads), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((uneven_maps(draw, batch, layers, heads, rows * columns + 1), (rows, columns)))
    maps, _ = draws[0]
    mistakes, errors = wrong_functions(MISTAKES, cut, pairs=2), _errors(len(maps), maps.shape[-1])
    same_without_gradient(answer, cut, draws, "(B, rows, columns)", mistakes, errors)


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


def _errors(batch: int, tokens: int) -> list[Known]:
    return [
        Known(
            rf"size {batch * tokens}\b|length {tokens}\b|\({tokens}\)|{tokens} !=",
            "own-entry-kept",
            "T entries are laid out as the grid, but one of them has no place in the image.",
        ),
        Known(
            "IndexError: .*out of bounds for dimension 1",
            "layer-by-number",
            "Your code uses the number of a layer that only a deeper model has.",
        ),
    ]


MISTAKES = {
    "entries": [
        Slip(
            "column-of-the-class-token",
            "This is the class token's column: what the patches take from it, not what it takes from them.",
            lambda table: table[..., 1:, 0],
        ),
        Slip(
            "one-place-too-far",
            (
                "The class token's weight for itself is drawn as the first patch, and all others are shifted by "
                "one place."
            ),
            lambda table: table[..., 0, :-1],
        ),
        Slip(
            "another-query",
            "This is the row of a patch; the first row is that of the class token.",
            lambda table: table[..., 1, 1:],
            lambda table: table[..., -1, 1:],
        ),
        Slip(
            "queries-averaged",
            "This is a mean over all queries, including the rows of the patches.",
            lambda table: table.mean(dim=-2)[..., 1:],
        ),
        Slip(
            "patches-asked",
            "This is what the patches take from each patch; the query should be the class token.",
            lambda table: table[..., 1:, 1:].mean(dim=-2),
        ),
        Slip(
            "queries-added",
            "The rows of all queries are added up; only one of them belongs to the class token.",
            lambda table: table.sum(dim=-2)[..., 1:],
        ),
        Slip(
            "class-token-last",
            "The last token is treated as the class token, in the queries and in the keys.",
            lambda table: table[..., -1, :-1],
        ),
    ],
    "lay": [
        Slip(
            "grid-swapped",
            "The rows and columns of the grid are swapped.",
            lambda row, grid: row.unflatten(-1, grid[::-1]),
        ),
        Slip(
            "filled-by-columns",
            "The grid is filled column by column; the patches were numbered row by row.",
            lambda row, grid: row.unflatten(-1, grid[::-1]).mT,
        ),
        Slip(
            "map-transposed",
            "The grid was transposed: what is in a row of the image is in a column here.",
            lambda row, grid: row.unflatten(-1, grid).mT,
        ),
        Slip(
            "grid-taken-for-square",
            "The sides are computed as the square root of N, as if every grid were square.",
            lambda row, grid: row.unflatten(-1, (math.isqrt(row.shape[-1]), -1)),
        ),
        Slip("not-laid-out", "The N weights are still in one line.", lambda row, grid: row),
        Slip(
            "upside-down",
            "The first row of patches lies at the bottom.",
            lambda row, grid: row.unflatten(-1, grid).flip(-2),
        ),
    ],
    "heads": [
        Slip(
            "heads-summed",
            "The heads are added up, so the numbers are no longer shares of 1.",
            lambda maps: maps.sum(dim=-3),
        ),
        Slip(
            "head-maximum",
            "Each patch gets the largest weight of any head, so the numbers are no longer shares of 1.",
            lambda maps: maps.amax(dim=-3),
        ),
        Slip("one-head", "This is a single head.", lambda maps: maps[..., 0, :, :], lambda maps: maps[..., -1, :, :]),
        Slip("heads-not-averaged", "The heads are still separate.", lambda maps: maps),
    ],
    "layer": [
        Slip("first-layer", "This is the first layer's map.", lambda maps: maps[:, 0]),
        Slip("layers-averaged", "This is a mean over all layers.", lambda maps: maps.mean(dim=1)),
        Slip("last-layer-but-one", "This is the map of the second-to-last layer.", lambda maps: maps[:, -2]),
        Slip("layers-kept", "All layers are still there; the exercise asks for one of them.", lambda maps: maps),
    ],
    "scale": [
        Slip(
            "divided-by-its-sum",
            "The map was divided by a sum; the weights should stay as they are.",
            lambda map: map / map.sum(dim=(-2, -1), keepdim=True),
            lambda map: map / map.sum(),
        ),
        Slip(
            "stretched",
            "The map was divided by its largest entry, so the maps of two images cannot be compared.",
            lambda map: map / map.amax(dim=(-2, -1), keepdim=True),
            lambda map: map / map.max(),
        ),
        Slip(
            "stretched-from-0-to-1",
            "The map was stretched to run from 0 to 1.",
            lambda map: (map - map.amin((-2, -1), True)) / (map.amax((-2, -1), True) - map.amin((-2, -1), True)),
            lambda map: (map - map.min()) / (map.max() - map.min()),
        ),
        Slip(
            "batch-averaged",
            "The images of the batch are averaged into one map.",
            lambda map: map.mean(dim=0),
            lambda map: map.mean(dim=0, keepdim=True),
            lambda map: map.mean(dim=0).expand_as(map),
        ),
        Slip(
            "first-image-alone", "Only the first image of the batch has a map.", lambda map: map[0], lambda map: map[:1]
        ),
    ],
    "result": [
        Slip(
            "heads-taken-for-layers",
            "The axes of layers and heads are swapped: this is the last head, averaged over the layers.",
            lambda maps, grid: cut(maps.transpose(1, 2), grid),
        ),
        Slip(
            "images-taken-for-layers",
            "The last image is taken instead of the last layer: the first axis is the batch.",
            lambda maps, grid: cut(maps.transpose(0, 1), grid),
        ),
    ],
}
