"""Finds out what each number of an attention layer does by changing it: names and shapes of parameters say nothing.

A "unit" is D numbers that meet a token in an inner product (a row of the query, key or value matrix), or D numbers
that are added to a token (a row of the projection). Everything follows from gradients at one asking token:

    a unit that reads     its gradient is a mixture of the tokens
    a value               setting it to 0 leaves one row of the projection without a gradient
    a query and its key   setting either to 0 leaves the other without a gradient
    the query of the two  its gradient is a multiple of the asking token, a key's is a mixture of all
    one head              setting a key to 0 changes the gradients of its own head's units, and of no other's
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.flat import Flat

# A gradient is nothing where it is so much smaller than it was: it is then 0 but for rounding, and one that is small by
# chance is larger. It has changed where it is so far from what it was.
_NOTHING, _CHANGED, _OUTSIDE = 1e-6, 1e-4, 1e-2


@dataclass(frozen=True)
class Watched:
    """An attention layer, alone or inside something larger, and where it can be watched.

    Args:
        flat: of the whole module.
        output: tokens (T, D) that the attention reads -> what comes out, (n,), at the token `asker`.
        asker: which token asks.
    """

    flat: Flat
    output: Callable[[torch.Tensor], torch.Tensor]
    asker: int

    def slopes(self, tokens: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """The gradient of the weighted sum of the output, as a row of `flat`."""
        return self.flat.slopes((self.output(tokens) * weights).sum())


@dataclass(frozen=True)
class Head:
    """Places (d, D) in the row of numbers: what makes queries, keys and values, and what adds them to the output."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    out: torch.Tensor


@dataclass(frozen=True)
class Roles:
    """What was found.

    Args:
        units: (n, D), the places of all units that read.
        unused: the units whose gradient is 0.
        outs: of each value unit the places (D,) of its row of the projection.
        pairs: (query, key), as indices of units.
        with_itself: units without a gradient of their own once they are 0, as where queries meet queries.
        links: (n, n), whether the unit of the row, set to 0, changes the gradient of that of the column.
    """

    units: torch.Tensor
    unused: list[int]
    outs: dict[int, torch.Tensor]
    pairs: list[tuple[int, int]]
    with_itself: list[int]
    links: torch.Tensor

    def regular(self, width: int) -> bool:
        """Whether there are D queries, keys and values each, and nothing has two parts."""
        paired = {unit for pair in self.pairs for unit in pair}
        return (
            len(self.units) == 3 * width
            and len(self.pairs) == len(self.outs) == width
            and len(paired) == 2 * width
            and not paired & set(self.outs)
            and not self.with_itself
        )

    def groups(self) -> list[tuple[list[tuple[int, int]], list[int]]]:
        """The pairs of each head and its values; a value whose weights come from several heads is in each of them."""
        left, found = list(self.pairs), []
        while left:
            group = [left.pop(0)]
            for pair in group:  # which grows
                more = [other for other in left if self._linked(pair, other) or self._linked(other, pair)]
                group += more
                left = [other for other in left if other not in more]
            found.append((group, [value for value in self.outs if any(self._linked(pair, (value,)) for pair in group)]))
        return found

    def described(self) -> str:
        """How many groups there are, and of how many."""
        sizes = [str(len(pairs)) for pairs, _ in self.groups()]
        return f"{len(sizes)} groups of queries and keys that act on each other, of {', '.join(sizes)}"

    def _linked(self, units: tuple[int, ...], others: tuple[int, ...]) -> bool:
        return bool(self.links[list(units)][:, list(others)].any())

    def head(self, pairs: list[tuple[int, int]], values: list[int]) -> Head:
        """A head of these units."""
        queries, keys = ([pair[side] for pair in pairs] for side in (0, 1))
        outs = torch.stack([self.outs[value] for value in values])
        return Head(self.units[queries], self.units[keys], self.units[values], outs)


