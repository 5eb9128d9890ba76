"""Exercise maps.class_map: the class token's map."""

from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import uneven_maps
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("The class token's map", section="What a map is", difficulty=1, minutes=6)
def class_map(answer, draw):
    """`answer(maps, grid)`: (B, L, h, T, T) and (rows, columns) -> (B, rows, columns), last layer, head mean."""
    draws = []
    for _ in range(2):
        (batch, layers, heads), (rows, columns) = draw.sizes(3, 2, 6), draw.sizes(2, 3, 6)
        # T is 13 or more, no other size is.
        draws.append((uneven_maps(draw, batch, layers, heads, rows * columns + 1), (rows, columns)))

    def cut(maps, grid, layer=-1, query=0, columns=slice(1, None)):
        return maps[:, layer].mean(dim=1)[:, query, columns].unflatten(-1, grid)

    same_function(
        answer,
        cut,
        draws,
        axes="(B, rows, columns)",
        differentiable=False,
        mistakes=[
            Mistake(
                "column-of-the-class-token",
                "This is the class token's column: what the patches take from it, not what it takes from them.",
                lambda maps, grid: cut(maps, grid, query=slice(1, None), columns=0),
            ),
            Mistake(
                "one-place-too-far",
                "The class token's weight for itself is drawn as the first patch, and all others are a place too far.",
                lambda maps, grid: cut(maps, grid, columns=slice(0, -1)),
            ),
            Mistake(
                "filled-by-columns",
                "The grid is filled column by column; the patches were numbered row by row.",
                lambda maps, grid: cut(maps, (grid[1], grid[0])).transpose(1, 2),
            ),
            Mistake(
                "grid-swapped",
                "Rows and columns of the grid have changed places.",
                lambda maps, grid: cut(maps, (grid[1], grid[0])),
            ),
            Mistake(
                "map-transposed",
                "The grid was turned over: what lies in a row of the image lies in a column here.",
                lambda maps, grid: cut(maps, grid).transpose(1, 2),
            ),
            Mistake("first-layer", "This is the first layer's map.", lambda maps, grid: cut(maps, grid, layer=0)),
            Mistake(
                "layers-averaged",
                "This is a mean over all layers.",
                lambda maps, grid: maps.mean(dim=(1, 2))[:, 0, 1:].unflatten(-1, grid),
            ),
            Mistake(
                "heads-summed",
                "The heads are added up, so the map holds more than a share of 1.",
                lambda maps, grid: maps[:, -1].sum(dim=1)[:, 0, 1:].unflatten(-1, grid),
            ),
            Mistake(
                "head-maximum",
                "Each patch has the largest weight of any head, so the map is no share of 1.",
                lambda maps, grid: maps[:, -1].amax(dim=1)[:, 0, 1:].unflatten(-1, grid),
            ),
            Mistake("one-head", "This is one head alone.", lambda maps, grid: cut(maps[:, :, :1], grid)),
            Mistake(
                "heads-not-averaged",
                "The heads are still apart.",
                lambda maps, grid: maps[:, -1, :, 0, 1:].unflatten(-1, grid),
            ),
            Mistake(
                "another-query",
                "This is the row of the first patch; the class token has a row of its own.",
                lambda maps, grid: cut(maps, grid, query=1),
            ),
            Mistake(
                "queries-averaged",
                "This is a mean over all queries, the patches' rows too.",
                lambda maps, grid: maps[:, -1].mean(dim=(1, 2))[:, 1:].unflatten(-1, grid),
            ),
            Mistake(
                "divided-by-its-sum",
                "The map was divided by its sum; the weights were to stay as they are.",
                lambda maps, grid: cut(maps, grid) / cut(maps, grid).sum(dim=(1, 2), keepdim=True),
            ),
            Mistake(
                "stretched",
                "The map was divided by its largest entry, so the maps of two images cannot be compared.",
                lambda maps, grid: cut(maps, grid) / cut(maps, grid).amax(dim=(1, 2), keepdim=True),
            ),
        ],
    )
