"""Whether the blocks inside a whole model are pre-norm blocks, all different, in a row, with one norm behind them."""

from itertools import permutations

import torch
import torch.nn.functional as F

from vit_course.checks.report import Wrong
from vit_course.checks.tools.block_parts import Norm, normed
from vit_course.checks.tools.heads import MISTAKES, RIGHT, Vectors, attend, close, heads_of
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.roles import Watched, find_roles
from vit_course.checks.tools.whole_parts import FAR, Branch, WholeParts

_GELUS = (F.gelu, lambda z: F.gelu(z, approximate="tanh"))
_OTHERS = {
    "relu": ("The MLPs have a ReLU between their layers, and this model has a GELU there.", F.relu),
    "no-activation": ("The MLPs have nothing between their layers.", lambda z: z),
    "not-gelu": ("The MLPs have another function than a GELU between their layers.", F.silu),
    "tanh": ("The MLPs have a tanh between their layers, and this model has a GELU there.", torch.tanh),
}


def blocks_in_a_row(parts: WholeParts, layers: int, heads: int, draw) -> None:
    """Raises `Wrong` unless the class token is what pre-norm blocks and one last norm make of the tokens.

    Args:
        parts: of the learner's model.
        layers, heads: L and h.
        draw: of the check.
    """
    _reads_out(parts, draw)
    branches = parts.branches(draw)
    attentions, mlps = ([one for one in branches if one.is_mlp == kind] for kind in (False, True))
    if len(attentions) != layers or len(mlps) != layers:
        if len(attentions) == layers * heads:  # a projection for each head: which are of one block is not known
            return
        if not attentions and len(mlps) == layers:
            sentence = "In the blocks the attention acts on the output through the MLP alone: the second addition "
            raise Wrong("second-residual-around-both", f"{sentence}goes around both branches, as it seems.")
        raise Wrong(
            "wrong-behaviour",
            "The blocks are not made of an attention and an MLP each.",
            [f"Expected: {layers} of each", f"Received: {len(attentions)} attentions and {len(mlps)} MLPs"],
        )
    last = parts.find_norms(branches, draw)
    stream_free = _stream_free(parts, branches, layers, draw)
    _norms_in_place(parts, branches, last, stream_free, draw)
    row = parts.row()
    for norm in (last, *(branch.norm for branch in branches)):
        row[norm.scale], row[norm.shift] = 1 + 0.3 * draw.normal(parts.width), draw.normal(parts.width)
    row = parts.drawn(row, parts.matrices, draw, gain=1.5)
    found = [_heads(parts, branch, heads, draw) for branch in attentions]
    parts.flat.set(row)
    x = draw.normal(1, parts.tokens, parts.width)
    received = parts.output(x[0]).detach()[: parts.width]
    _compare(parts, row, x, received, list(zip(attentions, found, strict=True)), mlps, last, heads)


def _reads_out(parts: WholeParts, draw) -> None:
    # With silent branches, the logits are the class token behind the last norm.
    parts.flat.set(parts.row(1.0))
    x = draw.normal(parts.tokens, parts.width)
    out = parts.output(x).detach()
    expected = torch.zeros(parts.classes)
    expected[: parts.width] = normed(x[0]) + 1
    details = ["Input:    matrices of 0 in all blocks, and a head that passes on what it gets"]
    if close(out, expected):
        return
    for slug, sentence, function in (
        ("softmax-in-model", "A softmax follows the head, and the loss would do it a second time.", torch.softmax),
        ("log-softmax-in-model", "A log-softmax follows the head: what comes out are no logits.", torch.log_softmax),
    ):
        if close(out, function(expected, 0)):
            raise Wrong(slug, sentence, details)
    if close(out, expected.relu()) or close(out, F.gelu(expected)) or close(out, expected.tanh()):
        raise Wrong("function-behind-head", "A function acts on the logits: the head is not the last step.", details)
    factor = out[: parts.width] @ expected[: parts.width] / expected.square().sum()
    if close(out, factor * expected):
        raise Wrong("logits-scaled", "The logits are the right ones times a factor.", details)
    got = out[: parts.width] - out[: parts.width].mean()
    if close(got, x[0] - x[0].mean()) or close(got, normed(x[0])):  # a norm may stand before the blocks
        raise Wrong(
            "no-last-norm", "The head gets what the last block gives as it is: no norm stands between.", details
        )
    raise Wrong(
        "wrong-behaviour",
        "With silent blocks, the head does not get the class token behind the last norm.",
        [*details, f"Expected: {expected[0]:.3f} at [0]", f"Received: {out[0]:.3f}"],
    )


