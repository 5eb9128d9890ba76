"""Exercise positions.reads_order: a test that finds out whether positions arrive."""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import truth
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, refuse
from vit_course.checks.tools.modules import scatter
from vit_course.checks.tools.tensors import tensor
from vit_course.encoder import Encoder

# Which of the patches, from the lowest to the highest, are compared by the encoders that read two patches alone.
PAIRS = [*((-1 - k, k) for k in range(4)), *((k, k + 3) for k in range(4)), *((k + 1, k) for k in range(6))]


class Case(NamedTuple):
    """An encoder (B, T, D) -> (B, T, D) in words, and whether its class output depends on the order of the patches."""

    words: str
    encoder: Callable
    depends: bool


def reads_order(answer, draw):
    """`answer(encoder, tokens)` -> whether the class output depends on the order of the patch tokens."""
    patches, width = draw.choose([9, 10, 11]), 12
    tokens = draw.normal(1, patches + 1, width)
    # Each once: how an answer is to draw its orders is free.
    wrong, notes = {}, {}
    for name, case in _encoders(draw, tokens).items():
        notes[name] = set()
        received = truth(call(answer, _noting(case.encoder, tokens, notes[name]), tokens.clone()))
        if received != case.depends:
            wrong[name] = case

    def missed(*names) -> bool:
        return all(name in wrong for name in names)

    refuse(MISTAKES, missed=missed, notes=notes, every=set().union(*notes.values()))
    if wrong:
        case = next(iter(wrong.values()))
        details = [f"Expected: {case.depends}", f"Received: {not case.depends}"]
        raise Wrong("wrong-values", f"The answer is wrong for an encoder {case.words}.", details)
    pairs = [_pair(high, low) for high, low in PAIRS]
    if not all(truth(call(answer, _noting(encoder, tokens, set()), tokens.clone())) for encoder in pairs):
        sentence = (
            "An encoder that reads only the order of two patches was missed: several orders must be tried, and each of "
            "them must count."
        )
        raise Wrong("too-few-orders", sentence)


def _noting(encoder, tokens, notes: set):
    # Takes a batch of orders too; notes what it was given.
    def encode(x):
        tensor(x, (len(x), *tokens.shape[1:]), "(B, T, D)", "what the encoder was given")
        same = (x[:, :, None] == tokens).all(dim=-1)  # (B, T, T): which token stands where
        found = {
            "other tokens": not same.any(dim=2).all(),
            "not all tokens": not same.any(dim=1).all(),
            "class token moved": not same[:, 0, 0].all(),
            "first patch moved": not same[:, 1, 1].all(),
            "last patch moved": not same[:, -1, -1].all(),
        }
        notes.update(note for note, so in found.items() if so)
        return encoder(x)

    return encode


def _encoders(draw, tokens: torch.Tensor) -> dict[str, Case]:
    patches, width = tokens.shape[1] - 1, tokens.shape[2]
    table = draw.normal(1, patches + 1, width)
    network = Encoder(num_layers=2, hidden_dim=width, num_heads=2, mlp_dim=2 * width).eval().requires_grad_(False)
    scatter(network, draw)

    def moved(x):  # (B, 1): 1 where the patches do not stand as they were given
        return (x[:, 1:, 0] != tokens[:, 1:, 0]).any(dim=1, keepdim=True).float()

    blind, seeing = _without_order(table, moved), _with_order(tokens, moved)
    blind["blind"] = Case("of two layers without positions", network, False)
    seeing["seeing"] = Case("of two layers with positions", lambda x: network(x + table), True)
    return blind | seeing


def _without_order(table: torch.Tensor, moved: Callable) -> dict[str, Case]:
    last = torch.eye(table.shape[2])[-1]

    def case(words: str, of_class: Callable, rest: Callable = torch.zeros_like) -> Case:
        return Case(words, _reading(of_class, rest), False)

    return {
        "class": case("that reads only the class token", lambda x: 2 * x[:, 0]),
        # In float64, so that the order of the patches changes no digit of it on any processor.
        "mean": case(
            "that reads only the number of patches and their mean",
            lambda x: x[:, 0] + x[:, 1:].double().mean(dim=1).float() + x.shape[1],
        ),
        "maximum": case("whose patch outputs move with their patches", lambda x: x.amax(dim=1), lambda x: x + 1),
        "places of patches": case(
            "whose patch outputs depend on the place", lambda x: x.amax(dim=1), lambda x: x * table[:, 1:]
        ),
        # One after the other, so that rounding depends on the order.
        "sum": case("that adds up the patches", lambda x: reduce(torch.add, x.unbind(dim=1))),
        "rounding": case("whose class outputs differ by no more than 0.00001", lambda x: 9e-6 * moved(x) * last),
    }


