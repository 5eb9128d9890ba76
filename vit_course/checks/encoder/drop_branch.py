"""Exercise encoder.drop_branch: stochastic depth, a branch that is dropped whole for some images."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.mistakes import Mistake, refuse
from vit_course.checks.tools.modules import build, count, feed
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.checks.tools.words import describe

IMAGES = 600


def drop_branch(answer, draw):
    """`answer(p)` -> a module (B, T, D) -> (B, T, D): in training, each image's branch is 0 with probability p."""
    for p in (0.3, 0.6):
        tokens, width = draw.sizes(2, low=3)
        x = 1 + draw.uniform(IMAGES, tokens, width)  # no 0 among them
        module = build(answer, p).eval()
        axes = {"B": (IMAGES, "images"), "T": (tokens, "tokens"), "D": (width, "hidden width")}
        with axes_named(axes, asked="(B, T, D)"):
            evaluated, out = _output(module, x), _output(module.train(), x)
        refuse(IN_EVALUATION, _largest_difference(x, evaluated), p=p, x=x, out=out, evaluated=evaluated)
        _some_are_dropped(answer, module, x, out, p)
        zero = out == 0
        refuse(FOR_A_WHOLE_IMAGE, zero=zero, in_part=(zero != zero[:, :1, :1]).any())
        dropped = zero[:, 0, 0]
        _right_share(answer, dropped, x, p)
        kept, received = x[~dropped], out[~dropped]
        refuse(SIZE, _largest_difference(kept / (1 - p), received), p=p, kept=kept, received=received)
        _decided_anew(module, x)
        _nothing_learned(module, x)
        _any_sizes(module, x, p)


