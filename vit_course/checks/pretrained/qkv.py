"""Exercise pretrained.qkv: weights or biases of queries, keys and values, three into one."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.pretrained.shared import PARTS
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("Three into one", difficulty=1, minutes=5)
def qkv(answer, draw):
    """`answer(query, key, value)`: (D, D) each -> (3D, D), or (D,) each -> (3D,)."""
    small, large = draw.sizes(2)
    for axes, shapes in (("(3D, D)", [(large, large), (small, small)]), ("(3D,)", [(large,), (small,)])):
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        same_function(answer, lambda query, key, value: torch.cat([query, key, value]), draws, _JOINED, axes)


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.T if tensor.ndim == 2 else tensor


_JOINED = [
    *(
        Mistake(
            f"order-{''.join(order)}",
            f"The three are joined in the order {', '.join(PARTS[part] for part in order)}.",
            lambda q, k, v, order=order: torch.cat([{"q": q, "k": k, "v": v}[part] for part in order]),
        )
        for order in ("qvk", "kqv", "kvq", "vqk", "vkq")
    ),
    Mistake(
        "side-by-side",
        "The weights stand side by side: a layer with this weight has 3D inputs.",
        lambda q, k, v: torch.cat([q, k, v], dim=-1),
    ),
    Mistake(
        "rows-alternate",
        "The rows alternate, one of each in turn: the first D outputs are a part of each of the three.",
        lambda q, k, v: torch.stack([q, k, v], dim=1).flatten(0, 1),
    ),
    Mistake(
        "columns-alternate",
        "The numbers of the three alternate within each row.",
        lambda q, k, v: torch.stack([q, k, v], dim=-1).reshape(3 * len(q), *q.shape[1:]),
    ),
    Mistake(
        "transposed",
        "Each of the three weights is transposed: rows and columns, outputs and inputs, are exchanged.",
        lambda q, k, v: torch.cat([_turned(q), _turned(k), _turned(v)]),
    ),
    Mistake(
        "transposed-after",
        "The weights are joined rightly, and then transposed.",
        lambda q, k, v: _turned(torch.cat([q, k, v])),
    ),
    Mistake(
        "stacked",
        "The three lie on an axis of their own: the result has an axis more than a weight.",
        lambda q, k, v: torch.stack([q, k, v]),
    ),
    Mistake("added", "The three are added, so none of them can be had back.", lambda q, k, v: q + k + v),
]
