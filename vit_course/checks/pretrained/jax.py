"""Exercise pretrained.jax: queries, keys and values of the paper's own code, three into one of ours."""

import torch

from vit_course.checks.tools.mistakes import Known, Mistake
from vit_course.checks.tools.no_gradient import same_without_gradient


def jax(answer, draw):
    """`answer(query, key, value)`: (D, h, d) each -> (3D, D), or (h, d) each -> (3D,)."""
    heads, width = draw.sizes(2, low=4)  # three heads would be as many as there are tensors
    size = heads * width
    kernels = [_three(draw, size, heads, width), _three(draw, size, width, heads)]
    same_without_gradient(answer, joined, kernels, "(3D, D)", [*MISTAKES, *OF_KERNELS], KERNELS)
    biases = [_three(draw, heads, width), _three(draw, width, heads)]
    same_without_gradient(answer, joined, biases, "(3D,)", MISTAKES, BIASES)


def _three(draw, *shape: int) -> tuple[torch.Tensor, ...]:
    return tuple(draw.normal(*shape) for _ in range(3))


def converted(part: torch.Tensor) -> torch.Tensor:
    """(D, h, d) -> (D, D) as nn.Linear keeps it, a row an output; (h, d) -> (D,)"""
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


def joined(q, k, v, convert=converted, order=(0, 1, 2), join=torch.cat) -> torch.Tensor:
    """The right answer, and with one of its steps replaced a wrong one."""
    return join([convert((q, k, v)[place]) for place in order])


def _not_transposed(part: torch.Tensor) -> torch.Tensor:
    return part.flatten(-2)


BIASES = [
    Known(
        "Error: .*(permute|imension|hape|unpack)",
        "biases-not-taken",
        "A bias has no axis for the inputs, but your code expects one.",
    ),
]

KERNELS = [
    Known(
        r"Received: \(\d+, \d+\)$",
        "axes-mixed",
        "The two axes are not 3D outputs and D inputs: the wrong axes were joined, or a part is missing.",
    ),
]

MISTAKES = [
    Mistake(
        "kernel-not-turned",
        "The rows of the weights are inputs: this is correct for y = x W, but nn.Linear computes y = W x.",
        {"convert": _not_transposed},
    ),
    Mistake(
        "heads-innermost",
        "The numbers of the heads alternate: the first row belongs to head 0, the second to head 1.",
        {"convert": lambda part: converted(part.transpose(-1, -2))},
    ),
    Mistake(
        "axes-mixed",
        "The kernel was reshaped to (D, D) with its axes in the wrong order, so inputs and outputs are mixed.",
        {"convert": lambda part: part.transpose(0, 1).reshape(len(part), -1) if part.ndim == 3 else part.flatten()},
    ),
    Mistake("order-qvk", "Query, key and value are joined in the order query, value, key.", {"order": (0, 2, 1)}),
    Mistake("order-kqv", "Query, key and value are joined in the order key, query, value.", {"order": (1, 0, 2)}),
    Mistake("order-vqk", "Query, key and value are joined in the order value, query, key.", {"order": (2, 0, 1)}),
    Mistake("order-vkq", "Query, key and value are joined in the order value, key, query.", {"order": (2, 1, 0)}),
    Mistake(
        "one-part-repeated",
        "One of query, key and value is there more than once.",
        {"order": (0, 0, 0)},
        {"order": (0, 1, 1)},
        {"order": (0, 0, 2)},
    ),
    Mistake(
        "stacked",
        "Query, key and value are on a new axis, so the result has one axis more than a weight.",
        {"join": torch.stack},
    ),
    Mistake(
        "side-by-side", "The weights are side by side: a layer with this weight has 3D inputs.", {"join": torch.hstack}
    ),
    Mistake(
        "rows-alternate",
        "The rows of query, key and value alternate.",
        {"join": lambda parts: torch.stack(parts, dim=1).flatten(0, 1)},
    ),
    Mistake(
        "head-by-head",
        (
            "Query, key and value alternate from head to head; all queries should come first, then all keys, "
            "then all values."
        ),
        lambda q, k, v: converted(torch.stack([q, k, v], dim=-2).flatten(-3, -2)),
    ),
    Mistake(
        "query-scaled",
        "The query is divided by the square root of d, but our layer already scales the scores.",
        lambda q, k, v: joined(q / q.shape[-1] ** 0.5, k, v),
    ),
]

# Without effect on biases.
OF_KERNELS = [
    Mistake(
        "kernel-not-turned-and-order-qvk",
        "Two things are wrong. The rows of the weights are inputs. The order is query, value, key.",
        {"convert": _not_transposed, "order": (0, 2, 1)},
    ),
    Mistake(
        "kernel-not-turned-and-side-by-side",
        "Two things are wrong. The rows of the weights are inputs. The weights are side by side.",
        {"convert": _not_transposed, "join": torch.hstack},
    ),
]
