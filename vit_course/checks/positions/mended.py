"""Exercise positions.mended: the input of the encoder, to be debugged."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("Debug: the input of the encoder", section="Build it: a learned table", difficulty=2, minutes=8)
def mended(answer, draw):
    """`answer(patch_tokens, class_token, table)`: (B, N, D), (1, 1, D), (1, N+1, D) -> (B, T, D)."""
    draws = []
    for batch, patches, width in (draw.sizes(3), draw.sizes(3)):
        draws.append((draw.normal(batch, patches, width), draw.normal(1, 1, width), draw.normal(1, patches + 1, width)))

    def joined(patches, token):
        return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)

    def right(patches, token, table):
        return joined(patches, token) + table

    def first_rows(patches, token, table):
        return joined(patches + table[:, :-1], token)

    def without_row(patches, token, table):
        return joined(patches + table[:, 1:], token)

    last = "The class token stands behind the patches."
    same_function(
        answer,
        right,
        draws,
        axes="(B, T, D)",
        mistakes=[
            Mistake(
                "still-faulty",
                "Both faults are still there: this gives what the faulty version gives.",
                first_rows,
            ),
            Mistake(
                "class-token-without-row",
                "The patches are right, but the class token goes in as it is: its row of the table is not used.",
                without_row,
            ),
            Mistake(
                "rows-shifted",
                "The class token is right, but every patch gets the row of the token before it.",
                lambda patches, token, table: joined(patches + table[:, :-1], token + table[:, :1]),
            ),
            Mistake(
                "class-row-last",
                "The class token gets the last row of the table, and every patch the row of the token before it.",
                lambda patches, token, table: joined(patches, token) + table.roll(1, dims=1),
            ),
            Mistake(
                "class-token-last",
                last,
                lambda patches, token, table: joined(patches, token).roll(-1, dims=1) + table,
            ),
            *(
                Mistake("class-token-last", last, lambda *parts, wrong=wrong: wrong(*parts).roll(-1, dims=1))
                for wrong in (right, first_rows, without_row)
            ),
            Mistake(
                "patches-without-rows",
                "Only the class token gets its row of the table; the patches go in as they are.",
                lambda patches, token, table: joined(patches, token + table[:, :1]),
            ),
            Mistake(
                "no-positions",
                "The table is not used at all.",
                lambda patches, token, table: joined(patches, token),
            ),
            Mistake(
                "no-class-token",
                "The class token is not among the tokens.",
                lambda patches, token, table: patches + table[:, 1:],
            ),
            Mistake(
                "class-row-for-all",
                "Every token gets row 0 of the table.",
                lambda patches, token, table: joined(patches, token) + table[:, :1],
            ),
            Mistake(
                "multiplied",
                "The tokens are multiplied by the table.",
                lambda patches, token, table: joined(patches, token) * table,
            ),
            Mistake(
                "rows-added-twice",
                "The patches get their rows of the table twice.",
                lambda patches, token, table: joined(patches + table[:, 1:], token) + table,
            ),
            Mistake(
                "table-before-class-token",
                "The whole table is added while the class token is not there yet, so it has a row too many.",
                lambda patches, token, table: joined(patches + table, token),
            ),
            Mistake(
                "one-class-token-for-the-batch",
                "The class token is joined as a batch of one image to a batch of several.",
                lambda patches, token, table: torch.cat([token, patches], dim=1) + table,
            ),
        ],
    )
