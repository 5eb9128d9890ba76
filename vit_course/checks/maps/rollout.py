"""Exercise maps.rollout: rollout with the head maximum, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import uneven_maps
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details, slips


@exercise(
    "8.3", "Rollout with the head maximum, debugged", section="Seventy-two maps into one", difficulty=2, minutes=10
)
def rollout(answer, draw):
    """`answer(maps)`: (L, h, T, T), the maps of one image -> (T, T)."""
    # Few layers: behind many, all rows are nearly alike, whatever a single one was.
    draws = [(uneven_maps(draw, layers, *draw.sizes(2, 5, 9)),) for layers in (2, 4, 3)]
    with named_by_details(
        Known(
            r"tuple.*\.max\(",
            "maximum-with-its-places",
            "`max` along an axis gives two tensors, the largest values and their places; the values are meant.",
        )
    ):
        same_function(any_precision(answer), flow, draws, _MISTAKES, axes="(T, T)", differentiable=False)


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
    end=lambda total, maps: total,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    total = eye = torch.eye(maps.shape[-1])  # (T, T)
    for heads in layers(maps):
        matrix = divide(fuse(heads, dim=0) + identity * eye)  # (T, T)
        total = matrix @ total if later_first else total @ matrix
    return end(total, maps)


def _by_wrong_sums(matrix):
    return matrix / matrix.sum(dim=-1)


def _by_column_sums(matrix):
    return matrix / matrix.sum(dim=-2, keepdim=True)


def _matrices(function):
    return lambda maps: function(torch.stack([flow(layer[None]) for layer in maps]))


def _added_to_the_flow(maps):
    total = eye = torch.eye(maps.shape[-1])  # (T, T)
    for heads in maps:
        total = total + by_row_sums(heads.amax(dim=0) + eye) @ total
    return total


def _step_by_step(step):
    def by_steps(maps):
        total = torch.eye(maps.shape[-1])  # (T, T)
        for heads in maps:
            total = step(heads.amax(dim=0), total)
        return total

    return by_steps


def _divided_after(largest, total):
    matrix = largest + torch.eye(len(largest))
    return total @ matrix / matrix.sum(dim=-1, keepdim=True)


_HALVED = "Each matrix is divided by 2, which makes rows sum to 1 only where the rows of the summary over heads do."
_MISTAKES = [
    Mistake(
        "both-bugs",
        "Two things are wrong: what the rows are divided by, and the order of the product.",
        lambda maps: flow(maps, divide=_by_wrong_sums, later_first=False),
    ),
    Mistake(
        "product-reversed-and-columns",
        "The product runs the wrong way, and it is the columns of each matrix that sum to 1.",
        lambda maps: flow(maps, divide=_by_column_sums, later_first=False),
    ),
    *slips(
        flow,
        {
            "divide": [
                (_by_wrong_sums, "columns-divided",
                 "Column j is divided by the sum of row j, so the rows do not sum to 1."),
                (_by_column_sums, "divided-by-column-sums",
                 "The matrices are divided so that their columns sum to 1, not their rows."),
                (lambda matrix: matrix, "rows-not-divided",
                 "The matrices are multiplied as they are, and the numbers grow from layer to layer."),
                (lambda matrix: matrix / 2, "halved-only", _HALVED),
                (lambda matrix: 0.5 * matrix + 0.5 * torch.eye(len(matrix)), "maximum-halved-with-residual-of-one",
                 "Half of the attention and the whole of the residual are added, so the rows do not sum to 1."),
                (lambda matrix: matrix / matrix.sum(), "divided-by-the-total",
                 "Each matrix is divided by the sum of all its entries, so that only all rows together sum to 1."),
                (lambda matrix: matrix / matrix.amax(dim=-1, keepdim=True), "divided-by-the-largest",
                 "Each row is divided by its largest entry, not by its sum."),
                (lambda matrix: matrix.softmax(dim=-1), "softmax-of-rows",
                 "A softmax makes rows that sum to 1 too, and not the shares that were there."),
                (lambda matrix: F.normalize(matrix, dim=-1), "divided-by-the-length",
                 "Each row is divided by its length, the root of the sum of squares, not by its sum."),
                (lambda matrix: matrix / (matrix.sum(dim=-1, keepdim=True) - 1), "residual-not-counted",
                 "The rows are divided by their sums from before the residual was added."),
            ],
            "later_first": [
                (False, "product-reversed",
                 "The product runs the other way: the last layer is applied to the image first."),
            ],
            "fuse": [
                (torch.mean, "head-mean", "The heads are averaged, which is another summary than the one asked for."),
                (torch.sum, "heads-summed",
                 "The heads are added up, which is another summary than the one asked for."),
                (torch.amin, "head-minimum", "The smallest weight over the heads is taken, not the largest."),
                (lambda heads, dim: heads[0], "one-head", "One head is used, the others have no part in it."),
                (lambda heads, dim: heads[-1], "one-head", "One head is used, the others have no part in it."),
                (torch.prod, "heads-multiplied", "The heads are multiplied entry by entry."),
                (lambda heads, dim: heads.median(dim=0).values, "head-median",
                 "The median over the heads is taken, not the largest weight."),
                (lambda heads, dim: 0.5 * heads.amax(dim=0), "maximum-halved",
                 "Only half of the maximum is taken beside a whole residual."),
            ],
            "identity": [
                (0.0, "no-residual", "No token keeps a part of itself: the residual is missing."),
                (0.5, "residual-halved", "Only half of the identity is added."),
                (2.0, "residual-twice", "The identity is added twice."),
            ],
            "layers": [
                (lambda maps: maps[1:], "first-layer-left-out", "The first layer has no part in the product."),
                (lambda maps: maps[:-1], "last-layer-left-out", "The last layer has no part in the product."),
                (lambda maps: torch.cat([maps[:1], maps]), "first-layer-twice", "The first layer is there twice."),
                (lambda maps: torch.cat([maps, maps[-1:]]), "last-layer-twice", "The last layer is there twice."),
                (lambda maps: maps[-1:], "last-layer-only", "This is the last layer's matrix alone."),
                (lambda maps: maps[:1], "first-layer-only", "This is the first layer's matrix alone."),
            ],
            "end": [
                (lambda total, maps: total.T, "result-transposed",
                 "The result is transposed: its columns and not its rows say what one token has of the others."),
                (lambda total, maps: total[0], "class-row-only",
                 "This is the class token's row; the rows of all tokens are asked for."),
                (lambda total, maps: total[0, 1:], "class-row-only",
                 "This is the class token's row without its own entry; the rows of all tokens are asked for."),
            ],
        },
        likely=1,
    ),
    Mistake(
        "last-layer-twice",
        "The product begins with the last layer, which then comes once more.",
        lambda maps: flow(maps) @ flow(maps[-1:]),
    ),
    Mistake(
        "last-layer-only",
        "This is the last layer's summary over heads alone, without the residual.",
        lambda maps: maps[-1].amax(dim=0),
    ),
    Mistake(
        "residual-after-division",
        "The residual is added after the division, so the rows sum to 2.",
        lambda maps: flow(maps, identity=0.0, divide=lambda m: by_row_sums(m) + torch.eye(len(m))),
    ),
    Mistake(
        "halves-of-divided",
        "The attention was divided before the residual was added, which gives the residual another share.",
        lambda maps: flow(maps, identity=0.0, divide=lambda m: (by_row_sums(m) + torch.eye(len(m))) / 2),
    ),
    Mistake(
        "residual-at-the-end",
        "The identity is added once, to the product, where each layer has its own residual.",
        lambda maps: flow(maps, identity=0.0) + torch.eye(maps.shape[-1]),
    ),
    Mistake(
        "divided-at-the-end",
        "Only the product is divided; before it, layers whose weights are large count for more.",
        lambda maps: by_row_sums(flow(maps, divide=lambda matrix: matrix)),
    ),
    Mistake(
        "mean-and-halves",
        "This is the rollout of the chapter, with the mean over heads; here the maximum is asked for.",
        lambda maps: flow(maps, fuse=torch.mean, divide=lambda matrix: matrix / 2),
    ),
    Mistake(
        "added-to-the-flow",
        "Each layer's product is added to what was there, as in relevance: the residual counts twice.",
        _added_to_the_flow,
    ),
    Mistake(
        "flow-in-place-of-the-identity",
        "The identity was to be added, and what has come so far is added in its place; nothing is multiplied.",
        _step_by_step(lambda largest, total: by_row_sums(largest + total)),
    ),
    Mistake(
        "product-divided",
        "It is the product that is divided, by the row sums of its right factor, and not that factor alone.",
        _step_by_step(_divided_after),
    ),
    Mistake("entry-by-entry", "The matrices are multiplied entry by entry, so no path over another token is counted.",
            _step_by_step(lambda largest, total: by_row_sums(largest + torch.eye(len(total))) * total)),
    Mistake("layers-averaged", "The layers are averaged, so nothing is followed from one to the next.",
            _matrices(lambda matrices: matrices.mean(dim=0))),
    Mistake("layer-maximum", "The largest entry over the layers is taken, so nothing is followed from one to the next.",
            _matrices(lambda matrices: matrices.amax(dim=0))),
    Mistake("entry-by-entry", "The matrices are multiplied entry by entry, so no path over another token is counted.",
            _matrices(lambda matrices: matrices.prod(dim=0))),
    Mistake("layers-kept", "The product after each layer is kept; the last of them is asked for.",
            lambda maps: torch.stack([flow(maps[: end + 1]) for end in range(len(maps))])),
    Mistake("layers-taken-for-heads", "The axes of layers and heads have changed places.",
            lambda maps: flow(maps.transpose(0, 1))),
]  # fmt: skip
