"""Exercise positions.reads_order: a test that finds out whether positions arrive."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.words import describe
from vit_course.encoder import Encoder


@exercise("Build: a shuffle test", section="Does it notice?", difficulty=2, minutes=12)
def reads_order(answer, draw):
    """`answer(encoder, tokens)` -> whether the class output depends on the order of the patch tokens."""
    patches, width = draw.choose([9, 10, 11]), 12
    tokens = draw.normal(1, patches + 1, width)
    cases = _encoders(draw, patches, width)
    found = {name: _truth(call(answer, encoder, tokens.clone())) for name, (encoder, _) in cases.items()}
    for slug, sentence, names in _MISTAKES:
        if all(found[name] != cases[name][1] for name in names):
            raise Wrong(slug, sentence)
    for name, (_, truth) in cases.items():
        if found[name] != truth:
            if name.startswith("pair"):
                raise Wrong(
                    "too-few-orders",
                    "An encoder that reads the order of two patches alone was missed: more orders are needed.",
                )
            details = [f"Expected: {truth}", f"Received: {found[name]}"]
            raise Wrong("wrong-values", f"The answer is not right for {_WORDS[name]}.", details)


# The first whose encoders were all judged wrongly names the mistake.
_MISTAKES = [
    (
        "everything-reads-order",
        "Every encoder was said to depend on the order, also one that reads the class token alone.",
        ("class", "maximum", "sum"),
    ),
    (
        "class-token-moved",
        "An encoder that reads the class token alone was said to depend on the order: the token did not stay in front.",
        ("class",),
    ),
    (
        "patch-outputs-compared",
        "An encoder whose patch outputs move with their patches was said to depend on the order; its class output is "
        "the same for every order.",
        ("maximum",),
    ),
    (
        "rounding-counted",
        "An encoder that adds up the patches was said to depend on the order; its class outputs differ by rounding "
        "alone.",
        ("sum",),
    ),
    (
        "never-notices",
        "An encoder that gives every place a weight of its own was said not to depend on the order.",
        ("places", "there and back"),
    ),
    (
        "reversed-only",
        "An encoder that reads the same forwards and backwards was missed.",
        ("there and back",),
    ),
    (
        "threshold-too-high",
        "An encoder in which the order makes a difference of a few thousandths was missed.",
        ("faint",),
    ),
]
_WORDS = {
    "blind": "an encoder of two layers without positions",
    "seeing": "an encoder of two layers with positions",
    "places": "an encoder that gives every place a weight of its own",
}


def _truth(value) -> bool:
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.dtype == torch.bool:
        value = value.item()
    if value is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(value, bool):
        raise Wrong("wrong-type", f"The result is {describe(value)} where True or False is expected.")
    return value


def _encoders(draw, patches: int, width: int) -> dict:
    # name -> (encoder, whether its class output depends on the order of the patches); (B, T, D) -> (B, T, D)
    weights = torch.linspace(-1, 1, patches)[:, None]  # (N, 1), another one for every place
    table = draw.normal(1, patches + 1, width)
    network = Encoder(num_layers=2, hidden_dim=width, num_heads=2, mlp_dim=2 * width).eval()
    with torch.no_grad():
        for weight in network.parameters():
            if weight.ndim == 2:
                weight.copy_(0.4 * draw.normal(*weight.shape))

    def reading(of_class, rest=torch.zeros_like):
        return lambda x: torch.cat([of_class(x)[:, None], rest(x[:, 1:])], dim=1)

    def added(x):  # one after the other, so that rounding depends on the order
        total = 3.0 * x[:, 0]
        for place in range(1, x.shape[1]):
            total = total + x[:, place]
        return total

    def pair(high, low):
        def of_class(x):
            ranks = x[:, 1:, 0].argsort(dim=1)  # (B, N): which patch is lowest, second lowest, ...
            return x[:, 0] + (ranks[:, high] < ranks[:, low])[:, None].float()

        return reading(of_class)

    @torch.no_grad()
    def blind(x):
        return network(x)

    @torch.no_grad()
    def seeing(x):
        return network(x + table)

    cases = {
        "class": (reading(lambda x: 2 * x[:, 0]), False),
        "maximum": (reading(lambda x: x.amax(dim=1), lambda x: x + 1), False),
        "sum": (reading(added), False),
        "blind": (blind, False),
        "places": (reading(lambda x: x[:, 0] + (weights * x[:, 1:]).sum(dim=1)), True),
        "there and back": (reading(lambda x: x[:, 0] + (weights.abs() * x[:, 1:]).sum(dim=1)), True),
        "faint": (reading(lambda x: x[:, 0] + 0.002 * (weights * x[:, 1:]).sum(dim=1)), True),
        "seeing": (seeing, True),
    }
    return (
        cases
        | {f"pair {k}": (pair(-1 - k, k), True) for k in range(4)}
        | {f"pair {k + 4}": (pair(k, k + 3), True) for k in range(4)}
    )
