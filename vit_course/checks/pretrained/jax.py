"""Exercise pretrained.jax: queries, keys and values of the paper's own code, three into one of ours."""

from collections.abc import Callable

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details
from vit_course.checks.tools.table import table

PARTS = {"q": "query", "k": "key", "v": "value"}
ORDERS = ("qvk", "kqv", "kvq", "vqk", "vkq")


@exercise("10.1", "From JAX's shapes", section="Your ViT can be this one", difficulty=2, minutes=10)
def jax(answer, draw):
    """`answer(query, key, value)`: (D, h, d) each -> (3D, D), or (h, d) each -> (3D,)."""
    heads, width = draw.sizes(2)
    for axes, inputs in (("(3D, D)", (heads * width,)), ("(3D,)", ())):
        shapes = [(*inputs, heads, width), (*inputs, width, heads)]
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        with named_by_details(*_by_shape(heads * width, width, bool(inputs))):
            same_function(
                any_precision(answer), _joined, draws, table(__name__, "mistakes"), axes, differentiable=False
            )


def _by_shape(size: int, width: int, kernels: bool) -> list[Known]:
    # What an error, or the shape of a result, says of kernels (D, h, d) or of biases (h, d); size: D, width: d.
    one_head = "Only one head of each of the three is there."
    if not kernels:
        return [
            Known(
                r"Error: .*(permute|imension|hape|unpack)",
                "biases-not-taken",
                "A bias has no axis for the inputs, and your code asks for one.",
            ),
            Known(rf"Received: \({3 * size}, 1\)$", "axis-kept", "The bias has an axis of length 1 too many."),
            Known(r"Received: \(\d+, \d+\)$", "bias-in-rows", "The bias still has two axes: it is to lie in one line."),
            Known(rf"Received: \({size},\)$", "only-one-of-three", "The bias has the size of one of the three."),
            Known(rf"Received: \({3 * width},\)$", "one-head", one_head),
        ]
    return [
        Known(r"Error: .*(pattern|invalid for input)", "heads-by-number", "Axes are cut or joined by numbers that are "
              "written down, and these kernels have others."),
        Known(rf"Received: \({size}, {3 * size}\)$", "side-by-side-and-not-turned",
              "The kernels stand side by side as they are: a weight of nn.Linear has a row for each output."),
        Known(rf"Received: \({size}, 3, {size}\)$", "stacked",
              "The three lie on an axis of their own: the result has an axis more than a weight."),
        Known(rf"Received: \({size}, {size}\)$", "only-one-of-three",
              "The weight has the size of one of the three: they are added up, or two are missing."),
        Known(r"Received: \(\d+,\)$", "flattened", "The weight lies in one line: the axis of the inputs is gone."),
        Known(rf"Received: \({3 * width}, {size}\)$", "one-head", one_head),
        Known(rf"Received: \(({_lengths(3 * size * size)})\)$", "axes-mixed",
              "Other axes were made one than the two that are the output, heads and width."),
        Known(r"Received: \(\d+, \d+, \d+\)$", "heads-kept", "The heads still have an axis of their own."),
    ]  # fmt: skip


def _lengths(count: int) -> str:
    # A pattern of two axes that hold so many numbers.
    return "|".join(f"{rows}, {count // rows}" for rows in range(1, count + 1) if count % rows == 0)


def _plain(part: torch.Tensor) -> torch.Tensor:
    # (D, h, d) -> (D, D) as nn.Linear keeps it, a row an output; (h, d) -> (D,)
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


def _joined(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.cat([_plain(q), _plain(k), _plain(v)])


def _from(plain: Callable) -> Callable:
    return lambda q, k, v: torch.cat([plain(q), plain(k), plain(v)])