def _norms_in_place(parts: WholeParts, branches: list[Branch], last: Norm | None, stream_free: bool, draw) -> None:
    if last is None:
        raise Wrong("no-last-norm", "Behind the last block stands no norm with a scale and a shift of its own.")
    scales = [tuple(branch.norm.scale.tolist()) for branch in branches if branch.norm]
    if len(set(scales)) < len(scales) or tuple(last.scale.tolist()) in scales:
        raise Wrong("shared-norm", "One norm serves several branches, and each has one of its own.")
    without = [branch for branch in branches if branch.norm is None]
    if without and stream_free and _normed_behind(parts, branches, draw):
        sentence = "A norm stands behind a branch, before the addition, where this model has it before the branch."
        raise Wrong("norm-after-branch", sentence)
    if without and stream_free:  # what it reads is normed, and not by a LayerNorm of the tokens alone
        if _modules_twice(parts):
            sentence = f"{len(without)} of {len(branches)} branches run more than once for each image."
            raise Wrong("blocks-twice", sentence)
        sentence = f"{len(without)} of {len(branches)} branches read something else than the tokens behind a LayerNorm "
        raise Wrong("norm-missing", f"{sentence}of their own.")
    if len(without) == len(branches) and not _runs_once(parts, last, draw):
        raise Wrong("last-norm-twice", "The last norm runs more than once.")
    if len(without) == len(branches):
        raise Wrong("norm-missing", "The branches of the blocks read their input without a norm.")
    if without:
        kind = "MLP" if without[0].is_mlp else "attention"
        raise Wrong("norm-missing", f"In {len(without)} of {len(branches)} branches no norm stands before the {kind}.")


def _normed_behind(parts: WholeParts, branches: list[Branch], draw) -> bool:
    # Then what a branch adds does not grow with its last matrix.
    x, row = draw.normal(parts.tokens, parts.width), parts.drawn(parts.row(1.0), parts.matrices, draw, gain=1.5)
    larger = row.clone()
    for branch in branches:
        larger[branch.matrices[0]] *= 8
    out = []
    for one in (row, larger):
        parts.flat.set(one)
        out.append(parts.output(x).detach())
    return bool((out[0] - out[1]).norm() < 0.05 * out[0].norm())


def _modules_twice(parts: WholeParts) -> bool:
    # Whether a module with matrices is called more than once for one batch.
    calls: dict[int, int] = {}

    def counted(module, *_):
        calls[id(module)] = calls.get(id(module), 0) + 1

    called = [m for m in parts.model.modules() if any(p.ndim > 1 for p in m.parameters())]
    hooks = [module.register_forward_pre_hook(counted) for module in called]
    feed(parts.model, parts.images)
    for hook in hooks:
        hook.remove()
    return max(calls.values(), default=0) > 1


def _runs_once(parts: WholeParts, last: Norm, draw) -> bool:
    row, x = parts.row(1.0), draw.normal(parts.tokens, parts.width)
    row[last.scale], row[last.shift] = 1 + 0.3 * draw.normal(parts.width), draw.normal(parts.width)
    parts.flat.set(row)
    return close(parts.output(x).detach()[: parts.width], last.of(x, row)[0])


def _stream_free(parts: WholeParts, branches: list[Branch], layers: int, draw) -> bool:
    # What the branches add is nothing beside tokens of great length, unless a norm makes these short on their way.
    parts.flat.set(parts.drawn(parts.row(1.0), parts.matrices, draw))
    x = draw.normal(parts.tokens, parts.width)
    far, expected = parts.output(FAR * x).detach()[: parts.width], normed(x[0]) + 1
    if (far - expected).norm() < 1e-2 * expected.norm():
        return True
    # With silent branches the class token, the biases that a branch ends with and the last norm have a gradient. The
    # blocks' norms have none, unless they stand in the stream.
    slopes = parts.slopes(parts.row(1.0), x, draw.normal(parts.classes))
    if sum(bool(slopes[part].norm() > 0) for part in parts.slices) > 2 * layers + 3:
        sentence = "The blocks have norms in the stream, where this model has them on the way into a branch."
        raise Wrong("post-norm", sentence)
    if any(branch.norm is None for branch in branches):  # a branch without a norm adds as much as it reads
        return False
    sentence = "A norm stands in the stream between the blocks: the last norm runs after every block, or before it."
    raise Wrong("last-norm-after-every-block", sentence)


