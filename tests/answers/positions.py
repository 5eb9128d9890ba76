"""Answers to the exercises of chapter 03."""

import math
from itertools import permutations

import torch
import torch.nn.functional as F
from einops import pack, rearrange, repeat
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.checks.draw import Draw
from vit_course.embeddings import LearnedPositions, SinCos2DPositions, interpolate_positions, sincos2d

# ---- shuffle

RIGHT_PREDICTIONS = {
    "mean_without_table": "same",
    "one_vector_for_all": "shuffled",
    "table_of_places": "different",
    "rows_shuffled_too": "shuffled",
    "pixels_inside": "different",
    "class_outputs": 12,
}


@right("positions.shuffle")
def predicted():
    return RIGHT_PREDICTIONS


@right("positions.shuffle")
def counted():
    # Orders are alike where they give the same sequence of (patch, row) as a set.
    rows = [1, 2, 2, 3]
    sets = {frozenset((patch, rows[place]) for place, patch in enumerate(order)) for order in permutations(range(4))}
    return RIGHT_PREDICTIONS | {"class_outputs": len(sets), "mean_without_table": " Same"}


@right("positions.shuffle")
def tried():
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    x, one, table = torch.randn(1, 4, 8).double(), torch.randn(1, 1, 8).double(), torch.randn(1, 4, 8).double()
    order = torch.tensor([2, 0, 3, 1])

    def verdict(before, after):
        if torch.allclose(before, after):
            return "same"
        return "shuffled" if torch.allclose(before[:, order], after) else "different"

    with torch.no_grad():
        alike = table.clone()
        alike[:, 0] = alike[:, 1]
        means = [layer(x[:, list(o)] + alike).mean(1).round(decimals=6) for o in permutations(range(4))]
        return {
            "class_outputs": torch.cat(means).unique(dim=0).shape[0],
            "mean_without_table": verdict(layer(x).mean(1, True), layer(x[:, order]).mean(1, True)),
            "one_vector_for_all": verdict(layer(x + one), layer(x[:, order] + one)),
            "table_of_places": verdict(layer(x + table), layer(x[:, order] + table)),
            "rows_shuffled_too": verdict(layer(x + table), layer((x + table)[:, order])),
            "pixels_inside": verdict(layer(x), layer(x[:, :, [1, 0, 2, 3, 4, 5, 6, 7]])),
        }


def _predictions(slug, **changes):
    wrong("positions.shuffle", slug)(lambda: RIGHT_PREDICTIONS | changes)


_predictions("mean-sees-order", mean_without_table="different")
_predictions("mean-has-no-rows", mean_without_table="shuffled")
_predictions("any-table-is-places", one_vector_for_all="different")
_predictions("outputs-stay-behind", one_vector_for_all="same")
_predictions("outputs-stay-behind", table_of_places="same")
_predictions("outputs-stay-behind", rows_shuffled_too="same")
_predictions("rows-travel-along", table_of_places="shuffled")
_predictions("rows-known-by-number", rows_shuffled_too="different")
_predictions("pixels-as-a-set", pixels_inside="same")
_predictions("patches-moved", pixels_inside="shuffled")
_predictions("equal-rows-told-apart", class_outputs=24)
_predictions("order-never-seen", class_outputs=1)
_predictions("one-pair-only", class_outputs=2)
_predictions("four-places-as-three", class_outputs=6)
_predictions("float-count", class_outputs=12.0)
_predictions("no-such-option", pixels_inside="mixed")
_predictions("wrong-type", class_outputs="12")
wrong("positions.shuffle", "wrong-keys")(lambda: {"mean": "same"})
unforeseen("positions.shuffle")(lambda: RIGHT_PREDICTIONS | {"class_outputs": 16})


# ---- module


@right("positions.module")
class Finished(LearnedPositions):
    pass


