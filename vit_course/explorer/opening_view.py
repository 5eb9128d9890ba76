"""Which head and which patch an explorer opens on where nobody has said; opening_view.js does the same in a browser."""

import torch

from vit_course.explorer.scene import Maps, QueriesAndKeys
from vit_course.maps.tokens import Tokens

SIDE = 6  # queries are tried in a grid of at most 6 x 6
FAR = 0.25  # of the picture's height or width
FEW = 8  # patches


def telling(attention: QueriesAndKeys | Maps, order: Tokens) -> dict[str, int] | None:
    """The head of the later half of the layers, and the patch, that send the most to a few distant patches.

    What counts is the weight beyond the mean over all queries that are tried, so that a head which looks at the same
    place from everywhere has none. Patches at the border do not count, as queries and as keys, where there are others.

    Args:
        attention: of one image.
        order: which of its tokens are patches.

    Returns:
        layer, head and query by their names; None where no patch is distant from another, or no query differs.
    """
    rows, columns = order.grid
    place = torch.arange(rows * columns)
    row, column = place // columns, place % columns  # (N,)
    tried = torch.tensor([r * columns + c for r in _spread(rows) for c in _spread(columns)])  # (Q,)
    apart = torch.maximum((row - row[tried][:, None]).abs() / rows, (column - column[tried][:, None]).abs() / columns)
    inside = _inside(row, rows) & _inside(column, columns)
    counts = (apart > FAR) & inside  # (Q, N)
    best, found = 1e-6, None
    for layer in range(attention.layers // 2, attention.layers):
        for head in range(attention.heads):
            maps = torch.stack([attention.row(layer, head, int(patch) + order.num_prefix) for patch in tried])
            maps = maps[:, order.num_prefix :]  # (Q, N)
            more = (maps - maps.mean(dim=0)).clamp_min(0) * counts
            sums = more.topk(min(FEW, len(place)), dim=1).values.sum(dim=1)  # (Q,)
            if sums.max() > best:
                best = float(sums.max())
                found = {"layer": layer, "head": head, "query": int(tried[sums.argmax()]) + order.num_prefix}
    return found


def _spread(count: int) -> list[int]:
    first = int(count > 2)
    inner = count - 2 * first
    tried = min(SIDE, inner)
    return [first + inner * (2 * each + 1) // (2 * tried) for each in range(tried)]


def _inside(at: torch.Tensor, count: int) -> torch.Tensor:
    return (at > 0) & (at < count - 1) if count > 2 else torch.ones_like(at, dtype=torch.bool)
