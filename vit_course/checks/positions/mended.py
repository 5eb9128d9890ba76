"""Exercise positions.mended: the input of the encoder, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Slip, wrong_functions


def mended(answer, draw):
    """`answer(patch_tokens, class_token, table)`: (B, N, D), (1, 1, D), (1, N+1, D) -> (B, T, D)."""
    draws = []
    # Of the last two, one holds a single patch and one a single image with one number a token.
    for batch, patches, width in (draw.sizes(3), draw.sizes(3), (3, 1, 5), (1, 4, 1)):
        draws.append((draw.normal(batch, patches, width), draw.normal(1, 1, width), draw.normal(1, patches + 1, width)))
    same_function(answer, _right, draws, wrong_functions(MISTAKES), axes="(B, T, D)")


def _joined(patches, token):
    return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)


def _right(patch_tokens, class_token, table):
    return _joined(patch_tokens, class_token) + table


def _first_rows(patches, token, table):
    return _joined(patches + table[:, :-1], token)


def _without_row(patches, token, table):
    return _joined(patches + table[:, 1:], token)


MISTAKES = [
    Slip(
        "still-faulty",
        "Both bugs are still there: this gives the same output as the faulty version.",
        lambda patches, token, table: _first_rows(patches, token, table),
    ),
    Slip(
        "class-token-without-row",
        "The patches are correct, but the class token is used as it is: its row of the table is not added.",
        lambda patches, token, table: _without_row(patches, token, table),
    ),
    Slip(
        "rows-shifted",
        "The class token is correct, but every patch gets the row of the token before it.",
        lambda patches, token, table: _joined(patches + table[:, :-1], token + table[:, :1]),
    ),
    Slip(
        "class-row-last",
        "The class token gets the last row of the table, and every patch the row of the token before it.",
        lambda patches, token, table: _joined(patches, token) + table.roll(1, dims=1),
    ),
    Slip(
        "class-token-with-last-row",
        "The patches are correct, but the class token gets the last row of the table.",
        lambda patches, token, table: _joined(patches + table[:, 1:], token + table[:, -1:]),
    ),
    Slip(
        "rows-backwards",
        "The rows of the table are used from the last to the first.",
        lambda patches, token, table: _joined(patches, token) + table.flip(1),
    ),
    Slip(
        "class-token-last",
        "The class token comes after the patches.",
        lambda patches, token, table: _joined(patches, token).roll(-1, dims=1) + table,
        lambda patches, token, table: _right(patches, token, table).roll(-1, dims=1),
        lambda patches, token, table: _first_rows(patches, token, table).roll(-1, dims=1),
        lambda patches, token, table: _without_row(patches, token, table).roll(-1, dims=1),
    ),
    Slip(
        "patches-without-rows",
        "Only the class token gets its row of the table; the patches are used as they are.",
        lambda patches, token, table: _joined(patches, token + table[:, :1]),
    ),
    Slip("no-positions", "The table is not used at all.", lambda patches, token, table: _joined(patches, token)),
    Slip(
        "no-class-token",
        "The class token is not among the tokens.",
        lambda patches, token, table: patches + table[:, 1:],
        lambda patches, token, table: patches + table[:, :-1],
    ),
    Slip(
        "class-token-ignored",
        "The first token is not made from the given class token.",
        lambda patches, token, table: _right(patches, torch.zeros_like(token), table),
        lambda patches, token, table: torch.cat([patches.mean(1, keepdim=True), patches], dim=1) + table,
        lambda patches, token, table: torch.cat([patches[:, :1], patches], dim=1) + table,
    ),
    Slip(
        "class-token-added-to-patches",
        "The class token is added to every patch instead of being a separate token.",
        lambda patches, token, table: patches + token + table[:, 1:],
        lambda patches, token, table: patches + token + table[:, :-1],
    ),
    Slip(
        "class-row-for-all",
        "Every token gets row 0 of the table.",
        lambda patches, token, table: _joined(patches, token) + table[:, :1],
    ),
    Slip(
        "multiplied",
        "The tokens are multiplied by the table.",
        lambda patches, token, table: _joined(patches, token) * table,
    ),
    Slip(
        "subtracted",
        "The table is subtracted from the tokens.",
        lambda patches, token, table: _joined(patches, token) - table,
    ),
    Slip(
        "rows-added-twice",
        "The patches get their rows of the table twice.",
        lambda patches, token, table: _joined(patches + table[:, 1:], token) + table,
    ),
    Slip(
        "rows-added-twice",
        "Every token gets its row of the table twice.",
        lambda patches, token, table: _joined(patches, token) + 2 * table,
    ),
    Slip(
        "first-fault-kept",
        ("The table is added to the patches twice: once shifted by one, as in the faulty version, and once correctly."),
        lambda patches, token, table: _first_rows(patches, token, table) + table,
    ),
    Slip(
        "table-appended",
        "The table is appended to the tokens, which become twice as long; Eq. 1 adds it.",
        lambda patches, token, table: torch.cat([_joined(patches, token), table.expand(len(patches), -1, -1)], dim=2),
    ),
    Slip(
        "one-class-token-for-the-batch",
        "The class token is joined as a batch of one image to a batch of several.",
        lambda patches, token, table: torch.cat([token, patches], dim=1) + table,
    ),
    Slip(
        "joined-along-another-axis",
        "The class token is joined along the batch or the width, not along the tokens.",
        lambda patches, token, table: torch.cat([token, patches], dim=0) + table,
        lambda patches, token, table: torch.cat([token.expand(len(patches), -1, -1), patches], dim=0) + table,
        lambda patches, token, table: torch.cat([token.expand(*patches.shape[:2], -1), patches], dim=2),
        lambda patches, token, table: torch.cat([token.expand(len(patches), -1, -1), patches], dim=2),
        lambda patches, token, table: torch.cat([token.expand(len(patches), -1, -1), patches], dim=2) + table,
    ),
    Slip(
        "tokens-scaled",
        (
            "The tokens are multiplied by the square root of their width before the table is added, which Eq. "
            "1 does not do."
        ),
        lambda patches, token, table: _joined(patches, token) * patches.shape[2] ** 0.5 + table,
    ),
    Slip(
        "norm-added",
        "A LayerNorm follows, which Eq. 1 does not have.",
        lambda patches, token, table: F.layer_norm(_right(patches, token, table), (patches.shape[2],)),
    ),
]
