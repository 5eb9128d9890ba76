"""Exercise encoder.drop_branch: stochastic depth, a branch that is dropped whole for some images."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.modules import build, feed
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
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
        with named_by_details(*known(__name__, "shapes")), axes_named(axes, asked="(B, T, D)"):
            evaluated, out = _output(module, x), _output(module.train(), x)
        refuse(__name__, "in-evaluation", locals(), _sizes(x, evaluated))
        _some_dropped(answer, module, x, out, p)
        zero = out == 0
        mixed = (zero != zero[:, :1, :1]).any()  # whether an image is dropped in part
        refuse(__name__, "for-a-whole-image", locals())
        dropped = zero[:, 0, 0]
        _how_many(answer, dropped, x, p)
        kept, received = x[~dropped], out[~dropped]
        refuse(__name__, "size", locals(), _sizes(kept / (1 - p), received))
        _decided_anew(module, x)
        inputs = x.clone().requires_grad_()
        out = feed(module, inputs)
        if out.requires_grad:
            out.sum().backward()
        if inputs.grad is None:
            raise Wrong("gradient-cut", "No gradient passes through, so the branch before it could not be trained.")
        _any_sizes(module, x, p)


def _output(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return tensor(feed(module, x), x.shape, "(B, T, D)", "the output")


def _sizes(expected: torch.Tensor, received: torch.Tensor) -> list[str]:
    place = (expected - received).abs().argmax()
    return [f"Expected: {expected.flatten()[place]:.4f}", f"Received: {received.flatten()[place]:.4f}"]


def _dropped(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    # (B,): whether nothing but 0 comes out in training
    return (_output(module.train(), x) == 0).all(dim=(1, 2))


def _some_dropped(answer, module: nn.Module, x: torch.Tensor, out: torch.Tensor, p: float) -> None:
    # Where a call drops all images or none, many calls say whether one decision is made for all of them.
    if (out == 0).any() and not (out == 0).all():
        return
    as_before = (out == x).flatten(1).all(dim=1)  # (B,)
    some_as_before, factors = as_before.any() and not as_before.all(), (out / x)[~as_before]
    again = {bool(_dropped(module, x).all()) for _ in range(40)}
    built = {bool(_dropped(build(answer, p), x).all()) for _ in range(40)}
    refuse(__name__, "some-dropped", locals())


def _how_many(answer, dropped: torch.Tensor, x: torch.Tensor, p: float) -> None:
    share, about = dropped.float().mean().item(), 5 * (p * (1 - p) / IMAGES) ** 0.5
    if abs(share - p) <= about:
        return
    # With a second p the shares of two causes are not alike by chance.
    found = {p: share, 0.9: _dropped(build(answer, 0.9), x).float().mean().item()}

    def is_share(expected) -> bool:
        return all(abs(share - expected(p)) <= about for p, share in found.items())

    details = [f"Expected: a share of about {p} of {IMAGES} images", f"Received: {share:.2f}"]
    refuse(__name__, "share", locals(), details)


def _normal(p: float) -> float:
    # The share of normally distributed numbers below p.
    return torch.special.ndtr(torch.tensor(p)).item()


def _decided_anew(module: nn.Module, x: torch.Tensor) -> None:
    dropped = [_dropped(module, x) for _ in range(6)]
    share = dropped[0].float().mean().item()
    chance = share**2 + (1 - share) ** 2  # that two images decided separately meet the same fate
    # Two images side by side, or at one place of the two halves, meet the same fate as often as chance has it.
    same = [(dropped[0] == dropped[0].roll(step)).float().mean().item() for step in (1, 2, 3, IMAGES // 2)]
    apart = max(abs(one - chance) for one in same) / (chance * (1 - chance) / IMAGES) ** 0.5
    refuse(__name__, "decided-anew", locals())


def _any_sizes(module: nn.Module, x: torch.Tensor, p: float) -> None:
    # A batch of one, and one of another length, in both modes; then evaluation again after training.
    for mode, batch in ((mode, batch) for mode in (True, False) for batch in (x[:1], x[:7, :2])):
        details = [f"Input:    a {describe(batch)}"]
        try:
            out = _output(module.train(mode), batch)
        except Wrong as wrong:
            details += wrong.details
            refuse(__name__, "shape-of-other-sizes", locals(), details)
        scaled = batch / (1 - p) if mode else batch
        zeros = [mode and not one.any() for one in out]
        right = all(zero or agree(one, part) for zero, one, part in zip(zeros, out, scaled, strict=True))
        refuse(__name__, "other-sizes", locals(), details)
