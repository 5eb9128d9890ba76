"""Exercise capstone.attention: self-attention as a module."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.biases import draw_biases, same_with_biases
from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.heads import Vectors, attend, close, heads_of, name_the_slip
from vit_course.checks.tools.mistakes import Slip
from vit_course.checks.tools.modules import alone, build, feed, repeats, trained_by
from vit_course.checks.tools.roles import Watched, find_roles
from vit_course.checks.tools.tensors import equal, tensor
from vit_course.checks.tools.tokens_meet import tokens_meet

ASKER = 1  # not the first, to which a causal mask leaves no choice


def attention(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D), its parameters named as you like."""
    for (batch, tokens), (heads, d) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        hidden = heads * d
        layer = build(answer, hidden, heads)
        x = draw.normal(batch, tokens, hidden)
        tensor(feed(layer, x), x.shape, "(B, T, D)", "the output")
        layer.eval()
        small = any(tuple(p.shape)[-2:] == (d, d) for p in layer.parameters())
        right = [4 * hidden * hidden + biases * hidden for biases in (4, 3, 2, 1, 0)]
        counted(
            layer, right, PARAMETERS, dict(hidden=hidden, small=small, heads=heads, d=d), f"D = {hidden}, h = {heads}"
        )
        tensor(feed(layer, x), x.shape, "(B, T, D)", "the output in eval mode")
        _draw_matrices(layer, hidden, draw)
        repeats(layer, x)
        trained_by(layer, x, draw, through=True)
        alone(layer, x)
        for fewer in (x[:, :1], x[:, 1:]):
            tensor(feed(layer, fewer), fewer.shape, "(B, T, D)", "the output for another number of tokens")
        tokens_meet(layer, x, draw)
        _same_attention(layer, x, heads, draw)


def head_sizes(draw) -> list[tuple[int, int]]:
    """(heads, width of a head), twice, of which one differs in the number of heads from the other."""
    # 4 heads at least or a width of 5, so that any matrix, of one head too, has more numbers than all biases. Not three
    # heads: then two matrices of D x D are as many numbers as three a head of d x d, and one.
    return [draw.choose([(2, 5), (2, 7)]), (4, 5)]


def _draw_matrices(module: nn.Module, hidden: int, draw) -> None:
    # No two parts alike, no biases, and the scores so small that no softmax has an end.
    with torch.no_grad():
        for parameter in module.parameters():
            size = 0.5 * hidden**-0.5 if parameter.numel() > 3 * hidden else 0
            parameter.copy_(size * draw.normal(*parameter.shape))


def _same_attention(layer: nn.Module, x: torch.Tensor, heads: int, draw) -> None:
    hidden, flat = x.shape[-1], Flat(list(layer.parameters()))
    matrices = [flat.places(p) for p in flat.parameters if p.numel() > 3 * hidden]
    vectors = [flat.places(p).flatten() for p in flat.parameters if p.numel() <= 3 * hidden]
    watched = Watched(flat, lambda x: feed(layer, x[None])[0, ASKER], ASKER)
    roles = find_roles(watched, matrices, draw.normal(4, hidden), draw.normal(hidden))
    flat.set(3 * flat.get())
    row, received = flat.get(), feed(layer, x).detach()

    def run(cut, **steps):
        return attend([Vectors.of(head, row) for head in cut[0]], x, **steps)

    found = heads_of(roles, hidden, heads)
    expected = run([found]) if found else None
    if expected is None or not close(received, expected):
        context = ["Input:    random matrices, no two alike, and biases of 0"]
        slip = name_the_slip([roles], hidden, heads, run, received)
        if slip is None and expected is not None:
            equal(received, expected, axes="(B, T, D)", context=context)
        details = [f"Expected: {heads} heads of width {hidden // heads}", f"Received: {roles.described()}"]
        sentence = "The parameters do not form heads that work independently."
        mistake, sentence, details = slip or ("wrong-behaviour", sentence, details)
        if expected is not None:
            equal(received, expected, mistake, sentence, axes="(B, T, D)", context=[*context, *details])
        raise Wrong(mistake, sentence, [*context, *details])
    spare = torch.cat([torch.zeros(0, dtype=torch.long), *vectors])
    vectors, last = draw_biases(watched, found, spare, lambda: draw.normal(4, hidden), draw)
    expected, received = attend(vectors, x) + last, feed(layer, x).detach()
    same_with_biases(received, expected, "(B, T, D)")


PARAMETERS = [
    Slip(
        "shared-query-key",
        "Queries, keys and values do not have separate matrices.",
        lambda hidden: -2 * hidden * hidden,
    ),
    Slip(
        "no-parameters",
        "The module has no parameters: its layers are not attributes, or are in a plain list.",
        lambda right: -right,
    ),
    Slip(
        "heads-not-registered",
        "The layers of the heads are not part of the module: a plain list hides them.",
        lambda hidden: -3 * hidden * hidden,
    ),
    Slip(
        "no-projection",
        "There are parameters for queries, keys and values, but none after them.",
        lambda hidden: -hidden * hidden,
    ),
    Slip(
        "heads-see-a-part",
        (
            "The matrices of a head are d x d, so it reads only its own part of a token; every head should read "
            "the whole token."
        ),
        lambda hidden, d, small: 3 * hidden * (d - hidden) if small else None,
        lambda hidden, d, small: 3 * hidden * (d - hidden) + 3 * d if small else None,
    ),
    Slip(
        "one-head-shared",
        "All heads share one set of matrices.",
        lambda small, hidden, d: None if small else 3 * hidden * (d - hidden),
        lambda small, hidden, d: None if small else 3 * hidden * (d - hidden) + 3 * d,
    ),
    Slip(
        "one-head-shared",
        "All heads share one set of matrices of d x d numbers.",
        lambda d, hidden: 3 * d * d - 3 * hidden * hidden,
        lambda d, hidden: 3 * d * d - 3 * hidden * hidden + 3 * d,
    ),
    Slip("norm-added", "There is a norm in the module: that is the job of the block.", lambda hidden: 2 * hidden),
    Slip(
        "heads-of-full-width",
        "Each head has matrices of the full width D; the heads should share that width.",
        lambda hidden, heads: 3 * hidden * hidden * (heads - 1),
        lambda hidden, heads: 3 * hidden * hidden * (heads - 1) + 3 * hidden * (heads - 1),
        lambda hidden, heads: (3 * hidden * hidden + hidden * hidden) * (heads - 1),
        lambda hidden, heads: (
            3 * hidden * hidden * (heads - 1) + 3 * hidden * (heads - 1) + hidden * hidden * (heads - 1)
        ),
    ),
]
