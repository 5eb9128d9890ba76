"""Checks of chapter 03: position embeddings."""

from itertools import permutations

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import Mistake, agree, build, call, count, equal, same_answers, same_function, tensor
from vit_course.embeddings import interpolate_positions, sincos2d
from vit_course.encoder import Encoder


@exercise("Predict: what a shuffle leaves alone", difficulty=2, minutes=8)
def shuffle(answer, draw, parts):
    """`answer()` -> {"mean_without_table", "one_vector_for_all", "table_of_places", "rows_shuffled_too",
    "pixels_inside", "class_outputs"}: "same", "shuffled" or "different", the last one a number."""
    stays = ("outputs-stay-behind", "This would mean that an output stays in its row when its patch leaves it.")
    same_answers(
        call(answer),
        _experiment(draw),
        parts,
        mistakes={
            "mean_without_table": {
                "different": ("mean-sees-order", "This would mean that a sum depends on the order of what is added."),
                "shuffled": ("mean-has-no-rows", "A mean is one vector: it has no rows that could be shuffled."),
            },
            "one_vector_for_all": {
                "different": ("any-table-is-places", "This takes any table for places, whatever its rows say."),
                "same": stays,
            },
            "table_of_places": {
                "shuffled": ("rows-travel-along", "This would mean that a patch takes its row of the table with it."),
                "same": stays,
            },
            "rows_shuffled_too": {
                "different": (
                    "rows-known-by-number",
                    "This would mean that the encoder knows the number of a row, apart from the sum that stands in it.",
                ),
                "same": stays,
            },
            "pixels_inside": {
                "same": (
                    "pixels-as-a-set",
                    "This would mean that the patch embedding gives every pixel equal weights.",
                ),
                "shuffled": ("patches-moved", "This would mean that patches have moved; every patch kept its place."),
            },
            "class_outputs": {
                24: ("equal-rows-told-apart", "This counts orders that differ only where two rows are equal."),
                1: ("order-never-seen", "This would be the number without any table."),
                2: ("one-pair-only", "This looks at the two patches on the equal rows and leaves the others in place."),
                6: ("four-places-as-three", "This takes the two equal rows for one place; two patches stand on them."),
            },
        },
    )


def _experiment(draw) -> dict:
    # The predictions are not written down here: a small encoder with random weights gives them.
    patches, pixels, width = 4, 9, 16
    encoder = Encoder(num_layers=2, hidden_dim=width, num_heads=2, mlp_dim=2 * width).double().eval()
    with torch.no_grad():
        for weight in encoder.parameters():
            if weight.ndim == 2:
                weight.copy_(0.4 * draw.normal(*weight.shape, dtype=torch.float64))
    x, embedding, class_token, table, one = (
        draw.normal(1, *shape, dtype=torch.float64)
        for shape in ((patches, pixels), (pixels, width), (1, width), (patches, width), (1, width))
    )
    order = torch.arange(patches).roll(1)

    @torch.no_grad()
    def encode(x, rows):
        tokens = torch.cat([class_token.expand(len(x), -1, -1), x @ embedding + rows], dim=1)
        return encoder(tokens)  # (B, T, D)

    def verdict(before, after):
        if (after - before).abs().max() < 1e-8:
            return "same"
        return "shuffled" if (after - before[:, order]).abs().max() < 1e-8 else "different"

    def outputs(x, rows):
        return encode(x, rows)[:, 1:]

    plain = outputs(x, 0.0)
    two_alike = table.clone()
    two_alike[:, 1] = two_alike[:, 2]
    orders = torch.tensor(list(permutations(range(patches))))  # (24, N)
    of_class = encode(x[0][orders], two_alike)[:, 0]  # (24, D)
    alike = (of_class[:, None] - of_class).abs().amax(dim=-1) < 1e-8  # (24, 24)
    return {
        "mean_without_table": verdict(plain.mean(1, keepdim=True), outputs(x[:, order], 0.0).mean(1, keepdim=True)),
        "one_vector_for_all": verdict(outputs(x, one), outputs(x[:, order], one)),
        "table_of_places": verdict(outputs(x, table), outputs(x[:, order], table)),
        "rows_shuffled_too": verdict(outputs(x, table), outputs(x[:, order], table[:, order])),
        "pixels_inside": verdict(plain, outputs(x[:, :, draw.permutation(pixels)], 0.0)),
        "class_outputs": int((alike.tril(-1).sum(dim=1) == 0).sum()),  # those that are like none before them
    }


