"""Exercise maps.rollout: rollout with the head maximum, to be debugged."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import uneven_maps
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("Rollout with the head maximum, debugged", section="Seventy-two maps into one", difficulty=2, minutes=10)
def rollout(answer, draw):
    """`answer(maps)`: (L, h, T, T), the maps of one image -> (T, T)."""
    draws = [(uneven_maps(draw, *draw.sizes(3)),) for _ in range(3)]

    def by_row_sums(matrix):
        return matrix / matrix.sum(dim=-1, keepdim=True)

    def by_wrong_sums(matrix):
        return matrix / matrix.sum(dim=-1)

    def flow(maps, fuse=torch.amax, identity=1.0, divide=by_row_sums, later_first=True):
        total = eye = torch.eye(maps.shape[-1])  # (T, T)
        for heads in maps:
            matrix = divide(fuse(heads, dim=0) + identity * eye)  # (T, T)
            total = matrix @ total if later_first else total @ matrix
        return total

    def times(maps, function):
        return function(torch.stack([flow(layer[None]) for layer in maps]))

    same_function(
        answer,
        flow,
        draws,
        axes="(T, T)",
        differentiable=False,
        mistakes=[
            Mistake(
                "both-bugs",
                "Two things are wrong: what the rows are divided by, and the order of the product.",
                lambda maps: flow(maps, divide=by_wrong_sums, later_first=False),
            ),
            Mistake(
                "columns-divided",
                "Column j is divided by the sum of row j, so the rows do not sum to 1.",
                lambda maps: flow(maps, divide=by_wrong_sums),
            ),
            Mistake(
                "divided-by-column-sums",
                "The matrices are divided so that their columns sum to 1, not their rows.",
                lambda maps: flow(maps, divide=lambda matrix: matrix / matrix.sum(dim=-2, keepdim=True)),
            ),
            Mistake(
                "product-reversed",
                "The product runs the other way: the last layer is applied to the image first.",
                lambda maps: flow(maps, later_first=False),
            ),
            Mistake(
                "product-reversed-and-columns",
                "The product runs the wrong way, and it is the columns of each matrix that sum to 1.",
                lambda maps: flow(maps, divide=lambda m: m / m.sum(dim=-2, keepdim=True), later_first=False),
            ),
            Mistake(
                "head-mean",
                "The heads are averaged, which is another summary than the one asked for.",
                lambda maps: flow(maps, fuse=torch.mean),
            ),
            Mistake(
                "heads-summed",
                "The heads are added up, which is another summary than the one asked for.",
                lambda maps: flow(maps, fuse=torch.sum),
            ),
            Mistake(
                "no-residual",
                "No token keeps a part of itself: the residual is missing.",
                lambda maps: flow(maps, identity=0.0),
            ),
            Mistake(
                "rows-not-divided",
                "The matrices are multiplied as they are, and the numbers grow from layer to layer.",
                lambda maps: flow(maps, divide=lambda matrix: matrix),
            ),
            Mistake(
                "halved-only",
                "Each matrix is halved, which makes rows sum to 1 only where the heads' rows do.",
                lambda maps: flow(maps, divide=lambda matrix: matrix / 2),
            ),
            Mistake(
                "maximum-halved-with-residual-of-one",
                "Half of the attention and the whole of the residual are added, so the rows do not sum to 1.",
                lambda maps: flow(maps, divide=lambda matrix: 0.5 * matrix + 0.5 * torch.eye(len(matrix))),
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
                "divided-at-the-end",
                "Only the product is divided; before it, layers whose weights are large count for more.",
                lambda maps: by_row_sums(flow(maps, divide=lambda matrix: matrix)),
            ),
            Mistake(
                "last-layer-only",
                "This is the last layer's matrix alone.",
                lambda maps: times(maps, lambda matrices: matrices[-1]),
            ),
            Mistake(
                "layers-averaged",
                "The layers are averaged, so nothing is followed from one to the next.",
                lambda maps: times(maps, lambda matrices: matrices.mean(dim=0)),
            ),
            Mistake(
                "entry-by-entry",
                "The matrices are multiplied entry by entry, so no path over another token is counted.",
                lambda maps: times(maps, lambda matrices: matrices.prod(dim=0)),
            ),
        ],
    )
