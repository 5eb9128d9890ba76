"""Exercise positions.mended: the input of the encoder, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, bugs_left


def mended(answer, draw):
    """`answer(patch_tokens, class_token, table)`: (B, N, D), (1, 1, D), (1, N+1, D) -> (B, T, D)."""
    draws = []
    # Of the last two, one holds a single patch and one a single image with one number a token.
    for batch, patches, width in (draw.sizes(3), draw.sizes(3), (3, 1, 5), (1, 4, 1)):
        draws.append((draw.normal(batch, patches, width), draw.normal(1, 1, width), draw.normal(1, patches + 1, width)))
    same_function(answer, right, draws, MISTAKES, axes="(B, T, D)")


def right(
    patch_tokens,
    class_token,
    table,
    class_row=lambda table: table[:, :1],
    patch_rows=lambda table: table[:, 1:],
):
    """The right tokens (B, T, D), and with other rows of the table wrong ones."""
    return _join(patch_tokens + patch_rows(table), class_token + class_row(table))


def _join(patches, token):
    return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)


MISTAKES = [
    *bugs_left(
        Mistake(
            "class-token-without-row",
            "The patches are correct, but the class token is used as it is: its row of the table is not added.",
            {"class_row": lambda table: 0},
        ),
        Mistake(
            "rows-shifted",
            "The class token is correct, but every patch gets the row of the token before it.",
            {"patch_rows": lambda table: table[:, :-1]},
        ),
    ),
    Mistake(
        "class-row-last",
        "The class token gets the last row of the table, and every patch the row of the token before it.",
        lambda patches, token, table: right(patches, token, table.roll(1, dims=1)),
    ),
    Mistake(
        "rows-backwards",
        "The rows of the table are used from the last to the first.",
        lambda patches, token, table: right(patches, token, table.flip(1)),
    ),
    Mistake(
        "class-token-last",
        "The class token comes after the patches.",
        lambda patches, token, table: torch.cat([patches, token.expand(len(patches), -1, -1)], dim=1) + table,
        lambda patches, token, table: right(patches, token, table).roll(-1, dims=1),
    ),
    Mistake(
        "patches-without-rows",
        "Only the class token gets its row of the table; the patches are used as they are.",
        {"patch_rows": lambda table: 0},
    ),
    Mistake("no-positions", "The table is not used at all.", lambda patches, token, table: _join(patches, token)),
    Mistake(
        "no-class-token",
        "The class token is not among the tokens.",
        lambda patches, token, table: patches + table[:, 1:],
        lambda patches, token, table: patches + table[:, :-1],
    ),
    Mistake(
        "class-token-ignored",
        "The first token is not made from the given class token.",
        lambda patches, token, table: right(patches, torch.zeros_like(token), table),
    ),
    Mistake(
        "class-row-for-all",
        "Every token gets row 0 of the table.",
        {"patch_rows": lambda table: table[:, :1]},
    ),
    Mistake(
        "multiplied",
        "The tokens are multiplied by the table.",
        lambda patches, token, table: _join(patches, token) * table,
    ),
    Mistake(
        "subtracted",
        "The table is subtracted from the tokens.",
        lambda patches, token, table: _join(patches, token) - table,
    ),
    Mistake(
        "rows-added-twice",
        "The patches get their rows of the table twice.",
        {"patch_rows": lambda table: 2 * table[:, 1:]},
    ),
    Mistake(
        "rows-added-twice",
        "Every token gets its row of the table twice.",
        lambda patches, token, table: right(patches, token, 2 * table),
    ),
    Mistake(
        "table-appended",
        "The table is appended to the tokens, which become twice as long; Eq. 1 adds it.",
        lambda patches, token, table: torch.cat([_join(patches, token), table.expand(len(patches), -1, -1)], dim=2),
    ),
    Mistake(
        "one-class-token-for-the-batch",
        "The class token is joined as a batch of one image to a batch of several.",
        lambda patches, token, table: torch.cat([token, patches], dim=1) + table,
    ),
    Mistake(
        "tokens-scaled",
        "The tokens are multiplied by the square root of their width before the table is added, unlike in Eq. 1.",
        lambda patches, token, table: _join(patches, token) * patches.shape[2] ** 0.5 + table,
    ),
    Mistake(
        "norm-added",
        "A LayerNorm follows, which Eq. 1 does not have.",
        lambda patches, token, table: F.layer_norm(right(patches, token, table), (patches.shape[2],)),
    ),
]
