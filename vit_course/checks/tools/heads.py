"""What attention gives for the units that `roles` has found, and what its usual slips give."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.roles import Head, Roles


@dataclass(frozen=True)
class Kind:
    """A way to compute attention.

    Args:
        scale: what the products of queries and keys are multiplied with, from d, D, T and h.
        weights: scores (B, h, T, T) -> weights of the same shape.
        after: what the output becomes, from output and tokens (B, T, D).
    """

    scale: str = "1/sqrt(d)"
    weights: str = "softmax"
    after: str = "as it is"


_SCALES = {
    "1/sqrt(d)": lambda d, width, tokens, heads: d**-0.5,
    "1": lambda d, width, tokens, heads: 1.0,
    "1/d": lambda d, width, tokens, heads: 1 / d,
    "sqrt(d)": lambda d, width, tokens, heads: d**0.5,
    "1/sqrt(D)": lambda d, width, tokens, heads: width**-0.5,
    "1/D": lambda d, width, tokens, heads: 1 / width,
    "1/sqrt(T)": lambda d, width, tokens, heads: tokens**-0.5,
    "1/sqrt(h)": lambda d, width, tokens, heads: heads**-0.5,
}
_WEIGHTS = {
    "softmax": lambda s: s.softmax(-1),
    "over queries": lambda s: s.softmax(-2),
    "over heads": lambda s: s.softmax(1),
    "over all": lambda s: s.flatten(2).softmax(-1).unflatten(-1, s.shape[-2:]),
    "none": lambda s: s,
    "divided by the sum": lambda s: s / s.sum(-1, keepdim=True),
    "sigmoid": lambda s: s.sigmoid(),
    "twice": lambda s: s.softmax(-1).softmax(-1),
    "log": lambda s: s.log_softmax(-1),
    "turned": lambda s: s.softmax(-1).mT,
    "minus": lambda s: (-s).softmax(-1),
    "mean of heads": lambda s: s.softmax(-1).mean(1, keepdim=True).expand_as(s),
    "sum of heads": lambda s: s.softmax(-1).sum(1, keepdim=True).expand_as(s),
    "mean of scores": lambda s: s.mean(1, keepdim=True).softmax(-1).expand_as(s),
    "sum of scores": lambda s: s.sum(1, keepdim=True).softmax(-1).expand_as(s),
    "without oneself": lambda s: s.masked_fill(torch.eye(s.shape[-1], dtype=torch.bool), -torch.inf).softmax(-1),
}
_AFTER = {
    "as it is": lambda out, x, scale: out,
    "input added": lambda out, x, scale: out + x,
    "scaled": lambda out, x, scale: out * scale,
    "doubled": lambda out, x, scale: 2 * out,
}
RIGHT = Kind()

_ONE_HEAD = "one-head"
# slug: (sentence, the ways to compute it)
MISTAKES: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "softmax-over-queries": (  # with queries and keys exchanged, the two are one
        "The softmax runs over the queries, or the weights are transposed after it.",
        (Kind(weights="over queries"), Kind(weights="turned")),
    ),
    "no-scale": ("The scores go into the softmax without being scaled.", (Kind("1"),)),
    "sqrt-of-hidden-width": (
        "The scores are divided by the root of the hidden width, not of the width of a head.",
        (Kind("1/sqrt(D)"),),
    ),
    "scale-by-d": (
        "The scores are divided by the width of a head itself, or by its root twice.",
        (Kind("1/d"),),
    ),
    "scale-upside-down": ("The scores are multiplied with the root of d, not divided by it.", (Kind("sqrt(d)"),)),
    "scale-by-other-size": (
        "The scores are divided by a size that is not the root of the width of a head.",
        (Kind("1/sqrt(T)"), Kind("1/sqrt(h)"), Kind("1/D")),
    ),
    "scale-after-softmax": (
        "The division by the root of d comes after the softmax.",
        (Kind("1", after="scaled"),),
    ),
    "softmax-over-heads": ("The softmax runs over the heads.", (Kind(weights="over heads"),)),
    "softmax-over-all": ("The softmax runs over queries and keys together.", (Kind(weights="over all"),)),
    "no-softmax": (
        "The scores are used as weights without a softmax.",
        (Kind(weights="none"), Kind("1", "none"), Kind(weights="divided by the sum"), Kind("1", "divided by the sum")),
    ),
    "not-a-softmax": (
        "Another function than a softmax makes weights of the scores.",
        (Kind(weights="sigmoid"), Kind(weights="log"), Kind(weights="minus"), Kind("1", "sigmoid")),
    ),
    "softmax-twice": ("The softmax is taken twice.", (Kind(weights="twice"),)),
    "heads-averaged": (
        "The weights of the heads are averaged or added up before they meet the values.",
        (Kind(weights="mean of heads"), Kind(weights="sum of heads")),
    ),
    "scores-averaged": (
        "The scores of the heads are averaged or added up, so there is one set of weights for all heads.",
        (Kind(weights="mean of scores"), Kind(weights="sum of scores")),
    ),
    "own-token-masked": ("No token attends to itself.", (Kind(weights="without oneself"),)),
    "input-added": (
        "The input is added to the output: that is the block's part, not the attention's.",
        (Kind(after="input added"),),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Vectors:
    """Of one head: its matrices (d, D), and biases (d,), all as numbers."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    out: torch.Tensor
    query_bias: torch.Tensor | float = 0.0
    value_bias: torch.Tensor | float = 0.0

    @classmethod
    def of(cls, head: Head, row: torch.Tensor) -> "Vectors":
        """The head's matrices in this row of numbers."""
        return cls(row[head.query], row[head.key], row[head.value], row[head.out])