def _with_order(tokens: torch.Tensor, moved: Callable) -> dict[str, Case]:
    patches, width = tokens.shape[1] - 1, tokens.shape[2]
    weights = torch.linspace(-1, 1, patches)[:, None]  # (N, 1), another one for every place
    # (N, D): the lowest number of a column has the lowest weight, so any other order makes the sum smaller.
    ranks = weights[tokens[0, 1:].argsort(dim=0).argsort(dim=0), 0]
    first, last, place = torch.eye(width)[0], torch.eye(width)[-1], _by_place(weights)

    def turned(x):  # (B, D) of length 1
        angle = place(x)[:, :1]
        return first * angle.cos() + last * angle.sin()

    def case(words: str, of_class: Callable) -> Case:
        return Case(words, _reading(of_class), True)

    return {
        "places": case("that gives every place a different weight", lambda x: x[:, 0] + place(x)),
        "there and back": case(
            "that reads the same forwards and backwards", lambda x: x[:, 0] + _by_place(weights.abs())(x)
        ),
        "largest": case(
            "in which every other order makes all numbers smaller", lambda x: x[:, 0] + _by_place(ranks)(x)
        ),
        "smallest": case(
            "in which every other order makes all numbers larger", lambda x: x[:, 0] - _by_place(ranks)(x)
        ),
        "balanced": case(
            "in which one number grows by what another loses", lambda x: (last - first) * place(x)[:, :1] * 0.5
        ),
        "one number": case(
            "in which one number depends on the order", lambda x: 50 * (1 - last) + last * place(x)[:, :1]
        ),
        "faint": case(
            "in which the order makes a difference of a few thousandths", lambda x: x[:, 0] + 0.002 * place(x)
        ),
        "turned": case("in which the order turns the class output and keeps its length", turned),
        # 0.0012 on 3: also for who compares with a share of the number.
        "barely": case(
            "in which the order changes one number by a little more than 0.001",
            lambda x: 3 + 0.0012 * moved(x) * last,
        ),
        "ring": case("that reads which patches are neighbours", lambda x: x[:, 0] + _ring(x)),
        "first place": case("that reads only the first patch", lambda x: x[:, 0] + x[:, 1]),
        "last place": case("that reads only the last patch", lambda x: x[:, 0] + x[:, -1]),
    }


def _reading(of_class, rest=torch.zeros_like):
    # An encoder by what its class output and its patch outputs read; (B, T, D) -> (B, D), (B, N, D) -> (B, N, D)
    return lambda x: torch.cat([of_class(x)[:, None], rest(x[:, 1:])], dim=1)


def _by_place(weights: torch.Tensor):
    return lambda x: (weights * x[:, 1:]).sum(dim=1)


def _ring(x: torch.Tensor) -> torch.Tensor:
    # (B, D): sums over neighbours, the last patch and the first among them
    return (x[:, 1:] * x[:, 1:].roll(1, dims=1)).sum(dim=1)


def _pair(high: int, low: int):
    # Reads whether the patch of one rank stands before that of another.
    def behind(x):  # (B, 1): 1 where it does, else 0
        ranks = x[:, 1:, 0].argsort(dim=1)  # (B, N): which patch is lowest, second lowest, ...
        return (ranks[:, high] < ranks[:, low]).float()[:, None]

    return _reading(lambda x: x[:, 0] + behind(x))