@exercise("A learned table as a module", difficulty=1, minutes=6)
def module(answer, draw):
    """`answer(num_tokens, hidden_dim)` -> a module (B, T, D) -> (B, T, D) that adds a learned table."""
    for _ in range(2):
        batch, tokens, hidden = sorted(draw.sizes(3, low=3))
        layer = build(answer, tokens, hidden).eval()
        _parameters(layer, tokens, hidden)
        with torch.no_grad():  # whatever the table starts from, also zeros
            for parameter in layer.parameters():
                parameter.copy_(draw.normal(*parameter.shape))
        x = draw.normal(batch, tokens, hidden)
        _shape_of_one(call(layer, x[:1].clone()), tokens, hidden)
        out = tensor(call(layer, x), x.shape, "(B, T, D)", "the output").detach()
        if not agree(call(layer, x), out):
            raise Wrong("random-result", "Called twice with the same input, also after eval(), the module differs.")
        _adds(layer, x, out)
        _learns(layer, x, draw.normal(*x.shape))


def _parameters(layer: nn.Module, tokens: int, hidden: int) -> None:
    found = count(layer)
    if found == tokens * hidden:
        return
    sizes = [
        f"Expected: {tokens * hidden} learned numbers at T = {tokens}, D = {hidden}",
        f"Received: {found}",
    ]
    known = {
        0: ("no-parameters", "The module has nothing to train: what it adds is no parameter."),
        1: ("one-number-in-all", "The module learns a single number."),
        hidden: ("one-vector-for-all", "There is one vector for all tokens, so it cannot say where a token belongs."),
        tokens: ("one-number-per-token", "There is one number for each token, where a token has D numbers."),
        (tokens - 1) * hidden: ("class-row-missing", "The table is one row short: T counts the class token already."),
        (tokens + 1) * hidden: (
            "one-vector-too-many",
            "There is one vector more than there are tokens; T counts the class token already.",
        ),
    }
    raise Wrong(*known.get(found, ("wrong-parameters", "The number of parameters is not that of the table.")), sizes)


def _shape_of_one(out, tokens: int, hidden: int) -> None:
    # One image tells most: a wrong axis of length T broadcasts against it.
    known = {
        (tokens, tokens, hidden): (
            "table-along-the-batch",
            "One image went in and several came out: the rows of the table lie along the batch.",
        ),
        (1, tokens, 2 * hidden): ("appended-to-width", "The vectors are appended to the tokens, which are wider now."),
        (1, 2 * tokens, hidden): ("appended-as-tokens", "The vectors are appended as further tokens."),
    }
    if isinstance(out, torch.Tensor) and tuple(out.shape) in known:
        details = [f"Expected: {(1, tokens, hidden)} (B, T, D)", f"Received: {tuple(out.shape)}"]
        raise Wrong(*known[tuple(out.shape)], details)
    tensor(out, (1, tokens, hidden), "(B, T, D)", "the output")


def _adds(layer: nn.Module, x: torch.Tensor, out: torch.Tensor) -> None:
    # The output for zeros is the table; for any other input the rest of the output must be that input.
    table, ones = (call(layer, make(x)).detach() for make in (torch.zeros_like, torch.ones_like))
    if agree(table, out):
        raise Wrong("tokens-lost", "Two different inputs give the same output: the tokens are not in it.")
    expected = x + table
    if agree(out, x * ones):
        equal(out, expected, "multiplied", "The tokens are multiplied by the table.", axes="(B, T, D)")
    factor = (out - table)[0, 0, 0] / x[0, 0, 0]
    if agree(out, factor * x + table):
        sentence = "The tokens are multiplied by a number before the table is added."
        equal(out, expected, "tokens-scaled", sentence, axes="(B, T, D)")
    sentence = "The module does not add the same numbers to every input: an input of zeros gets others."
    equal(out, expected, "wrong-behaviour", sentence, axes="(B, T, D)")
    if not agree(table, table[:1].expand_as(table).contiguous()):
        sentence = "The images of a batch get different vectors; tokens are meant to, not images."
        equal(table, table[:1].expand_as(table), "one-vector-per-image", sentence, "(B, T, D)", "what is added")
    table = table[0]
    if not table[0].any():
        raise Wrong("class-token-left-out", "Nothing is added to token 0, the class token.")
    if agree(table, table[:1].expand_as(table)):
        raise Wrong("one-vector-for-all", "All tokens get the same vector, so it cannot say where a token belongs.")


def _learns(layer: nn.Module, x: torch.Tensor, weights: torch.Tensor) -> None:
    x = x.clone().requires_grad_()
    out = call(layer, x)
    if out.requires_grad:
        (out * weights).sum().backward()
    if x.grad is None:
        raise Wrong("gradient-cut", "No gradient passes through the module to the tokens.")
    gradients = [parameter.grad for parameter in layer.parameters() if parameter.requires_grad]
    if any(gradient is None for gradient in gradients):
        raise Wrong("table-gets-no-gradient", "No gradient reaches the table, so it stays as it started.")
    if any((gradient == 0).any() for gradient in gradients):
        raise Wrong("unused-parameters", "Some numbers of the table have no part in the output.")


