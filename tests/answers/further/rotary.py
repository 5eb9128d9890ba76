"""Answers to exercise further.rotary."""

import math

import torch
from einops import rearrange, repeat

from answers import right, unforeseen, wrong


def _line(x, positions, width=None):
    d = x.shape[-1]
    angles = positions[:, None] * 100.0 ** (-torch.arange(0, d, 2) / (width or d))
    a, b = x[..., 0::2], x[..., 1::2]
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)


def _grid(x, rows, columns):
    first, last = x.chunk(2, dim=-1)
    return torch.cat([_line(first, rows), _line(last, columns)], dim=-1)


@right("further.rotary")
def counted(x, grid):
    place = torch.arange(grid[0] * grid[1])
    return _grid(x, place // grid[1], place % grid[1])


@right("further.rotary")
def mesh(x, grid):
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    return _grid(x, rows.flatten(), columns.flatten())


@right("further.rotary")
def repeated(x, grid):
    rows = repeat(torch.arange(grid[0]), "r -> (r c)", c=grid[1])
    columns = repeat(torch.arange(grid[1]), "c -> (r c)", r=grid[0])
    return _grid(x, rows, columns)


@right("further.rotary")
def complex_numbers(x, grid):
    quarter = x.shape[-1] // 4
    rates = 100.0 ** (-torch.arange(quarter) / quarter)
    place = torch.arange(x.shape[-2])
    angles = torch.cat([(place // grid[1])[:, None] * rates, (place % grid[1])[:, None] * rates], dim=-1)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@right("further.rotary")
def with_matrices(x, grid):
    half = x.shape[-1] // 2
    places = torch.cartesian_prod(*(torch.arange(n) for n in grid))  # (N, 2), row and column
    angles = (places[..., None] * 100.0 ** (-torch.arange(0, half, 2) / half)).flatten(1)  # (N, d / 2)
    turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1).unflatten(-1, (2, 2))
    return torch.einsum("bhnpj,npij->bhnpi", x.unflatten(-1, (-1, 2)), turns).flatten(-2)


@right("further.rotary")
def on_a_real_grid(x, grid):
    x = rearrange(x, "b h (r c) d -> b h r c d", r=grid[0])
    first, last = x.chunk(2, dim=-1)
    first = _line(first.transpose(2, 3), torch.arange(grid[0])).transpose(2, 3)
    return torch.cat([first, _line(last, torch.arange(grid[1]))], dim=-1).flatten(2, 3)


@right("further.rotary")
def patch_by_patch(x, grid):
    out = torch.empty_like(x)
    half = x.shape[-1] // 2
    for n in range(x.shape[-2]):
        for place, start in zip(divmod(n, grid[1]), (0, half), strict=True):
            for i in range(0, half, 2):
                angle = place * 100 ** (-i / half)
                a, b = x[..., n, start + i], x[..., n, start + i + 1]
                out[..., n, start + i] = a * math.cos(angle) - b * math.sin(angle)
                out[..., n, start + i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def _rotary(mistake, function, name):
    function.__name__ = name
    wrong("further.rotary", mistake)(function)


def _n(x):
    return torch.arange(x.shape[-2])


_rotary("row-and-column-swapped", lambda x, g: _grid(x, _n(x) % g[1], _n(x) // g[1]), "swapped")
_rotary("on-a-line", lambda x, g: _line(x, _n(x)), "one_line")
_rotary("both-halves-on-a-line", lambda x, g: _grid(x, _n(x), _n(x)), "two_lines")
_rotary("row-alone", lambda x, g: _grid(x, _n(x) // g[1], _n(x) // g[1]), "rows")
_rotary("column-alone", lambda x, g: _grid(x, _n(x) % g[1], _n(x) % g[1]), "columns")
_rotary("row-on-everything", lambda x, g: _line(x, _n(x) // g[1]), "whole_by_row")
_rotary("column-on-everything", lambda x, g: _line(x, _n(x) % g[1]), "whole_by_column")
_rotary("turned-twice", lambda x, g: _line(_line(x, _n(x) // g[1]), _n(x) % g[1]), "both_on_all")
_rotary("turned-twice", lambda x, g: _line(x, _n(x) // g[1] + _n(x) % g[1]), "row_plus_column")
_rotary("down-the-columns", lambda x, g: _grid(x, _n(x) % g[0], _n(x) // g[0]), "by_columns")
_rotary("divided-by-rows", lambda x, g: _grid(x, _n(x) // g[0], _n(x) % g[0]), "wrong_divisor")
_rotary("counted-from-one", lambda x, g: _grid(x, _n(x) // g[1] + 1, _n(x) % g[1] + 1), "from_one")
_rotary("shares-of-the-grid", lambda x, g: _grid(x, _n(x) // g[1] / g[0], _n(x) % g[1] / g[1]), "shares")
_rotary("halves-exchanged", lambda x, g: torch.cat(counted(x, g).chunk(2, -1)[::-1], -1), "exchanged")
_rotary("turned-backwards", lambda x, g: _grid(x, -(_n(x) // g[1]), -(_n(x) % g[1])), "backwards")
_rotary("not-turned", lambda x, g: x.clone(), "as_it_was")
_rotary("gradient-cut", lambda x, g: counted(x, g).detach(), "detached")
_rotary("joined-on-another-axis", lambda x, g: counted(x, g).chunk(2, -1)[0], "half")
_rotary("input-changed", lambda x, g: x.mul_(2), "in_place")


_rotary("column-by-rows", lambda x, g: _grid(x, _n(x) // g[1], _n(x) % g[0]), "column_by_rows")
_rotary("row-by-rows", lambda x, g: _grid(x, _n(x) // g[0], _n(x) % g[1]), "row_by_rows")
_rotary("row-not-whole", lambda x, g: _grid(x, _n(x) / g[1], _n(x) % g[1]), "true_division")
_rotary("grid-taken-for-square", lambda x, g: _grid(x, *[f(_n(x), math.isqrt(len(_n(x)))) for f in (
    torch.floor_divide, torch.remainder)]), "square")  # fmt: skip
_rotary("counted-from-the-middle", lambda x, g: _grid(x, _n(x) // g[1] - g[0] // 2, _n(x) % g[1] - g[1] // 2), "middle")
_rotary("upside-down", lambda x, g: _grid(x, g[0] - 1 - _n(x) // g[1], _n(x) % g[1]), "from_below")
_rotary("one-half-left", lambda x, g: torch.cat([counted(x, g).chunk(2, -1)[0], x.chunk(2, -1)[1]], -1), "half_left")
_rotary("rates-of-the-whole", lambda x, g: torch.cat(
    [_line(x, _n(x) // g[1]).chunk(2, -1)[0], _line(x, _n(x) % g[1]).chunk(2, -1)[1]], -1), "halves_of_both",
)  # fmt: skip
_rotary("turns-added", lambda x, g: _line(x, _n(x) // g[1]) + _line(x, _n(x) % g[1]), "both_added")
_rotary("product-of-places", lambda x, g: _line(x, _n(x) // g[1] * (_n(x) % g[1])), "product")
_rotary("halves-alternate", lambda x, g: torch.stack(counted(x, g).chunk(2, -1), -1).flatten(-2), "woven")
_rotary("quarters", lambda x, g: torch.cat(
    [_line(part, (_n(x) // g[1], _n(x) % g[1])[i % 2]) for i, part in enumerate(x.chunk(4, -1))], -1), "quarters",
)  # fmt: skip
_rotary("not-a-position-a-token", lambda x, g: _grid(x, torch.arange(g[0]), torch.arange(g[1])), "ranges")
_rotary("rows-repeated", lambda x, g: _grid(x, torch.arange(g[0]).repeat(g[1]), _n(x) % g[1]), "rows_repeated")
_rotary("scaled", lambda x, g: counted(x, g) / x.shape[-1] ** 0.5, "scaled")
_rotary("added-to-the-vector", lambda x, g: x + counted(x, g), "residual")
_rotary("batch-of-one", lambda x, g: counted(x, g).squeeze(), "squeezed")


@wrong("further.rotary", "every-second-number")
def alternating(x, grid):
    rows, columns = _line(x[..., ::2], _n(x) // grid[1]), _line(x[..., 1::2], _n(x) % grid[1])
    return torch.stack([rows, columns], dim=-1).flatten(-2)


@wrong("further.rotary", "rates-of-the-whole")
def rates_of_all(x, grid):
    first, last = x.chunk(2, dim=-1)
    width = x.shape[-1]
    return torch.cat([_line(first, _n(x) // grid[1], width), _line(last, _n(x) % grid[1], width)], dim=-1)


@wrong("further.rotary", "column-not-wrapped")
def without_the_remainder(x, grid):
    return _grid(x, _n(x) // grid[1], _n(x))


@wrong("further.rotary", "halves-stacked")
def stacked(x, grid):
    return torch.stack(_grid(x, _n(x) // grid[1], _n(x) % grid[1]).chunk(2, -1), -1)


@unforeseen("further.rotary")
def in_degrees(x, grid):
    return _grid(x, _n(x) // grid[1] * math.pi / 180, _n(x) % grid[1] * math.pi / 180)


@unforeseen("further.rotary")
def added(x, grid):
    return x + (_n(x) // grid[1])[:, None]


@wrong("further.rotary", "room-for-a-class-token")
def first_patch_left(x, grid):
    place = (torch.arange(x.shape[-2]) - 1).clamp(min=0)
    a, b = x.chunk(2, -1)
    return torch.cat([_line(a, place // grid[1]), _line(b, place % grid[1])], -1)


@wrong("further.rotary", "counted-from-one-and-swapped")
def two_slips(x, grid):
    place = torch.arange(x.shape[-2])
    a, b = x.chunk(2, -1)
    return torch.cat([_line(a, place % grid[1] + 1), _line(b, place // grid[1] + 1)], -1)
