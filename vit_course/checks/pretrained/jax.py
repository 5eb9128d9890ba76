"""Exercise pretrained.jax: queries, keys and values of the paper's own code, three into one of ours."""

from collections.abc import Callable

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.no_gradient import same_without_gradient

PARTS = {"q": "query", "k": "key", "v": "value"}
ORDERS = ("qvk", "kqv", "kvq", "vqk", "vkq")


@exercise("10.1", "From JAX's shapes", section="Your ViT can be this one", difficulty=2, minutes=10)
def jax(answer, draw):
    """`answer(query, key, value)`: (D, h, d) each -> (3D, D), or (h, d) each -> (3D,)."""
    heads, width = draw.sizes(2)
    for axes, inputs in (("(3D, D)", (heads * width,)), ("(3D,)", ())):
        shapes = [(*inputs, heads, width), (*inputs, width, heads)]
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        size = heads * width
        pairs = "|".join(
            f"{rows}, {3 * size * size // rows}"
            for rows in range(1, 3 * size * size + 1)
            if 3 * size * size % rows == 0
        )
        errors = "kernels" if inputs else "biases"
        same_without_gradient(__name__, answer, _joined, draws, axes, errors=errors, seen=locals())


def _plain(part: torch.Tensor) -> torch.Tensor:
    # (D, h, d) -> (D, D) as nn.Linear keeps it, a row an output; (h, d) -> (D,)
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


def _joined(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.cat([_plain(q), _plain(k), _plain(v)])


def _from(plain: Callable) -> Callable:
    return lambda q, k, v: torch.cat([plain(q), plain(k), plain(v)])