def attend(heads: list[Vectors], x: torch.Tensor, kind: Kind = RIGHT) -> torch.Tensor:
    """(B, T, D) -> (B, T, D): softmax(q k^T / sqrt(d)) v of each head, projected and summed; without its last bias."""
    width = heads[0].query.shape[0]
    scale = _SCALES[kind.scale](width, x.shape[-1], x.shape[-2], len(heads))
    scores = torch.stack([(x @ head.query.T + head.query_bias) @ (x @ head.key.T).mT for head in heads], 1)
    weights = _WEIGHTS[kind.weights](scale * scores).unbind(1)
    outs = [w @ (x @ head.value.T + head.value_bias) @ head.out for w, head in zip(weights, heads, strict=True)]
    return _AFTER[kind.after](sum(outs), x, width**-0.5)


def heads_of(roles: Roles, width: int, number: int) -> list[Head]:
    """The heads, where all is as it should be.

    Raises:
        Wrong: units that are not used, or that have two parts; pairs that do not form so many heads.
    """
    if not roles.regular(width) or roles.unused:
        raise _irregular(roles, width)
    groups = roles.groups()
    right = (width // number,) * 2
    if len(groups) != number or any((len(pairs), len(values)) != right for pairs, values in groups):
        return []
    return [roles.head(*group) for group in groups]


def _irregular(roles: Roles, width: int) -> Wrong:
    paired = {unit for pair in roles.pairs for unit in pair}
    details = [f"Received: {len(roles.unused) * width} numbers without a part in the output, at D = {width}"]
    both = paired & set(roles.outs)
    if len(roles.unused) >= width:
        if roles.with_itself and not set(roles.with_itself) & set(roles.outs):
            sentence = "The scores compare one of the three projections with itself, and another one is not used."
            return Wrong("queries-with-queries", sentence, details)
        if both:
            # A key's partner asks.
            keys = {unit for pair in roles.pairs for unit in pair if set(pair) - {unit} <= set(roles.askers)} & both
            what, other = ("keys", "are-keys") if keys else ("queries", "are-queries")
            sentence = f"The {what} are averaged in the place of values, or the values serve as {what} too."
            return Wrong(f"values-{other}", f"{sentence} One of the three projections is not used.", details)
        if not roles.outs and roles.pairs:
            sentence = "One of the four matrices has no part in the output: the weights average something else than "
            return Wrong("values-unused", f"{sentence}the values, or no projection follows them.", details)
        if roles.outs and not roles.pairs:
            values = list(roles.outs)
            if roles.links[values][:, values].any():
                sentence = "Queries, keys and values all come from one of the three projections."
                return Wrong("values-for-all", sentence, details)
            return Wrong("scores-unused", "The weights depend on neither queries nor keys.", details)
    if roles.unused:
        return Wrong("unused-parameters", "Some of the parameters have no part in the output.", details)
    details = [
        f"Expected: {width} numbers each of a query, a key and a value for a token",
        f"Received: {len(roles.pairs)} pairs of a query's and a key's, {len(roles.outs)} of a value",
    ]
    return Wrong("wrong-behaviour", "What the parameters do is not self-attention.", details)


def _partitions(roles: Roles, number: int) -> Iterator[tuple[str, list[Head]]]:
    # As found; all in one; and cut in the order of the parameters, one after the other or every h-th, for layers whose
    # heads cannot be told because they act on each other. A learner's queries come before the keys or after them.
    low = sorted(roles.pairs, key=min)
    for pairs in (roles.pairs, [tuple(sorted(pair)) for pair in low], [tuple(sorted(pair))[::-1] for pair in low]):
        values = sorted(roles.outs)
        yield _ONE_HEAD, [roles.head(pairs, values)]
        ordered = sorted(pairs)
        size = len(pairs) // number
        yield "", [roles.head(ordered[at : at + size], values[at : at + size]) for at in range(0, size * number, size)]
        yield "", [roles.head(ordered[at::number], values[at::number]) for at in range(number)]


def name_the_slip(roles: Roles, number: int, row: torch.Tensor, x: torch.Tensor, received: torch.Tensor):
    """(slug, sentence, what it gives) of the first slip that gives what was received, or None."""
    for partition, heads in _partitions(roles, number):
        vectors = [Vectors.of(head, row) for head in heads]
        if partition == _ONE_HEAD:
            for scale in ("1/sqrt(d)", "1", f"{number}"):
                out = _one_head(vectors, x, scale, number)
                if close(out, received):
                    sentence = "There is one head of the full width: the heads are not cut, or joined again before."
                    return _ONE_HEAD, sentence, out
            continue
        for slug, (sentence, kinds) in MISTAKES.items():
            for kind in kinds:
                out = attend(vectors, x, kind)
                if close(out, received):
                    return slug, sentence, out
        for scale in _SCALES:  # two slips at once
            for slug in ("softmax-over-queries", "softmax-over-heads", "heads-averaged"):
                sentence, kinds = MISTAKES[slug]
                if close(out := attend(vectors, x, replace(kinds[0], scale=scale)), received):
                    return slug, sentence, out
        doubled = attend(vectors, x, replace(RIGHT, after="doubled"))
        if close(doubled, received):
            return "wrong-values", "The output is twice as large as it should be.", doubled
    return None


def _one_head(vectors: list[Vectors], x: torch.Tensor, scale: str, number: int) -> torch.Tensor:
    if scale in _SCALES:
        return attend(vectors, x, Kind(scale))
    wider = replace(vectors[0], query=vectors[0].query * math.sqrt(number))  # divided by the root of d, not of D
    return attend([wider], x)


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two outputs agree up to what the order of sums makes of float32."""
    return bool((a - b).norm() < 1e-4 * b.norm())
