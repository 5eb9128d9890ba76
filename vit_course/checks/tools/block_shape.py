"""How a block is put together, seen with one branch silent or both: what is added, and where the norms stand."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.block_parts import BlockParts, normed
from vit_course.checks.tools.heads import close

_NORM = "where this model has it before the branch, on a way of its own."


def put_together(parts: BlockParts, x: torch.Tensor, draw) -> None:
    """Raises `Wrong` unless the block adds both branches to its input, each of them behind a norm.

    Args:
        parts: of the learner's block.
        x: (B, T, D).
        draw: of the check.
    """
    out = {}
    for attention in (False, True):
        for mlp in (False, True):
            row = parts.draw(draw, attention, mlp)
            for scale in parts.began_as_ones:
                row[scale] = 1
            out[attention, mlp] = (row, parts.out(row, x))
    silent, with_mlp, with_attention = (out[state][1] for state in ((False, False), (False, True), (True, False)))
    if not close(silent, x):
        raise _stream(x, silent, with_mlp, with_attention)
    _reads_normed(parts, x, *(out[state][0] for state in ((True, False), (False, True), (True, True))))


def _stream(x, silent, with_mlp, with_attention) -> Wrong:
    # With both branches silent, the input has to come through.
    details = ["Input:    matrices and biases of 0, so that attention and MLP add nothing", "Expected: the input"]

    def wrong(slug, sentence, received):
        return Wrong(slug, sentence, [*details, f"Received: {received}"])

    if not silent.abs().max() > 1e-5:
        if with_mlp.abs().max() > 1e-5:
            sentence = "The MLP's output replaces its input instead of being added to it."
            return wrong("no-second-residual", sentence, "0")
        if with_attention.abs().max() > 1e-5:
            sentence = "The attention's output replaces its input instead of being added to it."
            return wrong("no-first-residual", sentence, "0")
        return wrong("no-residual", "What went into a branch is not added to what comes out of it.", "0")
    for factor in (2, 3, 4):
        if close(silent, factor * x):
            return wrong("residual-twice", "The input of a branch is added twice.", f"{factor} times the input")
    if close(silent, normed(x)):
        if close(with_mlp, normed(with_mlp)):
            return wrong("post-norm", f"A norm stands behind a branch and its addition, {_NORM}", "the input, normed")
        sentence = "What is added to a branch's output is its normed input, not the input itself."
        return wrong("residual-from-norm", sentence, "the input, normed")
    if any(close(silent, sum_) for sum_ in (x + normed(x), x + normed(x) + normed(x + normed(x)))):
        sentence = "A normed input is added to the stream: one of the additions has a norm's output in it."
        return wrong("norm-in-stream", sentence, "the input and its norm added up")
    return wrong("wrong-behaviour", "With both branches silent, the input does not come through as it was.", "another")


def _through_mlp(parts: BlockParts, x: torch.Tensor, row: torch.Tensor) -> bool:
    without = row.clone()
    without[parts.attention] = 0
    return not close(parts.out(without, x), parts.out(row, x))


def _reads_normed(parts: BlockParts, x: torch.Tensor, attention_row, mlp_row, both_row) -> None:
    # A branch behind a norm gives the same for tokens that are stretched and shifted.
    without = []
    for name, row in (("attention", attention_row), ("MLP", mlp_row)):
        added, stretched = parts.out(row, x) - x, parts.out(row, 3 * x + 1) - (3 * x + 1)
        if not added.abs().max() > 1e-5:
            if name == "attention" and _through_mlp(parts, x, both_row):
                sentence = "The MLP's output is added to the block's input: what the attention adds ends in the MLP."
                raise Wrong("second-residual-around-both", sentence)
            raise Wrong("branch-missing", f"The {name} adds nothing to the stream.")
        if (added - stretched).norm() > 1e-3 * added.norm():
            if close(added, normed(added)):
                sentence = f"A norm stands behind the {name}, before the addition, {_NORM}"
                raise Wrong("norm-after-branch", sentence)
            if close(parts.out(row, 3 * x) - 3 * x, added):
                sentence = f"The norm before the {name} takes no mean away: with 1 added to all numbers of a token, "
                raise Wrong("no-mean-in-norm", f"{sentence}it makes something else of it.")
            if parts.out(row, 1e-3 * x).sub(1e-3 * x).norm() > 0.1 * added.norm():  # normed, then
                sentence = f"The {name} runs more than once, or reads something besides its normed input."
                raise Wrong("branch-twice", sentence)
            without.append(name)
    if len(without) == 2:
        raise Wrong("no-norm", "The branches read something that no LayerNorm has normed.")
    if without:
        raise Wrong("no-norm", f"The {without[0]} reads something that no LayerNorm has normed.")
