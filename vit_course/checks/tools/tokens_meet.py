"""How tokens meet in a layer: each sees all, in no order. For attention, block and what is made of them."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.tensors import equal


def tokens_meet(layer: nn.Module, x: torch.Tensor, draw) -> None:
    """Raises `Wrong` unless each token of (B, T, D) depends on all, and shuffled tokens give the output, shuffled."""
    _sees_all(_reach(layer, x, draw))
    order = draw.permutation(x.shape[1])
    equal(
        feed(layer, x[:, order]),
        feed(layer, x)[:, order],
        "tokens-mixed",
        "Shuffling the tokens does not just shuffle the output: cutting or joining the heads mixes tokens, or the "
        "module uses something like positions.",
        axes="(B, T, D)",
    )  # fmt: skip


def _reach(layer: nn.Module, x: torch.Tensor, draw) -> torch.Tensor:
    # (T, T), bool: whether the output at the token of the row changes with the token of the column.
    tokens = x.shape[1]
    changed = x[:1].repeat(tokens, 1, 1)
    changed[range(tokens), range(tokens)] = draw.normal(tokens, x.shape[2])
    apart = (feed(layer, changed) - feed(layer, x[:1])).norm(dim=2).detach()
    return (apart > 1e-5 * apart.max()).T


def _sees_all(reach: torch.Tensor) -> None:
    if reach.all():
        return
    row, column = (~reach).nonzero()[0].tolist()
    details = [f"Received: token {row} does not change with token {column}, of {len(reach)} tokens"]
    if torch.equal(reach, torch.eye(len(reach), dtype=torch.bool)):
        raise Wrong("tokens-apart", "No token sees another one.", details)
    if torch.equal(reach, reach.tril()):
        sentence = "No token sees a later one: there is a causal mask, as in a language model."
        raise Wrong("causal-mask", sentence, details)
    if torch.equal(reach, reach.triu()):
        raise Wrong("causal-mask", "No token sees an earlier one: a mask hides a triangle.", details)
    raise Wrong("tokens-mixed", "The cut into heads mixes tokens, so some do not see each other.", details)
