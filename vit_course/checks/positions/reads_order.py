"""Exercise positions.reads_order: a test that finds out whether positions arrive."""

from functools import reduce

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import truth
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, refuse
from vit_course.checks.tools.modules import scatter
from vit_course.checks.tools.tensors import tensor
from vit_course.encoder import Encoder


def reads_order(answer, draw):
    """`answer(encoder, tokens)` -> whether the class output depends on the order of the patch tokens."""
    patches, width = draw.choose([9, 10, 11]), 12
    tokens = draw.normal(1, patches + 1, width)
    cases = _encoders(draw, tokens)
    # Each once: how an answer is to draw its orders is free.
    given = {name: set() for name in cases}
    found = {
        name: truth(call(answer, _noting(encoder, tokens, given[name]), tokens.clone()))
        for name, (encoder, _) in cases.items()
    }
    every = set().union(*given.values())

    def missed(*names) -> bool:
        return all(found[name] != cases[name][1] for name in names)

    other = [name for name in _WORDS if missed(name)]
    refuse(MISTAKES, dict(cases=cases, given=given, found=found, every=every, other=other, missed=missed))
    if other:
        details = [f"Expected: {cases[other[0]][1]}", f"Received: {found[other[0]]}"]
        raise Wrong("wrong-values", f"The answer is wrong for {_WORDS[other[0]]}.", details)


_SUBTLE = ("rounding", "faint", "one number", "largest", "smallest", "balanced", "turned", "ring", "barely")
_WORDS = {
    "blind": "an encoder of two layers without positions",
    "seeing": "an encoder of two layers with positions",
    "places": "an encoder that gives every place a different weight",
}


_PAIRS = [*((-1 - k, k) for k in range(4)), *((k, k + 3) for k in range(4)), *((k + 1, k) for k in range(6))]


def _noting(encoder, tokens, given: set):
    # Takes a batch of orders too; notes what it was given.
    def encode(x):
        tensor(x, (len(x), *tokens.shape[1:]), "(B, T, D)", "what the encoder was given")
        same = (x[:, :, None] == tokens).all(dim=-1)  # (B, T, T): which token stands where
        notes = {
            "other tokens": not same.any(dim=2).all(),
            "not all tokens": not same.any(dim=1).all(),
            "class token moved": not same[:, 0, 0].all(),
            "first patch moved": not same[:, 1, 1].all(),
            "last patch moved": not same[:, -1, -1].all(),
        }
        given.update(note for note, so in notes.items() if so)
        return encoder(x)

    return encode