def _output(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return tensor(feed(module, x), x.shape, "(B, T, D)", "the output")


def _largest_difference(expected: torch.Tensor, received: torch.Tensor) -> list[str]:
    place = (expected - received).abs().argmax()
    return [f"Expected: {expected.flatten()[place]:.4f}", f"Received: {received.flatten()[place]:.4f}"]


def _dropped(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    # (B,): whether nothing but 0 comes out in training
    return (_output(module.train(), x) == 0).all(dim=(1, 2))


def _some_are_dropped(answer, module: nn.Module, x: torch.Tensor, out: torch.Tensor, p: float) -> None:
    if (out == 0).any() and not (out == 0).all():
        return
    as_before = (out == x).flatten(1).all(dim=1)  # (B,)
    factors = (out / x)[~as_before]
    added = any(agree(factors, torch.full_like(factors, one)) for one in (2, 1 + 1 / (1 - p)))
    if as_before.any() and not as_before.all() and added:
        raise Wrong("residual-added", "The input is added to the output: that is the job of the block.")
    # Many calls say whether one decision is made for all images, and many modules whether it is made only once.
    if len({bool(_dropped(module, x).all()) for _ in range(40)}) == 2:
        sentence = "One decision is made for the whole batch: all images are dropped, or none."
        raise Wrong("one-decision-for-all", sentence)
    if len({bool(_dropped(build(answer, p), x).all()) for _ in range(40)}) == 2:
        sentence = "A single decision is made when the module is built and kept for all images."
        raise Wrong("decided-once", sentence)
    if (out == 0).all():
        raise Wrong("everything-dropped", f"In training, all {IMAGES} images lost their branch every time.")
    raise Wrong("nothing-dropped", f"In training, none of {IMAGES} images came out as zeros.")


def _right_share(answer, dropped: torch.Tensor, x: torch.Tensor, p: float) -> None:
    share, tolerance = dropped.float().mean().item(), 5 * (p * (1 - p) / IMAGES) ** 0.5
    if abs(share - p) <= tolerance:
        return
    # With a second p the shares of two causes are not alike by chance.
    shares = {p: share, 0.9: _dropped(build(answer, 0.9), x).float().mean().item()}

    def is_share(expected) -> bool:
        return all(abs(share - expected(p)) <= tolerance for p, share in shares.items())

    details = [f"Expected: about {p * IMAGES:.0f} of {IMAGES} images dropped at p = {p}"]
    details.append(f"Received: {int(dropped.sum())} dropped")
    if is_share(lambda p: 1 - p):
        raise Wrong("probability-swapped", "p is used as the probability of being kept.", details)
    if is_share(lambda p: share):
        raise Wrong("probability-fixed", "The share of dropped images does not depend on p.", details)
    if is_share(_normal) or is_share(lambda p: 1 - _normal(p)):
        sentence = "The random numbers are normally distributed, so the share of dropped images is not p."
        raise Wrong("normal-for-uniform", sentence, details)
    raise Wrong("wrong-behaviour", "The share of images that lose their branch is wrong.", details)


def _normal(p: float) -> float:
    # The share of normally distributed numbers below p.
    return torch.special.ndtr(torch.tensor(p)).item()


def _decided_anew(module: nn.Module, x: torch.Tensor) -> None:
    dropped = [_dropped(module, x) for _ in range(6)]
    if torch.equal(dropped[0], dropped[1]):
        raise Wrong("always-the-same-images", "Called twice in training, the module drops the same images.")
    if len({int(images.sum()) for images in dropped}) == 1:
        sentence = "The same number of images is dropped every time: there is no separate decision for each image."
        raise Wrong("always-as-many", sentence)
    share = dropped[0].float().mean().item()
    chance = share**2 + (1 - share) ** 2  # that two images decided separately meet the same fate
    # Two images side by side, or at one place of the two halves, meet the same fate as often as chance has it.
    same = [(dropped[0] == dropped[0].roll(step)).float().mean().item() for step in (1, 2, 3, IMAGES // 2)]
    if max(abs(one - chance) for one in same) > 5 * (chance * (1 - chance) / IMAGES) ** 0.5:
        # taught: a separate decision for every image of the batch
        sentence = "Several images of a batch are dropped together: there is no separate decision for each image."
        raise Wrong("decided-in-groups", sentence)


def _nothing_learned(module: nn.Module, x: torch.Tensor) -> None:
    if learned := count(module):
        details = ["Expected: 0 parameters", f"Received: {learned}"]
        raise Wrong(
            "parameters-too-many", "The module learns parameters, but there is nothing to learn in it.", details
        )
    for mode, when in ((True, "In training"), (False, "After eval()")):
        inputs = x.clone().requires_grad_()
        out = feed(module.train(mode), inputs)
        if out.requires_grad:
            out.sum().backward()
        if inputs.grad is None:
            sentence = f"{when}, no gradient passes through, so the branch before it could not be trained."
            raise Wrong("gradient-cut", sentence)


def _any_sizes(module: nn.Module, x: torch.Tensor, p: float) -> None:
    # A batch of one, and one of another length, in both modes; then evaluation again after training.
    for mode, batch in ((mode, batch) for mode in (True, False) for batch in (x[:1], x[:7, :2])):
        scaled = batch / (1 - p) if mode else batch
        for received, expected in zip(_output(module.train(mode), batch), scaled, strict=True):
            if not agree(received, expected) and not (mode and not received.any()):
                details = [f"Input:    a {describe(batch)}", *_largest_difference(expected, received)]
                sentence = "With other sizes, the output is neither 0 nor the kept branch."
                raise Wrong("wrong-behaviour", sentence, details)


IN_EVALUATION = [
    Mistake(
        "modes-exchanged",
        "The module drops branches after eval() and lets everything pass in training.",
        lambda seen: (seen.evaluated == 0).any() and agree(seen.out, seen.x),
    ),
    Mistake(
        "drops-in-evaluation",
        "After eval(), some or all of the numbers in the output are 0.",
        lambda seen: (seen.evaluated == 0).any(),
    ),
    Mistake(
        "scaled-in-evaluation",
        "After eval(), the input is multiplied or divided by 1 - p.",
        lambda seen: agree(seen.evaluated, seen.x * (1 - seen.p)),
        lambda seen: agree(seen.evaluated, seen.x / (1 - seen.p)),
    ),
    Mistake(
        "residual-added",
        "After eval(), the input is added to the output: that is the job of the block.",
        lambda seen: agree(seen.evaluated, 2 * seen.x),
    ),
    Mistake(
        "wrong-behaviour",
        "After eval(), the output is not equal to the input.",
        lambda seen: not agree(seen.evaluated, seen.x),
    ),
]

FOR_A_WHOLE_IMAGE = [
    Mistake(
        "same-for-every-image",
        "Every image of the batch loses the same numbers.",
        lambda seen: seen.in_part and (seen.zero == seen.zero[:1]).all(),
    ),
    Mistake(
        "tokens-dropped",
        "Single tokens are dropped: an image loses some of its tokens and keeps others.",
        lambda seen: seen.in_part and (seen.zero == seen.zero[:, :, :1]).all(),
    ),
    Mistake(
        "columns-dropped",
        "An image loses some of the D numbers, the same ones in all its tokens, and keeps the others.",
        lambda seen: seen.in_part and (seen.zero == seen.zero[:, :1]).all(),
    ),
    Mistake("numbers-dropped", "Single numbers are dropped, as in plain dropout.", lambda seen: seen.in_part),
]

SIZE = [
    Mistake(
        "not-scaled",
        "The kept branches are as large as before, so the mean over many steps is smaller.",
        lambda seen: agree(seen.received, seen.kept),
    ),
    Mistake(
        "scaled-down",
        "The kept branches become smaller, so the mean over many steps shrinks twice.",
        lambda seen: agree(seen.received, seen.kept * (1 - seen.p)),
    ),
    Mistake(
        "divided-by-p",
        "The kept branches are divided by the share that is dropped.",
        lambda seen: agree(seen.received, seen.kept / seen.p),
    ),
    Mistake(
        "divided-by-a-root",
        "The kept branches are divided by the square root of 1 - p.",
        lambda seen: agree(seen.received, seen.kept / (1 - seen.p) ** 0.5),
    ),
    Mistake(
        "divided-by-the-share-kept",
        "The kept branches are divided by the share of this batch that was kept, not by 1 - p.",
        lambda seen: (
            not agree(seen.received, seen.kept / (1 - seen.p))
            and agree(seen.received, seen.kept * IMAGES / len(seen.kept))
        ),
    ),
    Mistake(
        "wrong-behaviour",
        "The numbers of the kept branches are wrong.",
        lambda seen: not agree(seen.received, seen.kept / (1 - seen.p)),
    ),
]
