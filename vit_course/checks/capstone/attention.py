"""Exercise capstone.attention: self-attention as a module."""

import math

import torch
from torch import nn

from vit_course.attention import SelfAttention
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import alone, build, count, fill
from vit_course.checks.tools.tensors import equal, tensor


@exercise("Self-attention", section="Six steps, six checks", difficulty=3, minutes=15)
def attention(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D), its parameters named as you like."""
    for _ in range(2):
        batch, tokens = draw.sizes(2)
        # Coprime, so that a layer whose heads take every h-th number, as good as any, gives the same in `_values`.
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        layer = build(answer, hidden, heads)
        x = draw.normal(batch, tokens, hidden)
        out = tensor(call(layer, x), x.shape, "(B, T, D)", "the output")
        layer.eval()
        _parameters(layer, hidden, heads)
        order = draw.permutation(tokens)
        equal(
            call(layer, x[:, order]),
            call(layer, x)[:, order],
            "tokens-mixed",
            "Shuffled tokens do not give the same output, shuffled: the cut into heads mixes tokens.",
            axes="(B, T, D)",
        )
        alone(layer, x)
        out.sum().backward()
        if any(p.grad is None for p in layer.parameters() if p.requires_grad):
            raise Wrong("unused-parameters", "Some of the parameters have no part in the output.")
        _values(layer, x, heads)


def _parameters(layer: nn.Module, hidden: int, heads: int) -> None:
    found = count(layer)
    matrices = 4 * hidden * hidden
    biases = {0, hidden, 2 * hidden, 3 * hidden, 4 * hidden}
    if found - matrices in biases:
        return
    known = {
        3 * hidden * hidden: (
            "no-projection",
            "There are parameters for queries, keys and values, and none after them.",
        ),
        matrices - hidden * hidden * 2: (
            "shared-query-key",
            "Queries, keys and values do not have matrices of their own.",
        ),
    }
    for base, (slug, sentence) in known.items():
        if found - base in biases:
            raise Wrong(slug, sentence, [f"Received: {found} parameters at D = {hidden}, h = {heads}"])
    if found == 0:
        raise Wrong(
            "no-parameters", "The module has no parameters: its layers are not attributes, or lie in a plain list."
        )
    if found >= 3 * hidden * hidden * heads:
        raise Wrong(
            "heads-of-full-width",
            "Each head has matrices of the full width D; the heads are meant to share it.",
            [f"Received: {found} parameters at D = {hidden}, h = {heads}"],
        )
    raise Wrong(
        "wrong-parameters",
        "The number of parameters is not that of self-attention.",
        [
            f"Expected: {matrices} in matrices and up to {4 * hidden} in biases, at D = {hidden}, h = {heads}",
            f"Received: {found}",
        ],
    )


def _values(layer: nn.Module, x: torch.Tensor, heads: int) -> None:
    # With all matrices alike the right output is known, whatever the parameters are called.
    width = x.shape[-1] // heads
    ours = SelfAttention(x.shape[-1], heads).eval()
    for each in (layer, ours):
        fill(each, width, scale=0.5)
    expected = ours(x).detach()
    received = call(layer, x)

    def variant(dim=-1, divisor=width**0.5):
        q, k, v = ours.split_heads(x)
        out = (q @ k.transpose(-2, -1) / divisor).softmax(dim=dim) @ v
        return ours.projection(out.transpose(1, 2).flatten(2)).detach()

    for mistake, sentence, output in (
        ("softmax-over-queries", "The softmax runs over the queries.", variant(dim=-2)),
        ("no-scale", "The scores go into the softmax without being scaled.", variant(divisor=1)),
        (
            "sqrt-of-hidden-width",
            "The scores are divided by the root of the hidden width, not of the width of a head.",
            variant(divisor=math.sqrt(x.shape[-1])),
        ),
        ("scale-by-d", "The scores are divided by the width of a head itself.", variant(divisor=width)),
    ):  # fmt: skip
        if not torch.allclose(expected, output, rtol=1e-3) and torch.allclose(received, output, rtol=1e-3, atol=1e-4):
            equal(received, expected, mistake, sentence, axes="(B, T, D)")
    equal(received, expected, axes="(B, T, D)", context=["All matrices were set to known values, all biases to 0."])
