"""Exercise pretrained.jax: queries, keys and values of the paper's own code, three into one of ours."""

import torch

from vit_course.checks.tools.no_gradient import same_without_gradient


def jax(answer, draw):
    """`answer(query, key, value)`: (D, h, d) each -> (3D, D), or (h, d) each -> (3D,)."""
    heads, width = draw.sizes(2, low=4)  # three heads would be as many as there are tensors
    size = heads * width
    for axes, errors, inputs in (("(3D, D)", "kernels", (size,)), ("(3D,)", "biases", ())):
        shapes = [(*inputs, heads, width), (*inputs, width, heads)]
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        same_without_gradient(__name__, answer, _joined, draws, axes, errors=errors, seen=locals())


def _plain(part: torch.Tensor) -> torch.Tensor:
    # (D, h, d) -> (D, D) as nn.Linear keeps it, a row an output; (h, d) -> (D,)
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


def _joined(q, k, v, each=_plain, order=(0, 1, 2), join=torch.cat) -> torch.Tensor:
    return join([each((q, k, v)[place]) for place in order])
