"""Exercise maps.rollout: rollout with the head maximum, to be debugged."""

import torch

from vit_course.checks.tools.mistakes import Known, Slip, wrong_functions
from vit_course.checks.tools.no_gradient import same_without_gradient


def rollout(answer, draw):
    """`answer(maps)`: (L, h, T, T), the maps of one image -> (T, T)."""
    # Few layers: behind many, all rows are nearly alike, whatever a single one was.
    draws = [(uneven_maps(draw, layers, *draw.sizes(2, 5, 9)),) for layers in (2, 4, 3)]
    same_without_gradient(answer, flow, draws, "(T, T)", wrong_functions(MISTAKES, flow, pairs=1), errors=ERRORS)


def uneven_maps(draw, *shape: int) -> torch.Tensor:
    """Attention weights (*shape, last of shape), uneven enough that no mistake hides in the rounding."""
    return (2 * draw.normal(*shape, shape[-1])).softmax(dim=-1)


def by_row_sums(matrix: torch.Tensor) -> torch.Tensor:
    """(T, T) -> (T, T), rows that sum to 1."""
    return matrix / matrix.sum(dim=-1, keepdim=True)


def flow(
    maps,
    divide=by_row_sums,
    later_first=True,
    fuse=torch.amax,
    identity=1.0,
    layers=lambda maps: maps,
    end=lambda total: total,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    total = eye = torch.eye(maps.shape[-1])  # (T, T)
    for heads in layers(maps):
        matrix = divide(fuse(heads, dim=0) + identity * eye)  # (T, T)
        total = matrix @ total if later_first else total @ matrix
    return end(total)


def _by_wrong_sums(matrix):
    return matrix / matrix.sum(dim=-1)


def _by_column_sums(matrix):
    return matrix / matrix.sum(dim=-2, keepdim=True)


def _each_layer(maps):
    return torch.stack([flow(layer[None]) for layer in maps])  # (L, T, T)


ERRORS = [
    Known(
        "TypeError: .*tuple",
        "maximum-with-its-places",
        (
            "There is a pair where a tensor is needed: `max` along an axis, for example, gives the largest values "
            "and their places."
        ),
    ),
]

MISTAKES = {
    "result": [
        Slip(
            "both-bugs",
            "Two things are wrong: what the rows are divided by, and the order of the product.",
            lambda maps: flow(maps, divide=_by_wrong_sums, later_first=False),
        ),
        Slip(
            "product-reversed-and-columns",
            "The product runs in the wrong direction, and the columns of each matrix sum to 1 instead of the rows.",
            lambda maps: flow(maps, divide=_by_column_sums, later_first=False),
        ),
    ],
    "divide": [
        Slip(
            "columns-divided", "Column j is divided by the sum of row j, so the rows do not sum to 1.", _by_wrong_sums
        ),
        Slip(
            "divided-by-column-sums",
            "The matrices are divided so that their columns sum to 1, not their rows.",
            _by_column_sums,
        ),
        Slip(
            "rows-not-divided",
            "The matrices are multiplied as they are, so the numbers grow from layer to layer.",
            lambda matrix: matrix,
        ),
        Slip(
            "halved-only",
            "Each matrix is divided by 2, which makes rows sum to 1 only if the rows of the summary over heads do.",
            lambda matrix: matrix / 2,
        ),
        Slip(
            "maximum-halved-with-residual-of-one",
            "Half of the attention and the whole residual are added, so the rows do not sum to 1.",
            lambda matrix: 0.5 * matrix + 0.5 * torch.eye(len(matrix)),
        ),
        Slip(
            "divided-by-the-total",
            "Each matrix is divided by the sum of all its entries, so only all rows together sum to 1.",
            lambda matrix: matrix / matrix.sum(),
        ),
        Slip(
            "divided-by-the-largest",
            "Each row is divided by its largest entry, not by its sum.",
            lambda matrix: matrix / matrix.amax(dim=-1, keepdim=True),
        ),
        Slip(
            "softmax-of-rows",
            "A softmax also makes the rows sum to 1, but it changes the shares.",
            lambda matrix: matrix.softmax(dim=-1),
        ),
    ],
    "later_first": [
        Slip(
            "product-reversed",
            "The product runs in the wrong direction: the last layer is applied to the image first.",
            False,
        ),
    ],
    "fuse": [
        Slip("head-mean", "The heads are averaged, which is not the summary that the exercise asks for.", torch.mean),
        Slip("heads-summed", "The heads are added up, which is not the summary that the exercise asks for.", torch.sum),
        Slip("head-minimum", "The smallest weight over the heads is taken, not the largest.", torch.amin),
        Slip(
            "one-head",
            "Only one head is used; the others are ignored.",
            lambda heads, dim: heads[0],
            lambda heads, dim: heads[-1],
        ),
        Slip(
            "maximum-halved",
            "Only half of the maximum is combined with a whole residual.",
            lambda heads, dim: 0.5 * heads.amax(dim=0),
        ),
    ],
    "identity": [
        Slip("no-residual", "No token keeps a part of itself: the residual is missing.", 0.0),
        Slip("residual-halved", "Only half of the identity is added.", 0.5),
    ],
    "layers": [
        Slip("first-layer-left-out", "The first layer is missing from the product.", lambda maps: maps[1:]),
        Slip("last-layer-left-out", "The last layer is missing from the product.", lambda maps: maps[:-1]),
        Slip("last-layer-twice", "The last layer is used twice.", lambda maps: torch.cat([maps, maps[-1:]])),
        Slip("last-layer-only", "This is only the matrix of the last layer.", lambda maps: maps[-1:]),
    ],
    "end": [
        Slip(
            "result-transposed",
            "The result is transposed: its columns, not its rows, say what one token has of the others.",
            lambda total: total.T,
        ),
        Slip(
            "class-row-only",
            "This is only the row of the class token; the exercise asks for the rows of all tokens.",
            lambda total: total[0],
            lambda total: total[0, 1:],
        ),
    ],
    "result-2": [
        Slip(
            "last-layer-only",
            "This is only the last layer's summary over heads, without the residual.",
            lambda maps: maps[-1].amax(dim=0),
        ),
        Slip(
            "residual-after-division",
            "The residual is added after the division, so the rows sum to 2.",
            lambda maps: flow(maps, identity=0.0, divide=lambda m: by_row_sums(m) + torch.eye(len(m))),
        ),
        Slip(
            "halves-of-divided",
            "The attention was divided before the residual was added, which changes the share of the residual.",
            lambda maps: flow(maps, identity=0.0, divide=lambda m: (by_row_sums(m) + torch.eye(len(m))) / 2),
        ),
        Slip(
            "residual-at-the-end",
            "The identity is added only once, to the product; each layer should have its own residual.",
            lambda maps: flow(maps, identity=0.0) + torch.eye(maps.shape[-1]),
        ),
        Slip(
            "divided-at-the-end",
            "Only the product is divided, so layers with large weights count more.",
            lambda maps: by_row_sums(flow(maps, divide=lambda matrix: matrix)),
        ),
        Slip(
            "layers-averaged",
            "The layers are averaged, so nothing is followed from one to the next.",
            lambda maps: _each_layer(maps).mean(dim=0),
        ),
        Slip(
            "entry-by-entry",
            "The matrices are multiplied entry by entry, so paths through other tokens are not counted.",
            lambda maps: _each_layer(maps).prod(dim=0),
            lambda maps: _each_layer(maps).prod(dim=0) * torch.eye(maps.shape[-1]),
        ),
        Slip(
            "layers-kept",
            "The product after each layer is kept; the exercise asks for the last of them.",
            lambda maps: torch.stack([flow(maps[: end + 1]) for end in range(len(maps))]),
        ),
        Slip(
            "layers-taken-for-heads",
            "The axes of layers and heads are swapped.",
            lambda maps: flow(maps.transpose(0, 1)),
        ),
    ],
}
