"""Exercise pretrained.jax: queries, keys and values of the paper's own code, three into one of ours."""

import torch

from vit_course.checks.tools.mistakes import Known, Slip, wrong_functions
from vit_course.checks.tools.no_gradient import same_without_gradient


def jax(answer, draw):
    """`answer(query, key, value)`: (D, h, d) each -> (3D, D), or (h, d) each -> (3D,)."""
    heads, width = draw.sizes(2, low=4)  # three heads would be as many as there are tensors
    size = heads * width
    for axes, errors, inputs in (("(3D, D)", _of_kernels, (size,)), ("(3D,)", _of_biases, ())):
        shapes = [(*inputs, heads, width), (*inputs, width, heads)]
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        mistakes = wrong_functions(MISTAKES, _joined, pairs=5)
        same_without_gradient(answer, _joined, draws, axes, mistakes, errors(size, width))


def _plain(part: torch.Tensor) -> torch.Tensor:
    # (D, h, d) -> (D, D) as nn.Linear keeps it, a row an output; (h, d) -> (D,)
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


def _joined(q, k, v, each=_plain, order=(0, 1, 2), join=torch.cat) -> torch.Tensor:
    return join([each((q, k, v)[place]) for place in order])


def _of_biases(size: int, width: int) -> list[Known]:
    return [
        Known(
            "Error: .*(permute|imension|hape|unpack)",
            "biases-not-taken",
            "A bias has no axis for the inputs, but your code expects one.",
        ),
        Known(r"Received: \(\d+, \d+\)$", "bias-in-rows", "The bias still has two axes; it should have one."),
        Known(
            rf"Received: \({size},\)$",
            "only-one-of-three",
            "The bias is only as large as that of query, key or value alone.",
        ),
        Known(r"Received: \({3 * width},\)$", "one-head", "Only one head each of query, key and value is there."),
    ]


def _of_kernels(size: int, width: int) -> list[Known]:
    return [
        Known(
            rf"Received: \({size}, {size}\)$",
            "only-one-of-three",
            "The weight is only as large as that of query, key or value alone: they are added up, or two are missing.",
        ),
        Known(
            rf"Received: \({3 * width}, {size}\)$", "one-head", "Only one head each of query, key and value is there."
        ),
        Known(
            r"Received: \(\d+, \d+\)$",
            "axes-mixed",
            "The two axes are not 3D outputs and D inputs: the wrong axes were joined, or a part is missing.",
        ),
        Known(
            r"Received: \(\d+, \d+, \d+\)$", "axis-left", "There are three axes; a weight has two, outputs and inputs."
        ),
    ]


MISTAKES = {
    "each": [
        Slip(
            "kernel-not-turned",
            "The rows of the weights are inputs: this is correct for y = x W, but nn.Linear computes y = W x.",
            lambda part: part.flatten(-2),
        ),
        Slip(
            "heads-innermost",
            "The numbers of the heads alternate: the first row belongs to head 0, the second to head 1.",
            lambda part: _plain(part.transpose(-1, -2)),
        ),
        Slip(
            "axes-mixed",
            "The kernel was reshaped to (D, D) with its axes in the wrong order, so inputs and outputs are mixed.",
            lambda part: part.transpose(0, 1).reshape(len(part), -1) if part.ndim == 3 else part.flatten(),
        ),
    ],
    "order": [
        Slip("order-qvk", "Query, key and value are joined in the order query, value, key.", (0, 2, 1)),
        Slip("order-kqv", "Query, key and value are joined in the order key, query, value.", (1, 0, 2)),
        Slip("order-kvq", "Query, key and value are joined in the order key, value, query.", (1, 2, 0)),
        Slip("order-vqk", "Query, key and value are joined in the order value, query, key.", (2, 0, 1)),
        Slip("order-vkq", "Query, key and value are joined in the order value, key, query.", (2, 1, 0)),
        Slip(
            "one-part-repeated",
            "One of query, key and value is there more than once.",
            (0, 0, 0),
            (0, 1, 1),
            (0, 0, 2),
            (0, 2, 2),
            (0, 1, 0),
        ),
    ],
    "join": [
        Slip(
            "stacked",
            "Query, key and value are on a new axis, so the result has one axis more than a weight.",
            torch.stack,
        ),
        Slip("side-by-side", "The weights are side by side: a layer with this weight has 3D inputs.", torch.hstack),
        Slip(
            "rows-alternate",
            "The rows of query, key and value alternate.",
            lambda parts: torch.stack(parts, dim=1).flatten(0, 1),
        ),
    ],
    "result": [
        Slip(
            "one-part-turned",
            "Only the kernel of the query is transposed; those of key and value still have a row for each input.",
            lambda q, k, v: torch.cat([_plain(q), k.flatten(-2), v.flatten(-2)]),
        ),
        Slip(
            "head-by-head",
            (
                "Query, key and value alternate from head to head; all queries should come first, then all keys, "
                "then all values."
            ),
            lambda q, k, v: _plain(torch.stack([q, k, v], dim=-2).flatten(-3, -2)),
        ),
        Slip(
            "query-scaled",
            "The query is divided by the square root of d, but our layer already scales the scores.",
            lambda q, k, v: _joined(q / q.shape[-1] ** 0.5, k, v),
        ),
    ],
}
