"""Exercise pretrained.jax: queries, keys and values of the paper's own code, three into one of ours."""

from collections.abc import Callable

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function

PARTS = {"q": "query", "k": "key", "v": "value"}


@exercise("From JAX's shapes", section="Your ViT can be this one", difficulty=2, minutes=10)
def jax(answer, draw):
    """`answer(query, key, value)`: (D, h, d) each -> (3D, D), or (h, d) each -> (3D,)."""
    heads, width = draw.sizes(2)
    for axes, inputs in (("(3D, D)", (heads * width,)), ("(3D,)", ())):
        shapes = [(*inputs, heads, width), (*inputs, width, heads)]
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        same_function(answer, _joined, draws, _MISTAKES, axes)


def _plain(part: torch.Tensor) -> torch.Tensor:
    # (D, h, d) -> (D, D) as nn.Linear keeps it, a row an output; (h, d) -> (D,)
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


def _joined(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.cat([_plain(q), _plain(k), _plain(v)])


def _from(plain: Callable) -> Callable:
    return lambda q, k, v: torch.cat([plain(q), plain(k), plain(v)])


_MISTAKES = [
    *(
        Mistake(
            f"order-{''.join(order)}",
            f"The three are joined in the order {', '.join(PARTS[part] for part in order)}.",
            lambda q, k, v, order=order: _joined(*({"q": q, "k": k, "v": v}[part] for part in order)),
        )
        for order in ("qvk", "kqv", "kvq", "vqk", "vkq")
    ),
    Mistake(
        "kernel-not-turned",
        "The rows of the weights are inputs: this is right for y = x W, and nn.Linear computes y = W x.",
        _from(lambda part: part.flatten(-2)),
    ),
    Mistake(
        "heads-innermost",
        "The numbers of the heads alternate: the first row belongs to head 0, the second to head 1.",
        _from(lambda part: _plain(part.transpose(-1, -2))),
    ),
    Mistake(
        "axes-mixed",
        "The kernel was reshaped to (D, D) with its axes in a wrong order: inputs and outputs are mixed.",
        _from(lambda part: part.transpose(0, 1).reshape(len(part), -1) if part.ndim == 3 else part.flatten()),
    ),
    Mistake(
        "stacked",
        "The three lie on an axis of their own: the result has an axis more than a weight.",
        lambda q, k, v: torch.stack([_plain(q), _plain(k), _plain(v)]),
    ),
    Mistake(
        "side-by-side",
        "The weights stand side by side: a layer with this weight has 3D inputs.",
        lambda q, k, v: torch.cat([_plain(q), _plain(k), _plain(v)], dim=-1),
    ),
    Mistake(
        "rows-alternate",
        "The rows of query, key and value alternate.",
        lambda q, k, v: torch.stack([_plain(q), _plain(k), _plain(v)], dim=1).flatten(0, 1),
    ),
]
