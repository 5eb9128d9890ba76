"""Exercise positions.mended: the input of the encoder, to be debugged."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table


def mended(answer, draw):
    """`answer(patch_tokens, class_token, table)`: (B, N, D), (1, 1, D), (1, N+1, D) -> (B, T, D)."""
    draws = []
    # Of the last two, one holds a single patch and one a single image with one number a token.
    for batch, patches, width in (draw.sizes(3), draw.sizes(3), (3, 1, 5), (1, 4, 1)):
        draws.append((draw.normal(batch, patches, width), draw.normal(1, 1, width), draw.normal(1, patches + 1, width)))
    same_function(answer, _right, draws, table(__name__, "mistakes"), axes="(B, T, D)")


def _joined(patches, token):
    return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)


def _right(patch_tokens, class_token, table):
    return _joined(patch_tokens, class_token) + table


def _first_rows(patches, token, table):
    return _joined(patches + table[:, :-1], token)


def _without_row(patches, token, table):
    return _joined(patches + table[:, 1:], token)
