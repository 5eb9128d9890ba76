"""Answers to exercise further.rotary."""

import math

import torch
from einops import repeat

from answers import UNKNOWN, Answers

answers = Answers("further.rotary")
(turn_line,) = answers.given("turn_line")

answers.edits(
    ("row-by-rows", "place // columns", "place // rows"),
)


@answers.right
def repeated_places(x, grid):
    rows, columns = grid
    row = repeat(torch.arange(rows), "r -> (r c)", c=columns)
    column = repeat(torch.arange(columns), "c -> (r c)", r=rows)
    first, last = x.chunk(2, dim=-1)
    return torch.cat([turn_line(first, row), turn_line(last, column)], dim=-1)


@answers.right
def complex_numbers(x, grid):
    quarter = x.shape[-1] // 4
    rates = 100.0 ** (-torch.arange(quarter) / quarter)
    place = torch.arange(x.shape[-2])
    angles = torch.cat([(place // grid[1])[:, None] * rates, (place % grid[1])[:, None] * rates], dim=-1)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@answers.right
def with_matrices(x, grid):
    half = x.shape[-1] // 2
    places = torch.cartesian_prod(*(torch.arange(n) for n in grid))
    angles = (places[..., None] * 100.0 ** (-torch.arange(0, half, 2) / half)).flatten(1)
    turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1).unflatten(-1, (2, 2))
    return torch.einsum("bhnpj,npij->bhnpi", x.unflatten(-1, (-1, 2)), turns).flatten(-2)


@answers.right
def on_a_real_grid(x, grid):
    x = x.unflatten(2, grid)
    first, last = x.chunk(2, dim=-1)
    first = turn_line(first.transpose(2, 3), torch.arange(grid[0])).transpose(2, 3)
    return torch.cat([first, turn_line(last, torch.arange(grid[1]))], dim=-1).flatten(2, 3)


@answers.right
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


@answers.wrong("not-a-position-a-token")
def one_position_a_row(x, grid):
    first, last = x.chunk(2, dim=-1)
    return torch.cat([turn_line(first, torch.arange(grid[0])), turn_line(last, torch.arange(grid[1]))], dim=-1)


@answers.wrong("joined-on-another-axis")
def joined_on_another_axis(x, grid):
    place = torch.arange(x.shape[-2])
    first, last = x.chunk(2, dim=-1)
    return torch.cat([turn_line(first, place // grid[1]), turn_line(last, place % grid[1])], dim=-2)


@answers.wrong("turned-twice")
def turned_twice(x, grid):
    place = torch.arange(x.shape[-2])
    return turn_line(turn_line(x, place // grid[1]), place % grid[1])


@answers.wrong("halves-paired")
def halves_paired(x, grid):
    def turn_half(x, positions):
        d = x.shape[-1]
        angles = positions[:, None] * 100.0 ** (-torch.arange(0, d, 2) / d)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)

    place = torch.arange(x.shape[-2])
    first, last = x.chunk(2, dim=-1)
    return torch.cat([turn_half(first, place // grid[1]), turn_half(last, place % grid[1])], dim=-1)


@answers.wrong(UNKNOWN)
def middle_of_each_row(x, grid):
    place = torch.arange(x.shape[-2])
    first, last = x.chunk(2, dim=-1)
    return torch.cat([turn_line(first, place // grid[1] + 0.5), turn_line(last, place % grid[1])], dim=-1)
