"""What attention gives for the units that `roles` has found, step by step, and which slip gives something else."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.attention_slips import SCALE_NONE, SCALE_OTHERS, SCALE_ROOT_OF_ALL_HEADS
from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.mistakes import Slip, wrong_functions
from vit_course.checks.tools.roles import Head, Roles


@dataclass(frozen=True)
class Vectors(Head):
    """Of one head: its matrices (d, D), and biases (d,), all as numbers in place of where they lie."""

    query_bias: torch.Tensor | float = 0.0
    value_bias: torch.Tensor | float = 0.0

    @classmethod
    def of(cls, head: Head, row: torch.Tensor) -> "Vectors":
        """The head's matrices in this row of numbers."""
        return cls(row[head.query], row[head.key], row[head.value], row[head.out])


def attend(
    heads: Sequence[Vectors],
    x: torch.Tensor,
    scale: Callable = lambda d, heads, tokens: d**0.5,
    share: Callable = lambda s: s.softmax(-1),
    after: Callable = lambda out, x: out,
) -> torch.Tensor:
    """(B, T, D) -> (B, T, D): softmax(q k^T / sqrt(d)) v of each head, projected and summed; without its last bias.

    Args:
        heads: with all their numbers.
        x: (B, T, D).
        scale: (d, h, T) -> what the scores are divided by.
        share: scores (B, h, T, T) -> weights of the same shape.
        after: output and input (B, T, D) -> what comes out.
    """
    scores = torch.stack([(x @ head.query.T + head.query_bias) @ (x @ head.key.T).mT for head in heads], 1)
    weights = share(scores / scale(len(heads[0].query), len(heads), x.shape[-2])).unbind(1)
    outs = [w @ (x @ head.value.T + head.value_bias) @ head.out for w, head in zip(weights, heads, strict=True)]
    return after(sum(outs), x)


def one(d: int, heads: int, tokens: int) -> float:
    """What scores are divided by that are not scaled."""
    return 1.0


def root(heads: Sequence[Sequence[Head]], x: torch.Tensor) -> float:
    """The root of the width of a head."""
    return len(heads[0][0].query) ** 0.5


