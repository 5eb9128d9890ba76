"""Exercise positions.mended: the input of the encoder, to be debugged."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table
from vit_course.checks.tools.usual import right_in_part


@exercise("3.3", "Debug: the input of the encoder", section="Build it: a learned table", difficulty=2, minutes=8)
def mended(answer, draw):
    """`answer(patch_tokens, class_token, table)`: (B, N, D), (1, 1, D), (1, N+1, D) -> (B, T, D)."""
    draws = []
    # Of the last two, one holds a single patch and one a single image with one number a token.
    for batch, patches, width in (draw.sizes(3), draw.sizes(3), (3, 1, 5), (1, 4, 1)):
        draws.append((draw.normal(batch, patches, width), draw.normal(1, 1, width), draw.normal(1, patches + 1, width)))
    patches_right = right_in_part(
        answer,
        _right,
        "class-token-alone-wrong",
        "The patches are right, and the class token is not.",
        lambda out, *_: out[:, 1:],
    )
    mistakes = [*table(__name__, "mistakes"), patches_right]
    same_function(answer, _right, draws, axes="(B, T, D)", mistakes=mistakes)


def _joined(patches, token):
    return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)


def _right(patch_tokens, class_token, table):
    return _joined(patch_tokens, class_token) + table


def _first_rows(patches, token, table):
    return _joined(patches + table[:, :-1], token)


def _without_row(patches, token, table):
    return _joined(patches + table[:, 1:], token)


def _at_the_end(function):
    return lambda *parts: function(*parts).roll(-1, dims=1)