def find_roles(watched: Watched, matrices: list[torch.Tensor], tokens: torch.Tensor, weights: torch.Tensor) -> Roles:
    """Changes one unit after the other and looks at all gradients; the parameters are as before afterwards.

    Args:
        watched: the layer, its matrices random, its biases 0.
        matrices: the places of the attention's parameters in the row, in the parameters' shapes: queries, keys, values,
            projection, in any form.
        tokens: (T, D) with T smaller than D.
        weights: (n,) of the output that is watched.

    Raises:
        Wrong: nothing reads the tokens as they are.
    """
    width, row = tokens.shape[1], watched.flat.get()
    base = watched.slopes(tokens, weights)
    units, rest = _cut(matrices, base, tokens)
    if not len(units):
        sentence = "The input of the attention is not the tokens that come in (in a block: after its norm)."
        raise Wrong("wrong-behaviour", sentence, ["Received: no matrix whose gradient is a mixture of these tokens"])
    strength = base[units].norm(dim=1)
    unused = (strength <= 1e-7 * strength.max()).nonzero().flatten().tolist()
    without, links = [], []
    for unit in units:
        changed = row.clone()
        changed[unit] = 0
        watched.flat.set(changed)
        slopes = watched.slopes(tokens, weights)
        without.append((_gone(slopes, base, units), _gone(slopes, base, rest)))
        links.append((slopes[units] - base[units]).norm(dim=1) > _CHANGED * strength.clamp(min=strength.max() / 100))
    watched.flat.set(row)
    gone, gone_outs = (torch.stack(part) for part in zip(*without, strict=True))
    gone[:, unused] = False
    outs = {unit: rest[int(row.nonzero()[0])] for unit, row in enumerate(gone_outs) if row.any()}
    across = {tuple(sorted(pair)) for pair in gone.nonzero().tolist() if pair[0] != pair[1]}
    outside = _outside(base[units], tokens[watched.asker : watched.asker + 1])
    pairs = [(a, b) if outside[a] < outside[b] else (b, a) for a, b in sorted(across)]
    itself = gone.diagonal().nonzero().flatten().tolist()
    return Roles(units.reshape(-1, width), unused, outs, pairs, itself, torch.stack(links))


def _cut(matrices: list[torch.Tensor], base: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    # All units (n, D) that read, and all that do not, these along each axis of length D.
    width, reading, other = tokens.shape[1], [], []
    for matrix in matrices:
        for ways in _pieces(matrix, width):
            slopes = [base[units] for units in ways]
            reads = [bool((_outside(slope, tokens) < _OUTSIDE).all()) for slope in slopes]
            if any(reads):
                reading.append(ways[reads.index(True)])
            elif len(ways) == 1:  # a matrix that reads and one that adds may be fused
                apart = _outside(slopes[0], tokens) < _OUTSIDE
                reading.append(ways[0][apart])
                other.append(ways[0][~apart])
            else:
                other += ways
    nothing = torch.zeros(0, width, dtype=torch.long)
    return torch.cat([nothing, *reading]), torch.cat([nothing, *other])


def _pieces(places: torch.Tensor, width: int) -> list[tuple[torch.Tensor, ...]]:
    # Each piece as units (n, D), in one way or, where a square matrix may be read along both axes, in two.
    shape = [size for size in places.shape if size > 1]
    split = [part for size in shape for part in ((size // width, width) if size % width == 0 else (size,)) if part > 1]
    places = places.reshape(split)
    axes = [axis for axis, size in enumerate(split) if size == width]
    if len(axes) == 1:
        return [(places.movedim(axes[0], -1).reshape(-1, width),)]
    if len(axes) == 2:
        return [(square, square.T) for square in places.movedim(axes, (-2, -1)).reshape(-1, width, width)]
    return []


def _outside(slopes: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """(n,): which share of each slope (n, D) is no mixture of the tokens."""
    basis = torch.linalg.qr(tokens.T).Q  # (D, T)
    rest = slopes - slopes @ basis @ basis.T
    return rest.norm(dim=1) / slopes.norm(dim=1).clamp(min=1e-30)


def _gone(slopes: torch.Tensor, base: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
    return slopes[units].norm(dim=1) < _NOTHING * base[units].norm(dim=1)
