"""Exercise positions.reads_order: a test that finds out whether positions arrive."""

from functools import reduce

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import truth
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import scatter
from vit_course.checks.tools.table import refuse
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
    refuse(__name__, "mistakes", locals())
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
        "mean": (_reading(lambda x: x[:, 0] + x[:, 1:].mean(dim=1) + x.shape[1]), False),
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