@right("positions.module")
class Lookup(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__()
        self.rows = nn.Embedding(num_tokens, hidden_dim)

    def forward(self, x):
        return x + self.rows(torch.arange(x.shape[1]))


@right("positions.module")
class OneHot(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__()
        self.register_buffer("one_hot", torch.eye(num_tokens))
        self.matrix = nn.Linear(num_tokens, hidden_dim, bias=False)

    def forward(self, x):
        return self.matrix(self.one_hot) + x


@right("positions.module")
class RowByRow(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__()
        self.rows = nn.ParameterList(torch.zeros(hidden_dim) for _ in range(num_tokens))

    def forward(self, x):
        return torch.stack([x[:, t] + row for t, row in enumerate(self.rows)], dim=1)


@right("positions.module")
class ApartAndWithDropout(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__()
        self.of_class = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.of_patches = nn.Parameter(torch.randn(1, num_tokens - 1, hidden_dim))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(x + torch.cat([self.of_class, self.of_patches], dim=1).expand_as(x))


class Variant(nn.Module):
    """A table of a shape of its own, and a forward of its own."""

    def shape(self, T, D):
        return 1, T, D

    def __init__(self, num_tokens, hidden_dim):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(self.shape(num_tokens, hidden_dim)))

    def forward(self, x):
        return x + self.table


right("positions.module")(Variant)

for slug, size in {
    "one-vector-for-all": lambda T, D: (1, 1, D),
    "one-number-per-token": lambda T, D: (1, T, 1),
    "one-number-in-all": lambda T, D: (1,),
    "class-row-missing": lambda T, D: (1, T - 1, D),
    "one-vector-too-many": lambda T, D: (1, T + 1, D),
    "table-along-the-batch": lambda T, D: (T, 1, D),
    "raised-error": lambda T, D: (1, D, T),
}.items():
    wrong("positions.module", slug)(type(slug, (Variant,), {"shape": lambda self, T, D, size=size: size(T, D)}))


def _forward(slug):
    def register(forward):
        wrong("positions.module", slug)(type(forward.__name__, (Variant,), {"forward": forward}))
        return forward

    return register


@_forward("multiplied")
def times(self, x):
    return x * self.table


@_forward("tokens-lost")
def table_only(self, x):
    return self.table.expand(len(x), -1, -1)


@_forward("tokens-scaled")
def as_in_a_text_model(self, x):
    return x * math.sqrt(x.shape[-1]) + self.table


@_forward("appended-to-width")
def wider(self, x):
    return torch.cat([x, self.table.expand(len(x), -1, -1)], dim=2)


@_forward("appended-as-tokens")
def longer(self, x):
    return torch.cat([x, self.table.expand(len(x), -1, -1)], dim=1)


@_forward("one-vector-for-all")
def first_row(self, x):
    return x + self.table[:, :1]


@_forward("one-vector-per-image")
def by_image(self, x):
    return x + self.table[0, : len(x), None]


@_forward("class-token-left-out")
def patches_only(self, x):
    return torch.cat([x[:, :1], x[:, 1:] + self.table[:, 1:]], dim=1)


@_forward("random-result")
def dropout_always_on(self, x):
    return F.dropout(x + self.table)


@_forward("gradient-cut")
def detached(self, x):
    return (x + self.table).detach()


@_forward("table-gets-no-gradient")
def data_only(self, x):
    return x + self.table.data


@_forward("unused-parameters")
def last_row_never_read(self, x):
    return x + torch.cat([self.table[:, :1], self.table[:, :-1]], dim=1)


@_forward("input-changed")
def in_place(self, x):
    x += self.table
    return x


@_forward("returned-nothing")
def forgotten(self, x):
    x = x + self.table


@wrong("positions.module", "no-parameters")
class PlainTensor(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__()
        self.table = torch.randn(1, num_tokens, hidden_dim)

    def forward(self, x):
        return x + self.table


@wrong("positions.module", "no-parameters")
class RandomEachCall(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__()

    def forward(self, x):
        return x + nn.Parameter(torch.randn(1, *x.shape[1:]))


@wrong("positions.module", "no-parameters")
class Fixed(SinCos2DPositions):
    def __init__(self, num_tokens, hidden_dim):
        super().__init__((1, num_tokens - 1), 4 * hidden_dim, True)


@wrong("positions.module", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, num_tokens, hidden_dim):
        self.table = nn.Parameter(torch.zeros(1, num_tokens, hidden_dim))


@unforeseen("positions.module")
class Absolute(Variant):
    def forward(self, x):
        return (x + self.table).abs()


@wrong("positions.module", "one-vector-too-many")
class WithBias(OneHot):
    def __init__(self, T, D):
        super().__init__(T, D)
        self.matrix = nn.Linear(T, D)


@unforeseen("positions.module")
class Flat(Variant):
    def forward(self, x):
        return (x + self.table).flatten(1)


# ---- mended


@right("positions.mended")
def as_in_the_paper(patch_tokens, class_token, table):
    return torch.cat([class_token.expand(len(patch_tokens), -1, -1), patch_tokens], dim=1) + table


@right("positions.mended")
def apart(patch_tokens, class_token, table):
    B = patch_tokens.shape[0]
    return torch.cat([(class_token + table[:, :1]).repeat(B, 1, 1), patch_tokens + table[:, 1:]], dim=1)


@right("positions.mended")
def packed(patch_tokens, class_token, table):
    tokens = repeat(class_token, "1 1 d -> b 1 d", b=len(patch_tokens))
    return pack([tokens, patch_tokens], "b * d")[0] + table


@right("positions.mended")
def padded(patch_tokens, class_token, table):
    tokens = F.pad(patch_tokens, (0, 0, 1, 0))
    return tokens + table + F.pad(class_token, (0, 0, 0, patch_tokens.shape[1]))


@right("positions.mended")
def with_loop(patch_tokens, class_token, table):
    images = []
    for image in patch_tokens:
        rows = [class_token[0, 0] + table[0, 0]]
        rows += [token + table[0, 1 + n] for n, token in enumerate(image)]
        images.append(torch.stack(rows))
    return torch.stack(images)


@right("positions.mended")
def filled(patch_tokens, class_token, table):
    B, N, D = patch_tokens.shape
    out = torch.zeros(B, N + 1, D)
    out[:, :1] = class_token
    out[:, 1:] = patch_tokens
    return out.add(table)


def _front(patches, token):
    return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)


for slug, function in [
    ("still-faulty", lambda p, c, t: _front(p + t[:, :-1], c)),
    ("class-token-without-row", lambda p, c, t: _front(p + t[:, 1:], c)),
    ("rows-shifted", lambda p, c, t: _front(p + t[:, :-1], c + t[:, :1])),
    ("class-row-last", lambda p, c, t: _front(p + t[:, :-1], c + t[:, -1:])),
    ("class-token-last", lambda p, c, t: torch.cat([p, c.expand(len(p), -1, -1)], 1) + t),
    ("class-token-last", lambda p, c, t: torch.cat([p + t[:, 1:], (c + t[:, :1]).expand(len(p), -1, -1)], 1)),
    ("class-token-last", lambda p, c, t: torch.cat([p + t[:, 1:], c.expand(len(p), -1, -1)], 1)),
    ("class-token-last", lambda p, c, t: torch.cat([p + t[:, :-1], c.expand(len(p), -1, -1)], 1)),
    ("patches-without-rows", lambda p, c, t: _front(p, c + t[:, :1])),
    ("no-positions", lambda p, c, t: _front(p, c)),
    ("no-class-token", lambda p, c, t: p + t[:, 1:]),
    ("class-row-for-all", lambda p, c, t: _front(p, c) + t[:, 0]),
    ("multiplied", lambda p, c, t: _front(p, c) * t),
    ("rows-added-twice", lambda p, c, t: _front(p + t[:, 1:], c) + t),
    ("table-before-class-token", lambda p, c, t: _front(p + t, c)),
    ("one-class-token-for-the-batch", lambda p, c, t: torch.cat([c, p], dim=1) + t),
    ("gradient-cut", lambda p, c, t: (_front(p, c) + t).detach()),
    ("random-result", lambda p, c, t: F.dropout(_front(p, c) + t)),
    ("raised-error", lambda p, c, t: torch.cat([c, p], dim=0) + t),
]:
    wrong("positions.mended", slug)(function)


@wrong("positions.mended", "input-changed")
def added_in_place(patch_tokens, class_token, table):
    patch_tokens += table[:, 1:]
    return _front(patch_tokens, class_token + table[:, :1])


@wrong("positions.mended", "hard-coded-size")
def one_batch(patch_tokens, class_token, table):
    return torch.cat([class_token.expand(Draw(0).sizes(3)[0], -1, -1), patch_tokens], dim=1) + table


unforeseen("positions.mended")(lambda p, c, t: _front(p, c) - t)
unforeseen("positions.mended")(lambda p, c, t: (_front(p, c) + t)[0])


# ---- sincos


@right("positions.sincos")
def by_division(grid, hidden_dim):
    frequencies = 10_000 ** -torch.linspace(0, 1, hidden_dim // 4)
    patch = torch.arange(grid[0] * grid[1])
    column, row = (patch % grid[1])[:, None] * frequencies, (patch // grid[1])[:, None] * frequencies
    return torch.cat([column.sin(), column.cos(), row.sin(), row.cos()], dim=1)


@right("positions.sincos")
def with_math(grid, D):
    table = []
    hands = D // 4
    speed = [10_000 ** (-k / (hands - 1)) for k in range(hands)]
    for r in range(grid[0]):
        for c in range(grid[1]):
            table.append([f(place * w) for place in (c, r) for f in (math.sin, math.cos) for w in speed])
    return torch.tensor(table)


@right("positions.sincos")
def as_in_the_chapter(grid, D):
    def axis(length):
        angles = torch.arange(length)[:, None] * torch.logspace(0, -4, D // 4)
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    by_column = repeat(axis(grid[1]), "c d -> r c d", r=grid[0])
    by_row = repeat(axis(grid[0]), "r d -> r c d", c=grid[1])
    return rearrange(torch.cat([by_column, by_row], -1), "r c d -> (r c) d")


@right("positions.sincos")
def turned_hands(grid, D):
    frequencies = torch.exp(-math.log(10_000) * torch.arange(D // 4) / (D // 4 - 1))
    y, x = torch.meshgrid(*(torch.arange(n, dtype=torch.float32) for n in grid), indexing="ij")
    hands = [torch.polar(torch.tensor(1.0), torch.outer(place.flatten(), frequencies)) for place in (x, y)]
    return torch.cat([part for hand in hands for part in (hand.imag, hand.real)], dim=1)


def grid_table(grid, D, first=0, power=None, join=None, places=None):
    hands = D // 4
    power = torch.linspace(0, 1, hands) if power is None else power
    row, column = places or torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    c, r = (torch.outer((place.flatten() + first).float(), 10_000**-power) for place in (column, row))
    return (join or (lambda c, r: torch.cat([c.sin(), c.cos(), r.sin(), r.cos()], 1)))(c, r)


right("positions.sincos")(grid_table)


def one_axis(length, D):
    angles = torch.outer(torch.arange(length).float(), 10_000 ** -torch.linspace(0, 1, D // 2))
    return torch.cat([angles.sin(), angles.cos()], dim=1)


for slug, function in [
    ("axes-exchanged", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.cat([r.sin(), r.cos(), c.sin(), c.cos()], 1))),
    ("column-by-column", lambda g, D: sincos2d(g, D).view(*g, D).mT.permute(2, 0, 1).reshape(-1, D)),
    ("column-by-column", lambda g, D: torch.cat([  # columns in the outer loop
        torch.cat([one_axis(g[1], D // 2)[c], one_axis(g[0], D // 2)[r]])[None]
        for c in range(g[1]) for r in range(g[0])])),
    ("broken-at-the-wrong-place", lambda g, D: grid_table(
        g, D, places=(torch.arange(g[0] * g[1]) // g[0], torch.arange(g[0] * g[1]) % g[0]))),
    ("cosine-first", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.cat([c.cos(), c.sin(), r.cos(), r.sin()], 1))),
    ("all-sines-first", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.cat([c.sin(), r.sin(), c.cos(), r.cos()], 1))),
    ("sin-cos-interleaved", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.stack([torch.cat([c, r], 1).sin(), torch.cat([c, r], 1).cos()], -1).flatten(1))),
    ("no-cosines", lambda g, D: grid_table(g, 2 * D, join=lambda c, r: torch.cat([c, r], 1).sin())),
    ("slowest-too-fast", lambda g, D: grid_table(g, D, power=torch.arange(D // 4) * 4 / D)),
    ("equal-steps", lambda g, D: grid_table(g, D, power=-torch.linspace(1, 1e-4, D // 4).log() / math.log(10_000))),
    ("frequencies-rise", lambda g, D: grid_table(g, D, power=torch.linspace(0, -1, D // 4))),
    ("places-from-one", lambda g, D: grid_table(g, D, first=1)),
    ("one-dimensional", lambda g, D: one_axis(g[0] * g[1], D)),
    ("axes-added", lambda g, D: (one_axis(g[1], D)[None] + one_axis(g[0], D)[:, None]).flatten(0, 1)),
    ("grid-not-flattened", lambda g, D: sincos2d(g, D).view(*g, D)),
    ("class-row-included", lambda g, D: torch.cat([torch.zeros(1, D), sincos2d(g, D)])),
    ("wrong-dtype", lambda g, D: sincos2d(g, D).double()),
    ("numpy-array", lambda g, D: sincos2d(g, D).numpy()),
    ("hard-coded-size", lambda g, D: grid_table(g, D, power=torch.linspace(0, 1, Draw(0).sizes(3, low=3)[2]))),
    ("random-result", lambda g, D: torch.rand(g[0] * g[1], D)),
]:  # fmt: skip
    wrong("positions.sincos", slug)(function)

unforeseen("positions.sincos")(lambda g, D: 2 * sincos2d(g, D))
unforeseen("positions.sincos")(lambda g, D: sincos2d(g, D)[None])
unforeseen("positions.sincos")(lambda g, D: sincos2d(g, D, temperature=100.0))


# ---- interpolate


@right("positions.interpolate")
def with_permute(table, grid, new_grid):
    class_row, rows = table[:, :1], table[:, 1:]
    picture = rows.reshape(1, *grid, -1).permute(0, 3, 1, 2)
    picture = nn.Upsample(size=new_grid, mode="bicubic")(picture)
    return torch.cat([class_row, picture.permute(0, 2, 3, 1).flatten(1, 2)], dim=1)


@right("positions.interpolate")
def with_rearrange(table, grid, new_grid):
    picture = rearrange(table[:, 1:], "1 (r c) d -> d 1 r c", r=grid[0])
    with torch.no_grad():
        larger = F.interpolate(picture, new_grid, mode="bicubic", align_corners=False)
    return torch.cat((table[:, :1], rearrange(larger, "d 1 r c -> 1 (r c) d")), 1)


@right("positions.interpolate")
def with_matrices(table, grid, new_grid):
    def matrix(old, new):
        return F.interpolate(torch.eye(old)[None, None], size=(new, old), mode="bicubic")[0, 0]

    rows, columns = (matrix(old, new) for old, new in zip(grid, new_grid, strict=True))
    old = table[0, 1:].unflatten(0, grid)
    new = torch.einsum("rs,cd,sdw->rcw", rows, columns, old)
    return torch.cat([table[:, :1], new.reshape(1, -1, table.shape[2])], dim=1)


@right("positions.interpolate")
def number_by_number(table, grid, new_grid):
    out = torch.zeros(1, 1 + new_grid[0] * new_grid[1], table.shape[2])
    out[0, 0] = table[0, 0]
    for d in range(table.shape[2]):
        picture = table[0, 1:, d].reshape(1, 1, *grid)
        out[0, 1:, d] = F.interpolate(picture, size=new_grid, mode="bicubic").flatten()
    return out


def variant(table, grid, new_grid, cls="first", turn=False, **options):
    picture = table[:, 1:].mT.unflatten(2, grid)
    picture = F.interpolate(picture, size=new_grid, **(options or {"mode": "bicubic"}))
    rows = (picture.mT if turn else picture).flatten(2).mT
    first = {"first": table[:, :1], "none": table[:, :0], "zero": 0 * table[:, :1], "last": table[:, :0]}[cls]
    return torch.cat([first, rows, table[:, :1]] if cls == "last" else [first, rows], dim=1)


def reshaped(table, grid, new_grid):
    picture = table[:, 1:].reshape(1, table.shape[2], *grid)
    larger = F.interpolate(picture, size=new_grid, mode="bicubic")
    return torch.cat([table[:, :1], larger.reshape(1, -1, table.shape[2])], dim=1)


def reshaped_in(table, grid, new_grid):
    picture = table[:, 1:].reshape(1, table.shape[2], *grid)
    return torch.cat([table[:, :1], F.interpolate(picture, size=new_grid, mode="bicubic").flatten(2).mT], dim=1)


def reshaped_out(table, grid, new_grid):
    larger = F.interpolate(table[:, 1:].mT.unflatten(2, grid), size=new_grid, mode="bicubic")
    return torch.cat([table[:, :1], larger.view(1, -1, table.shape[2])], dim=1)


def smeared(table, grid, new_grid):
    return F.interpolate(table.mT, size=new_grid[0] * new_grid[1] + 1, mode="linear").mT


def long_line(table, grid, new_grid):
    rows = F.interpolate(table[:, 1:].mT, size=new_grid[0] * new_grid[1], mode="linear").mT
    return torch.cat([table[:, :1], rows], dim=1)


def last_row_as_class(table, grid, new_grid):
    larger = F.interpolate(table[:, :-1].mT.unflatten(2, grid), size=new_grid, mode="bicubic")
    return torch.cat([larger.flatten(2).mT, table[:, -1:]], dim=1)


for slug, function in [
    ("class-row-smeared-in", smeared),
    ("one-long-line", long_line),
    ("grids-exchanged", lambda t, g, n: variant(t, g[::-1], n)),
    ("grids-exchanged", lambda t, g, n: variant(t, g, n[::-1])),
    ("grids-exchanged", lambda t, g, n: variant(t, g[::-1], n[::-1])),
    ("bare-reshape", reshaped),
    ("bare-reshape", reshaped_in),
    ("bare-reshape", reshaped_out),
    ("column-by-column", lambda t, g, n: variant(t, g, n, turn=True)),
    ("class-row-last", lambda t, g, n: variant(t, g, n, cls="last")),
    ("class-row-lost", lambda t, g, n: variant(t, g, n, cls="none")),
    ("class-row-zero", lambda t, g, n: variant(t, g, n, cls="zero")),
    ("last-row-taken-for-class-row", last_row_as_class),
    ("not-bicubic", lambda t, g, n: variant(t, g, n, mode="bilinear")),
    ("not-bicubic", lambda t, g, n: variant(t, g, n, mode="nearest")),
    ("corners-aligned", lambda t, g, n: variant(t, g, n, mode="bicubic", align_corners=True)),
    ("antialiased", lambda t, g, n: variant(t, g, n, mode="bicubic", antialias=True)),
    ("raised-error", lambda t, g, n: F.interpolate(t, size=n, mode="bicubic")),
    ("hard-coded-size", lambda t, g, n: interpolate_positions(t, g, n)[:, :1 + n[0] * n[1]].reshape(1, -1, SIZE)),
]:  # fmt: skip
    wrong("positions.interpolate", slug)(function)

SIZE = Draw(0).sizes(3, low=2, high=6)[2]  # of the first draw


@wrong("positions.interpolate", "input-changed")
def class_row_emptied(table, grid, new_grid):
    out = interpolate_positions(table, grid, new_grid)
    table[:, 0] = 0
    return out


unforeseen("positions.interpolate")(lambda t, g, n: -interpolate_positions(t, g, n))
unforeseen("positions.interpolate")(lambda t, g, n: interpolate_positions(t, g, n)[0])