def _encoders(draw, tokens: torch.Tensor) -> dict:
    # name -> (encoder, whether its class output depends on the order of the patches); (B, T, D) -> (B, T, D)
    patches, width = tokens.shape[1] - 1, tokens.shape[2]
    weights = torch.linspace(-1, 1, patches)[:, None]  # (N, 1), another one for every place
    table = draw.normal(1, patches + 1, width)
    network = Encoder(num_layers=2, hidden_dim=width, num_heads=2, mlp_dim=2 * width).eval().requires_grad_(False)
    scatter(network, draw)
    # (N, D): the lowest number of a column has the lowest weight, so any other order makes the sum smaller.
    ranks = weights[tokens[0, 1:].argsort(dim=0).argsort(dim=0), 0]
    first, last, place = torch.eye(width)[0], torch.eye(width)[-1], _by_place(weights)

    def moved(x):  # (B, 1): 1 where the patches do not stand as they were given
        return (x[:, 1:, 0] != tokens[:, 1:, 0]).any(dim=1, keepdim=True).float()

    def turned(x):  # (B, D) of length 1
        angle = place(x)[:, :1]
        return first * angle.cos() + last * angle.sin()

    return {
        "class": (_reading(lambda x: 2 * x[:, 0]), False),
        # In float64, so that the order of the patches changes no digit of it on any processor.
        "mean": (_reading(lambda x: x[:, 0] + x[:, 1:].double().mean(dim=1).float() + x.shape[1]), False),
        "maximum": (_reading(lambda x: x.amax(dim=1), lambda x: x + 1), False),
        "places of patches": (_reading(lambda x: x.amax(dim=1), lambda x: x * table[:, 1:]), False),
        # One after the other, so that rounding depends on the order.
        "sum": (_reading(lambda x: reduce(torch.add, x.unbind(dim=1))), False),
        "rounding": (_reading(lambda x: 9e-6 * moved(x) * last), False),
        "blind": (network, False),
        "places": (_reading(lambda x: x[:, 0] + place(x)), True),
        "there and back": (_reading(lambda x: x[:, 0] + _by_place(weights.abs())(x)), True),
        "largest": (_reading(lambda x: x[:, 0] + _by_place(ranks)(x)), True),
        "smallest": (_reading(lambda x: x[:, 0] - _by_place(ranks)(x)), True),
        "balanced": (_reading(lambda x: (last - first) * place(x)[:, :1] * 0.5), True),
        "one number": (_reading(lambda x: 50 * (1 - last) + last * place(x)[:, :1]), True),
        "faint": (_reading(lambda x: x[:, 0] + 0.002 * place(x)), True),
        "turned": (_reading(turned), True),
        # 0.0012 on 3: also for who compares with a share of the number.
        "barely": (_reading(lambda x: 3 + 0.0012 * moved(x) * last), True),
        "ring": (_reading(lambda x: x[:, 0] + _ring(x)), True),
        "first place": (_reading(lambda x: x[:, 0] + x[:, 1]), True),
        "last place": (_reading(lambda x: x[:, 0] + x[:, -1]), True),
        "seeing": (lambda x: network(x + table), True),
        # Of two patches and of no others: which orders an answer must try is known by these.
        **{f"pair {high} {low}": (_pair(high, low), True) for high, low in _PAIRS},
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
    Slip(
        "answer-inverted",
        "True and False are swapped: the answer is wrong in every clear case.",
        lambda missed, cases: missed(*(name for name in cases if name not in _SUBTLE)),
    ),
    Slip(
        "other-tokens",
        (
            "The encoder was given tokens that are not among `tokens`; a different result for them says nothing "
            "about the order."
        ),
        lambda every, missed: "other tokens" in every and missed("class"),
    ),
    Slip(
        "everything-reads-order",
        "Every encoder was judged to depend on the order, even one that reads only the class token.",
        lambda missed: missed("class", "maximum", "sum"),
    ),
    Slip(
        "patches-lost",
        (
            "An encoder that reads only the number of patches, or their mean, was judged to depend on the order: "
            "it was not given the same patches."
        ),
        lambda missed, every: missed("mean") and "not all tokens" in every,
    ),
    Slip(
        "class-token-moved",
        (
            "An encoder that reads only the class token was judged to depend on the order: the token did not stay "
            "in front."
        ),
        lambda missed, every: missed("class") and "class token moved" in every,
    ),
    Slip(
        "order-seen-in-class-token",
        (
            "An encoder that reads only the class token was judged to depend on the order, although the token "
            "stayed in front."
        ),
        lambda missed: missed("class"),
    ),
    Slip(
        "mean-taken-for-order",
        "An encoder that reads only the number of patches, or their mean, was judged to depend on the order.",
        lambda missed: missed("mean"),
    ),
    Slip(
        "patch-outputs-compared",
        (
            "An encoder whose patch outputs move with their patches was judged to depend on the order; its class "
            "output is the same for every order."
        ),
        lambda missed: missed("maximum"),
    ),
    Slip(
        "patch-outputs-compared",
        (
            "An encoder whose patch outputs depend on the place was judged to depend on the order; its class "
            "output is the same for every order."
        ),
        lambda missed: missed("places of patches"),
    ),
    Slip(
        "rounding-counted",
        (
            "An encoder that adds up the patches was judged to depend on the order; its class outputs differ only "
            "by rounding."
        ),
        lambda missed: missed("sum"),
    ),
    Slip(
        "rounding-counted",
        "An encoder whose class outputs differ by no more than 0.00001 was judged to depend on the order.",
        lambda missed: missed("rounding"),
    ),
    Slip(
        "never-notices",
        "An encoder that gives every place a different weight was judged not to depend on the order.",
        lambda missed: missed("places", "there and back"),
    ),
    Slip(
        "reversed-only",
        "An encoder that reads the same forwards and backwards was missed.",
        lambda missed: missed("there and back"),
    ),
    Slip(
        "decrease-overlooked",
        "An encoder was missed in which every other order makes all numbers of the class output smaller.",
        lambda missed: missed("largest"),
    ),
    Slip(
        "increase-overlooked",
        "An encoder was missed in which every other order makes all numbers of the class output larger.",
        lambda missed: missed("smallest"),
    ),
    Slip(
        "smallest-difference",
        "An encoder was missed in which some numbers of the class output depend on the order and the others do not.",
        lambda missed, found: missed("balanced", "one number") and found["faint"],
    ),
    Slip(
        "numbers-cancel",
        (
            "An encoder was missed in which one number of the class output grows by what another loses: their "
            "sum, mean or length hides it."
        ),
        lambda missed: missed("balanced"),
    ),
    Slip(
        "one-number-overlooked",
        "An encoder was missed in which one number of the class output depends on the order and the others do not.",
        lambda missed: missed("one number"),
    ),
    Slip(
        "threshold-too-high",
        "An encoder in which the order makes a difference of a few thousandths was missed.",
        lambda missed: missed("faint"),
    ),
    Slip(
        "threshold-too-high",
        "An encoder was missed in which the order makes a difference of a little more than 0.001 in one number.",
        lambda missed: missed("barely"),
    ),
    Slip(
        "length-compared",
        "An encoder was missed in which the order turns the class output but does not change its length.",
        lambda missed: missed("turned"),
    ),
    Slip(
        "only-moved-on",
        (
            "An encoder was missed that reads which patches are neighbours: orders that only shift or reverse the "
            "patches keep them neighbours."
        ),
        lambda missed: missed("ring"),
    ),
    Slip(
        "every-order-asked",
        (
            "An encoder that reads only the first patch was missed, although some of the orders moved that patch: "
            "one order with a different class output is enough."
        ),
        lambda missed, given: missed("first place") and "first patch moved" in given["first place"],
    ),
    Slip(
        "patch-never-moved",
        "An encoder that reads only the first patch was missed: that patch never moved.",
        lambda missed: missed("first place"),
    ),
    Slip(
        "every-order-asked",
        (
            "An encoder that reads only the last patch was missed, although some of the orders moved that patch: "
            "one order with a different class output is enough."
        ),
        lambda missed, given: missed("last place") and "last patch moved" in given["last place"],
    ),
    Slip(
        "patch-never-moved",
        "An encoder that reads only the last patch was missed: that patch never moved.",
        lambda missed: missed("last place"),
    ),
    Slip(
        "too-few-orders",
        (
            "An encoder that reads only the order of two patches was missed: several orders must be tried, and "
            "each of them must count."
        ),
        lambda missed, cases, other: any(missed(name) for name in cases if name.startswith("pair")) and not other,
    ),
]
