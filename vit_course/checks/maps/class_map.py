"""Exercise maps.class_map: the class token's map."""

import math

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import uneven_maps
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details, slips


@exercise("8.1", "The class token's map", section="What a map is", difficulty=1, minutes=6)
def class_map(answer, draw):
    """`answer(maps, grid)`: (B, L, h, T, T) and (rows, columns) -> (B, rows, columns), last layer, head mean."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, layers, heads), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((uneven_maps(draw, batch, layers, heads, rows * columns + 1), (rows, columns)))
    maps, (rows, columns) = draws[0]
    with named_by_details(
        Known(
            rf"size {len(maps) * maps.shape[-1]}\b|length {maps.shape[-1]}\b|\({maps.shape[-1]}\)|{maps.shape[-1]} !=",
            "own-entry-kept",
            "T entries are to be laid out as the grid, and one of them has no place in the image.",
        ),
        Known(
            "IndexError: .*out of bounds for dimension 1",
            "layer-by-number",
            "A layer is asked for by a number that only a deeper model has.",
        ),
    ):
        same_function(any_precision(answer), cut, draws, _MISTAKES, axes="(B, rows, columns)", differentiable=False)


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


def _square(row: torch.Tensor, grid) -> torch.Tensor:
    return row.unflatten(-1, (math.isqrt(row.shape[-1]), -1))


def _from_0_to_1(map: torch.Tensor) -> torch.Tensor:
    low, high = map.amin((-2, -1), keepdim=True), map.amax((-2, -1), keepdim=True)
    return (map - low) / (high - low)


def _all_layers_multiplied(maps, grid):
    flow, *later = maps.mean(dim=2).unbind(1)  # (B, T, T) each
    for table in later:
        flow = table @ flow
    return flow[:, 0, 1:].unflatten(-1, grid)


_MISTAKES = [
    *slips(
        cut,
        {
            "entries": [
                (
                    lambda table: table[..., 1:, 0],
                    "column-of-the-class-token",
                    "This is the class token's column: what the patches take from it, not what it takes from them.",
                ),
                (
                    lambda table: table[..., 0, :-1],
                    "one-place-too-far",
                    "The class token's weight for itself is drawn as the first patch, and all others are a place too "
                    "far.",
                ),
                (
                    lambda table: table[..., 1, 1:],
                    "another-query",
                    "This is the row of the first patch; the class token has a row of its own.",
                ),
                (
                    lambda table: table.mean(dim=-2)[..., 1:],
                    "queries-averaged",
                    "This is a mean over all queries, the patches' rows too.",
                ),
                (
                    lambda table: table[..., 1:, 1:].mean(dim=-2),
                    "patches-asked",
                    "This is what the patches take from each patch; the class token was to ask.",
                ),
                (
                    lambda table: table.sum(dim=-2)[..., 1:],
                    "queries-added",
                    "The rows of all queries are added up; one of them is the class token's.",
                ),
                (
                    lambda table: table[..., -1, 1:],
                    "last-query",
                    "This is the row of the last patch: the class token does not stand last.",
                ),
                (
                    lambda table: table[..., -1, :-1],
                    "class-token-last",
                    "The last token is taken for the class token, in the queries and in the keys.",
                ),
                (
                    lambda table: table[..., 1:, 1:].diagonal(dim1=-2, dim2=-1),
                    "own-weights",
                    "This is what each patch takes from itself.",
                ),
            ],
            "lay": [
                (
                    lambda row, grid: row.unflatten(-1, grid[::-1]),
                    "grid-swapped",
                    "Rows and columns of the grid have changed places.",
                ),
                (
                    lambda row, grid: row.unflatten(-1, grid[::-1]).mT,
                    "filled-by-columns",
                    "The grid is filled column by column; the patches were numbered row by row.",
                ),
                (
                    lambda row, grid: row.unflatten(-1, grid).mT,
                    "map-transposed",
                    "The grid was turned over: what lies in a row of the image lies in a column here.",
                ),
                (_square, "grid-taken-for-square", "The sides are the root of N, as if every grid were square."),
                (lambda row, grid: row, "not-laid-out", "The N weights still lie in one line."),
                (
                    lambda row, grid: row.unflatten(-1, grid).flip(-2),
                    "upside-down",
                    "The first row of patches lies at the bottom.",
                ),
                (
                    lambda row, grid: row.unflatten(-1, grid).flip(-1),
                    "mirrored",
                    "Left and right have changed places.",
                ),
                (
                    lambda row, grid: row.unflatten(-1, grid)[:, None],
                    "axis-added",
                    "There is an axis of length 1 behind the batch that nobody asked for.",
                ),
            ],
            "heads": [
                (
                    lambda maps: maps.sum(dim=-3),
                    "heads-summed",
                    "The heads are added up, so the map holds more than a share of 1.",
                ),
                (
                    lambda maps: maps.amax(dim=-3),
                    "head-maximum",
                    "Each patch has the largest weight of any head, so the map is no share of 1.",
                ),
                (lambda maps: maps[..., 0, :, :], "one-head", "This is one head alone."),
                (lambda maps: maps[..., -1, :, :], "one-head", "This is one head alone, the last."),
                (lambda maps: maps, "heads-not-averaged", "The heads are still apart."),
                (
                    lambda maps: maps.median(dim=-3).values,
                    "head-median",
                    "This is the median over the heads, not their mean.",
                ),
                (lambda maps: maps.amin(dim=-3), "head-minimum", "Each patch has the smallest weight of any head."),
            ],
            "layer": [
                (lambda maps: maps[:, 0], "first-layer", "This is the first layer's map."),
                (lambda maps: maps.mean(dim=1), "layers-averaged", "This is a mean over all layers."),
                (lambda maps: maps[:, -2], "last-layer-but-one", "This is the map of the last layer but one."),
                (lambda maps: maps, "layers-kept", "The layers are all still there; one of them is asked for."),
                (lambda maps: maps.sum(dim=1), "layers-added", "The layers are added up; one of them is asked for."),
                (
                    lambda maps: maps.amax(dim=1),
                    "layer-maximum",
                    "Each weight is the largest of any layer; one layer is asked for.",
                ),
            ],
            "scale": [
                (
                    lambda map: map / map.sum(dim=(-2, -1), keepdim=True),
                    "divided-by-its-sum",
                    "The map was divided by its sum; the weights were to stay as they are.",
                ),
                (
                    lambda map: map / map.amax(dim=(-2, -1), keepdim=True),
                    "stretched",
                    "The map was divided by its largest entry, so the maps of two images cannot be compared.",
                ),
                (_from_0_to_1, "stretched-from-0-to-1", "The map was stretched to run from 0 to 1."),
                (
                    lambda map: (map - map.min()) / (map.max() - map.min()),
                    "stretched-from-0-to-1",
                    "All maps of the batch were stretched together to run from 0 to 1.",
                ),
                (lambda map: map / map.max(), "stretched", "All maps were divided by the largest entry of the batch."),
                (lambda map: map / map.sum(), "divided-by-its-sum", "All maps were divided by the sum of the batch."),
                (
                    lambda map: map.flatten(-2).softmax(dim=-1).reshape(map.shape),
                    "softmax-again",
                    "The weights went through a softmax a second time.",
                ),
                (
                    lambda map: map * map[0].numel(),
                    "times-the-patches",
                    "The weights are multiplied by the number of patches.",
                ),
                (lambda map: map.mean(dim=0), "batch-averaged", "The images of the batch are averaged into one map."),
                (
                    lambda map: map.mean(dim=0, keepdim=True),
                    "batch-averaged",
                    "The images of the batch are averaged into one map.",
                ),
                (
                    lambda map: map.mean(dim=0).expand_as(map),
                    "batch-averaged",
                    "The images of the batch are averaged, and each has the same map.",
                ),
                (lambda map: map[0], "first-image-alone", "Only the first image of the batch has a map."),
                (lambda map: map[:1], "first-image-alone", "Only the first image of the batch has a map."),
            ],
        },
    ),
    Mistake(
        "heads-taken-for-layers",
        "The axes of layers and heads have changed places: this is the last head, averaged over the layers.",
        lambda maps, grid: cut(maps.transpose(1, 2), grid),
    ),
    Mistake(
        "images-taken-for-layers",
        "The last image is taken where the last layer is asked for: the first axis is the batch.",
        lambda maps, grid: cut(maps.transpose(0, 1), grid),
    ),
    Mistake(
        "divided-by-the-heads",
        "The mean over the heads is divided by their number once more.",
        lambda maps, grid: cut(maps, grid) / maps.shape[2],
    ),
    Mistake(
        "layers-multiplied",
        "The layers' maps are multiplied, as in rollout; the last layer alone is asked for.",
        _all_layers_multiplied,
    ),
]