@exercise("The input of the encoder, mended", difficulty=2, minutes=8)
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


@exercise("A sine-cosine table for a grid", difficulty=3, minutes=15)
def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]

    def quarters(grid, width, **options):
        column, row = _angles(grid, width // 4, **options)
        return column.sin(), column.cos(), row.sin(), row.cos()

    def joined(grid, width, order=(0, 1, 2, 3), **options):
        parts = quarters(grid, width, **options)
        return torch.cat([parts[index] for index in order], dim=1)

    def interleaved(grid, width):
        a, b, c, d = quarters(grid, width)
        return torch.cat([torch.stack([a, b], dim=2).flatten(1), torch.stack([c, d], dim=2).flatten(1)], dim=1)

    def axes_added(grid, width):
        a, b, c, d = quarters(grid, 2 * width)
        return torch.cat([a, b], dim=1) + torch.cat([c, d], dim=1)

    same_function(
        answer,
        sincos2d,
        draws,
        axes="(N, D)",
        mistakes=[
            Mistake(
                "axes-exchanged",
                "The first half of the numbers goes by the row and the second half by the column.",
                lambda grid, width: joined(grid, width, order=(2, 3, 0, 1)),
            ),
            Mistake(
                "column-by-column",
                "The table runs down the columns of the grid; the patches run along its rows.",
                lambda grid, width: sincos2d(grid, width).unflatten(0, grid).transpose(0, 1).flatten(0, 1),
            ),
            Mistake(
                "broken-at-the-wrong-place",
                "A line of the grid ends after as many patches as the grid has rows.",
                lambda grid, width: joined(grid, width, line=grid[0]),
            ),
            Mistake(
                "cosine-first",
                "In each half the cosines come before the sines.",
                lambda grid, width: joined(grid, width, order=(1, 0, 3, 2)),
            ),
            Mistake(
                "all-sines-first",
                "All sines come before all cosines, so no half of the numbers belongs to one axis.",
                lambda grid, width: joined(grid, width, order=(0, 2, 1, 3)),
            ),
            Mistake(
                "sin-cos-interleaved",
                "Sines and cosines alternate from number to number.",
                interleaved,
            ),
            Mistake(
                "no-cosines",
                "There are twice as many sines of each axis, and no cosines.",
                lambda grid, width: torch.cat(quarters(grid, 2 * width)[::2], dim=1),
            ),
            Mistake(
                "slowest-too-fast",
                "The frequencies stop one step early: the slowest is faster than 1/10,000.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: torch.arange(hands) / hands),
            ),
            Mistake(
                "equal-steps",
                "The frequencies fall in equal steps, so nearly all hands are fast.",
                lambda grid, width: joined(grid, width, frequencies=torch.linspace(1, 1e-4, width // 4)),
            ),
            Mistake(
                "frequencies-rise",
                "The frequencies rise from 1 to 10,000, so neighbouring patches get unrelated vectors.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: -torch.linspace(0, 1, hands)),
            ),
            Mistake(
                "places-from-one",
                "Rows and columns are counted from 1.",
                lambda grid, width: joined(grid, width, first=1),
            ),
            Mistake(
                "one-dimensional",
                "The patches are numbered along the sequence: this table does not know that the grid has two axes.",
                lambda grid, width: torch.cat(quarters((1, grid[0] * grid[1]), 2 * width)[:2], dim=1),
            ),
            Mistake(
                "axes-added",
                "The vector of the row is added to that of the column, so all numbers hold both axes at once.",
                axes_added,
            ),
            Mistake(
                "grid-not-flattened",
                "The values are right, but they still lie on the grid: there is an axis too many.",
                lambda grid, width: sincos2d(grid, width).unflatten(0, grid),
            ),
            Mistake(
                "class-row-included",
                "There is a row for a class token in front; the table asked for has rows for the patches alone.",
                lambda grid, width: F.pad(sincos2d(grid, width), (0, 0, 1, 0)),
            ),
        ],
    )


def _angles(grid, hands, line=None, first=0, exponents=None, frequencies=None):
    # (N, hands) by column and by row; the options are the mistakes.
    patch = torch.arange(grid[0] * grid[1])
    line = line or grid[1]
    if frequencies is None:
        frequencies = 10_000 ** -(exponents(hands) if exponents else torch.linspace(0, 1, hands))
    return (patch % line + first)[:, None] * frequencies, (patch // line + first)[:, None] * frequencies


@exercise("A table for a larger image", difficulty=3, minutes=12)
def interpolate(answer, draw):
    """`answer(table, grid, new_grid)`: (1, 1+N, D) -> (1, 1+N', D), bicubic, the class row kept."""
    draws = []
    for _ in range(2):
        rows, columns, width = draw.sizes(3, low=2, high=6)
        new_rows, new_columns = draw.sizes(2, low=7, high=11)
        draws.append((draw.normal(1, 1 + rows * columns, width), (rows, columns), (new_rows, new_columns)))

    exchanged = "Rows and columns are exchanged in one of the grids, or in both."
    bare = "A reshape exchanges axes that it cannot exchange: pictures or rows are put together from unrelated numbers."

    def one_line(table, size):
        return F.interpolate(table.mT, size=size, mode="linear").mT

    def bare_reshape(into, out):
        def wrong(table, grid, new_grid):
            picture = table[:, 1:].reshape(1, -1, *grid) if into else _picture(table[:, 1:], grid)
            larger = F.interpolate(picture, size=new_grid, mode="bicubic")
            rows = larger.reshape(1, -1, table.shape[2]) if out else larger.flatten(2).mT
            return torch.cat([table[:, :1], rows], dim=1)

        return wrong

    same_function(
        answer,
        interpolate_positions,
        draws,
        axes="(1, T', D)",
        differentiable=False,  # a table may be resized without gradients
        mistakes=[
            Mistake(
                "class-row-smeared-in",
                "All rows, that of the class token too, are resized as one long line.",
                lambda table, grid, new: one_line(table, 1 + new[0] * new[1]),
            ),
            Mistake(
                "one-long-line",
                "The rows of the patches are resized as one long line, not as a picture.",
                lambda table, grid, new: torch.cat([table[:, :1], one_line(table[:, 1:], new[0] * new[1])], dim=1),
            ),
            Mistake(
                "grids-exchanged",
                exchanged,
                lambda table, grid, new: interpolate_positions(table, grid[::-1], new),
            ),
            Mistake(
                "grids-exchanged",
                exchanged,
                lambda table, grid, new: interpolate_positions(table, grid, new[::-1]),
            ),
            Mistake(
                "grids-exchanged",
                exchanged,
                lambda table, grid, new: interpolate_positions(table, grid[::-1], new[::-1]),
            ),
            Mistake("bare-reshape", bare, bare_reshape(True, False)),
            Mistake("bare-reshape", bare, bare_reshape(False, True)),
            Mistake("bare-reshape", bare, bare_reshape(True, True)),
            Mistake(
                "column-by-column",
                "The new rows run down the columns of the new grid; the patches run along its rows.",
                lambda table, grid, new: _resized(table, grid, new, transpose=True),
            ),
            Mistake(
                "class-row-last",
                "The class token's row is kept, but stands at the end.",
                lambda table, grid, new: interpolate_positions(table, grid, new).roll(-1, dims=1),
            ),
            Mistake(
                "class-row-lost",
                "The class token's row is not in the new table.",
                lambda table, grid, new: interpolate_positions(table, grid, new)[:, 1:],
            ),
            Mistake(
                "class-row-zero",
                "The class token's row is lost; zeros stand in its place.",
                lambda table, grid, new: F.pad(interpolate_positions(table, grid, new)[:, 1:], (0, 0, 1, 0)),
            ),
            Mistake(
                "last-row-taken-for-class-row",
                "The last row is taken for that of the class token, and the first for that of a patch.",
                lambda table, grid, new: interpolate_positions(table.roll(1, dims=1), grid, new).roll(-1, dims=1),
            ),
            Mistake(
                "not-bicubic",
                "The picture is resized in another mode than bicubic.",
                lambda table, grid, new: _resized(table, grid, new, mode="bilinear"),
            ),
            Mistake(
                "not-bicubic",
                "The picture is resized in another mode than bicubic.",
                lambda table, grid, new: _resized(table, grid, new, mode="nearest"),
            ),
            Mistake(
                "corners-aligned",
                "The centres of the corner patches are laid onto each other, where the borders of the image should be.",
                lambda table, grid, new: _resized(table, grid, new, mode="bicubic", align_corners=True),
            ),
            Mistake(
                "antialiased",
                "The picture is resized with anti-aliasing, which takes other weights.",
                lambda table, grid, new: _resized(table, grid, new, mode="bicubic", antialias=True),
            ),
        ],
    )


def _picture(patch_rows: torch.Tensor, grid) -> torch.Tensor:
    return patch_rows.unflatten(1, grid).permute(0, 3, 1, 2)  # (1, D, rows, columns)


def _resized(table, grid, new_grid, transpose=False, **options):
    picture = F.interpolate(_picture(table[:, 1:], grid), size=new_grid, **(options or {"mode": "bicubic"}))
    picture = picture.mT if transpose else picture
    return torch.cat([table[:, :1], picture.flatten(2).mT], dim=1)