def _heads(parts: WholeParts, branch: Branch, heads: int, draw) -> list:
    row = parts.row()
    row[branch.norm.scale] = 1
    for part in parts.slices:  # the last norm's, and those of silent branches, which pass on nothing
        if not set(part.tolist()) & set(branch.through.tolist()):
            row[part] = 1
    parts.flat.set(parts.drawn(row, branch.matrices, draw))
    watched = Watched(parts.flat, parts.output, 0)
    tokens = FAR * normed(draw.normal(parts.tokens, parts.width))
    roles = find_roles(watched, branch.matrices, tokens, draw.normal(parts.classes))
    return heads_of(roles, parts.width, heads) or [roles.head(roles.pairs, sorted(roles.outs))]


# slug, sentence, ways to run the blocks
_SLIPS = [
    ("last-norm-twice", "The last norm runs twice.", [dict(twice=True)]),
    ("mlp-first", "In the blocks the MLP comes before the attention.", [dict(way="mlp-first")]),
    ("positions-twice", "The positions are added twice.", [dict(start=2)]),
    ("positions-in-every-block", "The positions are added again at every block.",
     [dict(again=1), dict(start=0, again=1)]),
    ("residual-twice", "The input of each block is added once more behind it.", [dict(around=1)]),
    ("parallel", "Both branches of a block read its input, where the second reads what the first left.",
     [dict(way="parallel")]),
    *((slug, sentence, [dict(function=function)]) for slug, (sentence, function) in _OTHERS.items()),
    *((slug, f"Inside the blocks: {sentence[0].lower()}{sentence[1:]}", [dict(kind=kind) for kind in kinds])
      for slug, (sentence, kinds) in MISTAKES.items()),
]  # fmt: skip


def _compare(parts: WholeParts, row, x, received, attentions, mlps, last: Norm, heads: int) -> None:
    def attention(one, z, kind=RIGHT):
        branch, heads = one
        return attend([Vectors.of(head, row) for head in heads], branch.norm.of(z, row), kind)

    def mlp(branch, z, function):
        wide = [row[matrix].squeeze() for matrix in branch.matrices]
        second, first = (m if m.shape[-1] == parts.width else m.T for m in wide)  # the last one is its first matrix
        return function(branch.norm.of(z, row) @ first.T) @ second

    def after(z):
        return last.of(z, row)

    def run(order, function=F.gelu, kind=RIGHT, twice=False, way="right", start=1, again=0, around=0):
        z = start * x
        for one, branch in order:
            came = z
            z = z + again * x
            if way == "mlp-first":
                z = z + mlp(branch, z, function)
                z = z + attention(one, z, kind)
            elif way == "parallel":
                z = z + attention(one, z, kind) + mlp(branch, z, function)
            else:
                z = z + attention(one, z, kind)
                z = z + mlp(branch, z, function)
            z = z + around * came
        return (after(after(z)) if twice else after(z))[0, 0]

    orders = [
        list(zip(first, second, strict=True)) for first in permutations(attentions) for second in permutations(mlps)
    ]
    right = any(close(received, run(order, function)) for order in orders for function in _GELUS)
    if any(len(found) != heads for _, found in attentions):
        if right:
            raise Wrong("one-head", "In the blocks there is one head of the full width: the heads are not cut.")
        raise Wrong(
            "wrong-behaviour",
            "The attention inside the blocks does not form heads that work by themselves.",
            ["Expected: as in the exercise on self-attention", "Received: heads that act on each other"],
        )
    if right:
        return
    for order in orders:
        for slug, sentence, options in _SLIPS:
            if any(close(received, run(order, **option)) for option in options):
                raise Wrong(slug, sentence)
    expected = run(orders[0])
    raise Wrong(
        "wrong-values",
        "The class token is not what the blocks and the last norm should make of the tokens.",
        [f"Expected: {expected[0]:.3f} at [0] (D)", f"Received: {received[0]:.3f}"],
    )