MISTAKES = [
    Mistake(
        "answer-inverted",
        "True and False are swapped: the answer is wrong in every clear case.",
        lambda seen: seen.missed("class", "blind", "places", "seeing"),
    ),
    Mistake(
        "other-tokens",
        (
            "The encoder was given tokens that are not among `tokens`; a different result for them says nothing "
            "about the order."
        ),
        lambda seen: "other tokens" in seen.every and seen.missed("class"),
    ),
    Mistake(
        "everything-reads-order",
        "Every encoder was judged to depend on the order, even one that reads only the class token.",
        lambda seen: seen.missed("class", "maximum", "sum"),
    ),
    Mistake(  # would mislead: the next encoders would tell that patch outputs are compared
        "patches-lost",
        (
            "An encoder that reads only the number of patches, or their mean, was judged to depend on the order: "
            "it was not given the same patches."
        ),
        lambda seen: seen.missed("mean") and "not all tokens" in seen.every,
    ),
    Mistake(
        "class-token-moved",
        (
            "An encoder that reads only the class token was judged to depend on the order: the token did not stay "
            "in front."
        ),
        lambda seen: seen.missed("class") and "class token moved" in seen.every,
    ),
    Mistake(
        "patch-outputs-compared",
        (
            "An encoder whose patch outputs move with their patches was judged to depend on the order; its class "
            "output is the same for every order."
        ),
        lambda seen: seen.missed("maximum"),
    ),
    Mistake(
        "patch-outputs-compared",
        (
            "An encoder whose patch outputs depend on the place was judged to depend on the order; its class "
            "output is the same for every order."
        ),
        lambda seen: seen.missed("places of patches"),
    ),
    Mistake(
        "rounding-counted",
        (
            "An encoder that adds up the patches was judged to depend on the order; its class outputs differ only "
            "by rounding."
        ),
        lambda seen: seen.missed("sum"),
    ),
    Mistake(
        "rounding-counted",
        "An encoder whose class outputs differ by no more than 0.00001 was judged to depend on the order.",
        lambda seen: seen.missed("rounding"),
    ),
    Mistake(
        "never-notices",
        "An encoder that gives every place a different weight was judged not to depend on the order.",
        lambda seen: seen.missed("places", "there and back"),
    ),
    Mistake(
        "reversed-only",
        "An encoder that reads the same forwards and backwards was missed.",
        lambda seen: seen.missed("there and back"),
    ),
    Mistake(
        "decrease-overlooked",
        "An encoder was missed in which every other order makes all numbers of the class output smaller.",
        lambda seen: seen.missed("largest"),
    ),
    Mistake(  # would mislead: the encoder with a small increase would tell of a threshold
        "increase-overlooked",
        "An encoder was missed in which every other order makes all numbers of the class output larger.",
        lambda seen: seen.missed("smallest"),
    ),
    Mistake(
        "smallest-difference",
        "An encoder was missed in which some numbers of the class output depend on the order and the others do not.",
        lambda seen: seen.missed("balanced", "one number") and not seen.missed("faint"),
    ),
    Mistake(
        "numbers-cancel",
        (
            "An encoder was missed in which one number of the class output grows by what another loses: their "
            "sum, mean or length hides it."
        ),
        lambda seen: seen.missed("balanced"),
    ),
    Mistake(
        "one-number-overlooked",
        "An encoder was missed in which one number of the class output depends on the order and the others do not.",
        lambda seen: seen.missed("one number"),
    ),
    Mistake(
        "threshold-too-high",
        "An encoder was missed in which, with the given tokens, the order makes a difference of a few thousandths.",
        lambda seen: seen.missed("faint"),
    ),
    Mistake(
        "threshold-too-high",
        "An encoder was missed in which, with the given tokens, the order changes one number by a little over 0.001.",
        lambda seen: seen.missed("barely"),
    ),
    Mistake(
        "only-moved-on",
        (
            "An encoder was missed that reads which patches are neighbours: orders that only shift or reverse the "
            "patches keep them neighbours."
        ),
        lambda seen: seen.missed("ring"),
    ),
    Mistake(
        "patch-never-moved",
        "An encoder that reads only the first patch was missed: that patch never moved.",
        lambda seen: seen.missed("first place") and "first patch moved" not in seen.notes["first place"],
    ),
    Mistake(
        "patch-never-moved",
        "An encoder that reads only the last patch was missed: that patch never moved.",
        lambda seen: seen.missed("last place") and "last patch moved" not in seen.notes["last place"],
    ),
]
