"""Exercise maps.rollout: rollout with the head maximum, to be debugged."""

import torch

from vit_course.checks.tools.mistakes import Mistake, bugs_left
from vit_course.checks.tools.no_gradient import same_without_gradient


def rollout(answer, draw):
    """`answer(maps)`: (L, h, T, T), the maps of one image -> (T, T)."""
    # Few layers: behind many, all rows are nearly alike, whatever a single one was.
    draws = [(uneven_maps(draw, layers, *draw.sizes(2, 5, 9)),) for layers in (2, 4, 3)]
    same_without_gradient(answer, flow, draws, "(T, T)", MISTAKES)


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


def _each_layer(maps):
    return torch.stack([flow(layer[None]) for layer in maps])  # (L, T, T)


MISTAKES = [
    *bugs_left(
        Mistake(
            "columns-divided",
            "Column j is divided by the sum of row j, so the rows do not sum to 1.",
            {"divide": lambda matrix: matrix / matrix.sum(dim=-1)},
        ),
        Mistake(
            "product-reversed",
            "The product runs in the wrong direction: the last layer is applied to the image first.",
            {"later_first": False},
        ),
    ),
    Mistake(
        "product-reversed-and-head-mean",
        (
            "Two things are wrong. The product runs in the wrong direction: the last layer is applied to the image "
            "first. The heads are averaged, which is not the summary that the exercise asks for."
        ),
        {"later_first": False, "fuse": torch.mean},
    ),
    Mistake(
        "divided-by-column-sums",
        "The matrices are divided so that their columns sum to 1, not their rows.",
        {"divide": lambda matrix: matrix / matrix.sum(dim=-2, keepdim=True)},
    ),
    Mistake(
        "rows-not-divided",
        "The matrices are multiplied as they are, so the numbers grow from layer to layer.",
        {"divide": lambda matrix: matrix},
    ),
    Mistake(
        "halved-only",
        "Each matrix is divided by 2, which makes rows sum to 1 only if the rows of the summary over heads do.",
        {"divide": lambda matrix: matrix / 2},
    ),
    Mistake(
        "divided-by-the-total",
        "Each matrix is divided by the sum of all its entries, so only all rows together sum to 1.",
        {"divide": lambda matrix: matrix / matrix.sum()},
    ),
    Mistake(
        "divided-by-the-largest",
        "Each row is divided by its largest entry, not by its sum.",
        {"divide": lambda matrix: matrix / matrix.amax(dim=-1, keepdim=True)},
    ),
    Mistake(
        "softmax-of-rows",
        "A softmax also makes the rows sum to 1, but it changes the shares.",
        {"divide": lambda matrix: matrix.softmax(dim=-1)},
    ),
    Mistake(
        "head-mean",
        "The heads are averaged, which is not the summary that the exercise asks for.",
        {"fuse": torch.mean},
    ),
    Mistake(
        "heads-summed",
        "The heads are added up, which is not the summary that the exercise asks for.",
        {"fuse": torch.sum},
    ),
    Mistake("head-minimum", "The smallest weight over the heads is taken, not the largest.", {"fuse": torch.amin}),
    Mistake(
        "one-head",
        "Only one head is used; the others are ignored.",
        {"fuse": lambda heads, dim: heads[0]},
        {"fuse": lambda heads, dim: heads[-1]},
    ),
    Mistake(
        "maximum-halved",
        "Only half of the maximum is combined with a whole residual.",
        {"fuse": lambda heads, dim: 0.5 * heads.amax(dim=0)},
    ),
    Mistake("no-residual", "No token keeps a part of itself: the residual is missing.", {"identity": 0.0}),
    Mistake("residual-halved", "Only half of the identity is added.", {"identity": 0.5}),
    Mistake("first-layer-left-out", "The first layer is missing from the product.", {"layers": lambda maps: maps[1:]}),
    Mistake("last-layer-left-out", "The last layer is missing from the product.", {"layers": lambda maps: maps[:-1]}),
    Mistake("last-layer-only", "This is only the matrix of the last layer.", {"layers": lambda maps: maps[-1:]}),
    Mistake(
        "result-transposed",
        "The result is transposed: its columns, not its rows, say what one token has of the others.",
        {"end": lambda total: total.T},
    ),
    Mistake(
        "class-row-only",
        "This is only the row of the class token; the exercise asks for the rows of all tokens.",
        {"end": lambda total: total[0]},
        {"end": lambda total: total[0, 1:]},
    ),
    Mistake(
        "last-layer-only",
        "This is only the last layer's summary over heads, without the residual.",
        lambda maps: maps[-1].amax(dim=0),
    ),
    Mistake(
        "residual-after-division",
        "The residual is added after the division, so the rows sum to 2.",
        lambda maps: flow(maps, identity=0.0, divide=lambda m: by_row_sums(m) + torch.eye(len(m))),
    ),
    Mistake(
        "halves-of-divided",
        "The attention was divided before the residual was added, which changes the share of the residual.",
        lambda maps: flow(maps, identity=0.0, divide=lambda m: (by_row_sums(m) + torch.eye(len(m))) / 2),
    ),
    Mistake(
        "divided-at-the-end",
        "Only the product is divided, so layers with large weights count more.",
        lambda maps: by_row_sums(flow(maps, divide=lambda matrix: matrix)),
    ),
    Mistake(
        "layers-averaged",
        "The layers are averaged, so nothing is followed from one to the next.",
        lambda maps: _each_layer(maps).mean(dim=0),
    ),
    Mistake(
        "entry-by-entry",
        "The matrices are multiplied entry by entry, so paths through other tokens are not counted.",
        lambda maps: _each_layer(maps).prod(dim=0),
        lambda maps: _each_layer(maps).prod(dim=0) * torch.eye(maps.shape[-1]),
    ),
    Mistake(
        "layers-taken-for-heads",
        "The axes of layers and heads are swapped.",
        lambda maps: flow(maps.transpose(0, 1)),
    ),
]
