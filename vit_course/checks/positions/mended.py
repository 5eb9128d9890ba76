"""Exercise positions.mended: the input of the encoder, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.usual import right_in_part, usual_slips


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
    mistakes = [*_MISTAKES, *usual_slips(answer, _right, draws), patches_right]
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


_MISTAKES = [
    Mistake(
        "table-joined",
        "The rows of the table are put behind the tokens as further tokens, where each is added to one of them.",
        lambda patches, token, table: torch.cat([_joined(patches, token), table.expand(len(patches), -1, -1)], dim=1),
    ),
    Mistake("still-faulty", "Both faults are still there: this gives what the faulty version gives.", _first_rows),
    Mistake(
        "class-token-without-row",
        "The patches are right, but the class token goes in as it is: its row of the table is not used.",
        _without_row,
    ),
    Mistake(
        "rows-shifted",
        "The class token is right, but every patch gets the row of the token before it.",
        lambda patches, token, table: _joined(patches + table[:, :-1], token + table[:, :1]),
    ),
    Mistake(
        "class-row-last",
        "The class token gets the last row of the table, and every patch the row of the token before it.",
        lambda patches, token, table: _joined(patches, token) + table.roll(1, dims=1),
    ),
    Mistake(
        "class-token-with-last-row",
        "The patches are right, but the class token gets the last row of the table.",
        lambda patches, token, table: _joined(patches + table[:, 1:], token + table[:, -1:]),
    ),
    Mistake(
        "rows-rolled",
        "Every token gets the row of the token behind it, and the last one gets row 0.",
        lambda patches, token, table: _joined(patches, token) + table.roll(-1, dims=1),
    ),
    Mistake(
        "rows-backwards",
        "The rows of the table are used from the last to the first.",
        lambda patches, token, table: _joined(patches, token) + table.flip(1),
    ),
    *one_mistake(
        "class-token-last",
        "The class token stands behind the patches.",
        lambda patches, token, table: _joined(patches, token).roll(-1, dims=1) + table,
        *map(_at_the_end, (_right, _first_rows, _without_row)),
    ),
    Mistake(
        "patches-without-rows",
        "Only the class token gets its row of the table; the patches go in as they are.",
        lambda patches, token, table: _joined(patches, token + table[:, :1]),
    ),
    Mistake("no-positions", "The table is not used at all.", lambda patches, token, table: _joined(patches, token)),
    *one_mistake(
        "no-class-token",
        "The class token is not among the tokens.",
        lambda patches, token, table: patches + table[:, 1:],
        lambda patches, token, table: patches + table[:, :-1],
    ),
    *one_mistake(
        "class-token-ignored",
        "The first token is not made of the class token that is given.",
        lambda patches, token, table: _right(patches, torch.zeros_like(token), table),
        lambda patches, token, table: torch.cat([patches.mean(1, keepdim=True), patches], dim=1) + table,
        lambda patches, token, table: torch.cat([patches[:, :1], patches], dim=1) + table,
    ),
    *one_mistake(
        "class-token-added-to-patches",
        "The class token is added to every patch, and is not a token of its own.",
        lambda patches, token, table: patches + token + table[:, 1:],
        lambda patches, token, table: patches + token + table[:, :-1],
    ),
    Mistake(
        "first-patch-replaced",
        "The class token has taken the place of the first patch.",
        lambda patches, token, table: _joined(patches[:, 1:], token) + table[:, :-1],
    ),
    Mistake(
        "two-class-tokens",
        "The class token stands there twice.",
        lambda patches, token, table: _joined(_joined(patches, token), token),
    ),
    *one_mistake(
        "only-the-table",
        "Only the table comes back, without the tokens.",
        lambda patches, token, table: table,
        lambda patches, token, table: table.expand(len(patches), -1, -1),
    ),
    *one_mistake(
        "class-row-for-all",
        "Every token gets row 0 of the table.",
        lambda patches, token, table: _joined(patches, token) + table[:, :1],
    ),
    Mistake(
        "mean-row-for-all",
        "Every token gets the mean of the rows, so places are not told apart.",
        lambda patches, token, table: _joined(patches, token) + table.mean(dim=1, keepdim=True),
    ),
    Mistake(
        "multiplied",
        "The tokens are multiplied by the table.",
        lambda patches, token, table: _joined(patches, token) * table,
    ),
    Mistake(
        "subtracted",
        "The table is subtracted from the tokens.",
        lambda patches, token, table: _joined(patches, token) - table,
    ),
    Mistake(
        "rows-added-twice",
        "The patches get their rows of the table twice.",
        lambda patches, token, table: _joined(patches + table[:, 1:], token) + table,
    ),
    Mistake(
        "rows-added-twice",
        "Every token gets its row of the table twice.",
        lambda patches, token, table: _joined(patches, token) + 2 * table,
    ),
    Mistake(
        "first-fault-kept",
        "The table is added twice to the patches: once shifted by one, as in the faulty version, and once right.",
        lambda patches, token, table: _first_rows(patches, token, table) + table,
    ),
    Mistake(
        "table-before-class-token",
        "The whole table is added while the class token is not there yet, so it has a row too many.",
        lambda patches, token, table: _joined(patches + table, token),
    ),
    Mistake(
        "table-appended",
        "The table lies beside the tokens, which are twice as long; it is added in Eq. 1.",
        lambda patches, token, table: torch.cat([_joined(patches, token), table.expand(len(patches), -1, -1)], dim=2),
    ),
    *one_mistake(
        "one-class-token-for-the-batch",
        "The class token is joined as a batch of one image to a batch of several.",
        lambda patches, token, table: torch.cat([token, patches], dim=1) + table,
    ),
    *one_mistake(
        "joined-along-another-axis",
        "The class token is joined along the batch or the width, and not along the tokens.",
        lambda patches, token, table: torch.cat([token, patches], dim=0) + table,
        lambda patches, token, table: torch.cat([token.expand(len(patches), -1, -1), patches], dim=0) + table,
        lambda patches, token, table: torch.cat([token.expand(*patches.shape[:2], -1), patches], dim=2),
        lambda patches, token, table: torch.cat([token.expand(len(patches), -1, -1), patches], dim=2),
        lambda patches, token, table: torch.cat([token.expand(len(patches), -1, -1), patches], dim=2) + table,
    ),
    *one_mistake(
        "tokens-scaled",
        "The tokens are multiplied by the root of their width before the table is added, which Eq. 1 does not do.",
        lambda patches, token, table: _joined(patches, token) * patches.shape[2] ** 0.5 + table,
    ),
    *one_mistake(
        "norm-added",
        "A LayerNorm follows, which Eq. 1 does not have.",
        lambda patches, token, table: F.layer_norm(_right(patches, token, table), (patches.shape[2],)),
    ),
]