def heads_of(roles: Roles, width: int, number: int) -> list[Head]:
    """The heads, where all is as it should be; none where the units do not form so many that work by themselves.

    Raises:
        Wrong: units that are not used, or that have two parts.
    """
    if not roles.regular(width) or roles.unused:
        raise _irregular(roles, width)
    groups = roles.groups()
    right = (width // number,) * 2
    if len(groups) != number or any((len(pairs), len(values)) != right for pairs, values in groups):
        return []
    return [roles.head(*group) for group in groups]


def _irregular(roles: Roles, width: int) -> Wrong:
    details = [f"Received: {len(roles.unused) * width} numbers that the output ignores, at D = {width}"]
    if len(roles.unused) >= width and roles.with_itself and not set(roles.with_itself) & set(roles.outs):
        sentence = "The scores compare one of the three projections with itself, so another one is not used."
        return Wrong("queries-with-queries", sentence, details)
    if roles.unused:
        return Wrong("unused-parameters", "The output ignores some of the parameters.", details)
    details = [
        f"Expected: {width} numbers each of a query, a key and a value for a token",
        f"Received: {len(roles.pairs)} pairs of a query's and a key's, {len(roles.outs)} of a value",
    ]
    return Wrong("wrong-behaviour", "The parameters do not compute self-attention.", details)


def name_the_slip(
    layers: Sequence[Roles],
    width: int,
    number: int,
    run: Callable,
    received: torch.Tensor,
    more: Sequence[Mistake] = (),
) -> tuple[str, str, list[str]] | None:
    """(slug, sentence, details) of the first slip that gives what was received, or None.

    Args:
        layers: the roles in each attention, none irregular.
        width, number: D and h.
        run: the heads of each attention, and steps of `attend` as keywords -> the output.
        received: what the learner's module gave.
        more: slips around the attention: functions of `run` and the heads.
    """
    found = [roles.groups() for roles in layers]
    if all(all(len(a) == len(b) for a, b in groups) for groups in found):
        cut = [[roles.head(*group) for group in groups] for roles, groups in zip(layers, found, strict=True)]
        sizes = sorted({len(pairs) for groups in found for pairs, _ in groups})
        if (
            [len(groups) for groups in found] != [number] * len(found)
            and len(sizes) == 1
            and _gives(run, cut, received)
        ):
            return _another_number(width, number, len(found[0]), sizes[0])
    for cut in zip(*(_in_one(roles) for roles in layers), strict=True):
        for scale in (None, one, lambda d, heads, tokens: (d / number) ** 0.5):
            if _gives(run, cut, received, **({"scale": scale} if scale else {})):
                sentence = "There is one head of the full width: the heads are not cut, or are joined too early."
                return "one-head", sentence, []
    mistakes = [*wrong_functions(MISTAKES, lambda run, heads, **steps: run(heads, **steps), pairs=3), *more]
    for cut in zip(*(_cuts(roles, width, number) for roles in layers), strict=False):
        if _gives(run, cut, received):
            return None
        for mistake in mistakes:
            if close(mistake.function(run, cut), received):
                return mistake.slug, mistake.sentence, []
    return None


def _gives(run: Callable, cut: Sequence, received: torch.Tensor, **steps) -> bool:
    return all(cut) and close(run(cut, **steps), received)


def _another_number(width: int, number: int, heads: int, size: int) -> tuple[str, str, list[str]]:
    details = [f"Expected: {number} heads of width {width // number}", f"Received: {heads} heads of width {size}"]
    if heads == 1:
        return "one-head", "There is one head of the full width: the heads are not cut.", details
    return "wrong-number-of-heads", "The number of heads is wrong.", details


def _orders(roles: Roles) -> Iterator[list[tuple[int, int]]]:
    # The pairs with queries before or behind keys: in layers whose heads act on each other the asking token does not
    # tell queries from keys.
    low = [tuple(sorted(pair)) for pair in sorted(roles.pairs, key=min)]
    yield from sorted((low, [pair[::-1] for pair in low]), key=lambda pairs: pairs[0] not in roles.pairs)


def _in_one(roles: Roles) -> Iterator[list[Head]]:
    yield from ([roles.head(pairs, sorted(roles.outs))] for pairs in _orders(roles))


def _cuts(roles: Roles, width: int, number: int) -> Iterator[list[Head]]:
    # As found, or cut in the order of the parameters: one after the other, or every h-th.
    if heads_of(roles, width, number):
        # A slip may hide, for each pair, which of the two asks: then the lower one, or the higher one, in all pairs.
        for turned in (tuple, sorted, lambda pair: sorted(pair)[::-1]):
            yield [roles.head([tuple(turned(pair)) for pair in pairs], values) for pairs, values in roles.groups()]
        return
    values, size = sorted(roles.outs), width // number
    for pairs in _orders(roles):
        slices = (
            [slice(at, at + size) for at in range(0, width, size)],
            [slice(at, None, number) for at in range(number)],
        )
        yield from ([roles.head(pairs[part], values[part]) for part in parts] for parts in slices)


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two outputs agree up to what the order of sums makes of float32."""
    return bool((a - b).norm() < 1e-4 * b.norm())


# The slips of self-attention, for attention, block and whole model alike. Which projection makes queries and which keys
# is found by what they do; so a softmax over the queries and weights that are transposed are one slip here.
MISTAKES = {
    "share": [
        Slip(
            "softmax-over-queries",
            "The softmax runs over the queries, or the weights are transposed after it.",
            lambda s: s.softmax(-2),
            lambda s: s.softmax(-1).mT,
        ),
        Slip("softmax-over-heads", "The softmax runs over the heads.", lambda s: s.softmax(1)),
        Slip(
            "heads-averaged",
            "The weights of the heads are averaged or added up before they are applied to the values.",
            lambda s: s.softmax(-1).mean(1, keepdim=True).expand_as(s),
            lambda s: s.softmax(-1).sum(1, keepdim=True).expand_as(s),
        ),
        Slip(
            "softmax-over-all",
            "The softmax runs over queries and keys together.",
            lambda s: s.flatten(2).softmax(-1).unflatten(-1, s.shape[-2:]),
        ),
        Slip(
            "no-softmax",
            "The scores are used as weights without a softmax.",
            lambda s: s,
            lambda s: s / s.sum(-1, keepdim=True),
        ),
        Slip(
            "not-a-softmax",
            "A function other than a softmax turns the scores into weights.",
            torch.sigmoid,
            lambda s: s.log_softmax(-1),
            lambda s: (-s).softmax(-1),
            torch.relu,
            torch.exp,
        ),
        Slip("softmax-twice", "The softmax is applied twice.", lambda s: s.softmax(-1).softmax(-1)),
        Slip(
            "scores-averaged",
            "The scores of the heads are averaged or added up, so there is one set of weights for all heads.",
            lambda s: s.mean(1, keepdim=True).softmax(-1).expand_as(s),
            lambda s: s.sum(1, keepdim=True).softmax(-1).expand_as(s),
        ),
        Slip(
            "own-token-masked",
            "No token attends to itself.",
            lambda s: s.masked_fill(torch.eye(s.shape[-1], dtype=torch.bool), -math.inf).softmax(-1),
        ),
    ],
    "scale": [
        *SCALE_NONE,
        *SCALE_ROOT_OF_ALL_HEADS,
        *SCALE_OTHERS,
    ],
    "after": [
        Slip(
            "input-added",
            "The input is added to the output: that is the job of the block, not of the attention.",
            lambda out, x: out + x,
        ),
    ],
    "result": [
        Slip(
            "scale-after-softmax",
            "The division by the square root of d comes after the softmax.",
            lambda run, heads: run(heads, scale=one, after=lambda out, x: out / root(heads, x)),
        ),
        Slip(
            "no-softmax",
            "The scores are used as weights without scaling and without a softmax.",
            lambda run, heads: run(heads, scale=one, share=lambda s: s),
            lambda run, heads: run(heads, scale=one, share=lambda s: s / s.sum(-1, keepdim=True)),
        ),
        Slip(
            "not-a-softmax",
            "A sigmoid turns the scores into weights, and they are not scaled.",
            lambda run, heads: run(heads, scale=one, share=torch.sigmoid),
        ),
    ],
}
