"""Exercise encoder.drop_branch: stochastic depth, a branch that is dropped whole for some images."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import build
from vit_course.checks.tools.tensors import agree, tensor

IMAGES = 600


@exercise("Drop a whole branch", section="The block, in two lines", difficulty=2, minutes=10)
def drop_branch(answer, draw):
    """`answer(p)` -> a module (B, T, D) -> (B, T, D): in training, each image's branch is 0 with probability p."""
    for p in (0.3, 0.6):
        tokens, width = draw.sizes(2, low=3)
        x = 1 + draw.uniform(IMAGES, tokens, width)  # no 0 among them
        module = build(answer, p).eval()
        out = tensor(call(module, x), x.shape, "(B, T, D)", "the output")
        _same_in_evaluation(out, x, p)
        module.train()
        out = tensor(call(module, x), x.shape, "(B, T, D)", "the output")
        _same_for_a_whole_image(out == 0)
        _how_many((out == 0).all(dim=(1, 2)), p)
        _how_large(out, x, p)
        if torch.equal(out == 0, call(module, x) == 0):
            raise Wrong("always-the-same-images", "Called twice in training, it drops the same images.")
        _trains(module, x)


def _same_in_evaluation(out: torch.Tensor, x: torch.Tensor, p: float) -> None:
    if (out == 0).any():
        raise Wrong("drops-in-evaluation", "After eval(), some of the numbers that come out are 0.")
    for factor, words in ((1 / (1 - p), "divided by 1 - p"), (1 - p, "multiplied by 1 - p")):
        if agree(out, factor * x):
            raise Wrong("scaled-in-evaluation", f"After eval(), what passes is {words}.")
    if not agree(out, x):
        details = [f"Expected: {x.flatten()[0]:.4f}", f"Received: {out.flatten()[0]:.4f}"]
        raise Wrong("wrong-behaviour", "After eval(), what comes out is not what went in.", details)


def _same_for_a_whole_image(zero: torch.Tensor) -> None:
    if not zero.any():
        raise Wrong("nothing-dropped", f"In training, none of {IMAGES} images lost its branch.")
    if zero.all():
        raise Wrong("everything-dropped", f"In training, all {IMAGES} images lost their branch, again and again.")
    whole = zero.flatten(1).all(dim=1) | ~zero.flatten(1).any(dim=1)  # (B,)
    if whole.all():
        return
    if (zero == zero[:1]).all():
        raise Wrong("same-for-every-image", "Every image of the batch loses the same numbers.")
    if (zero == zero[:, :, :1]).all():
        raise Wrong("tokens-dropped", "Single tokens are dropped: an image loses some of its tokens and keeps others.")
    raise Wrong("numbers-dropped", "Single numbers are dropped, as in plain dropout.")


def _how_many(dropped: torch.Tensor, p: float) -> None:
    share, about = dropped.float().mean().item(), 5 * (p * (1 - p) / IMAGES) ** 0.5
    if abs(share - p) <= about:
        return
    details = [f"Expected: a share of about {p} of {IMAGES} images", f"Received: {share:.2f}"]
    if abs(share - (1 - p)) <= about:
        raise Wrong("probability-swapped", "p is taken for the probability of being kept.", details)
    raise Wrong("wrong-behaviour", "Another share of the images loses its branch.", details)


def _how_large(out: torch.Tensor, x: torch.Tensor, p: float) -> None:
    kept = ~(out == 0).all(dim=(1, 2))
    received = out[kept]
    if agree(received, x[kept] / (1 - p)):
        return
    for factor, mistake, sentence in (
        (1, "not-scaled", "What is kept is as large as before, so the mean over many steps is smaller."),
        (1 - p, "scaled-down", "What is kept becomes smaller, so the mean over many steps shrinks twice."),
        (1 / p, "divided-by-p", "What is kept is divided by the share that is dropped."),
    ):
        if agree(received, factor * x[kept]):
            raise Wrong(mistake, sentence)
    details = [f"Expected: {x[kept].flatten()[0] / (1 - p):.4f}", f"Received: {received.flatten()[0]:.4f}"]
    raise Wrong("wrong-behaviour", "What is kept has another size.", details)


def _trains(module: nn.Module, x: torch.Tensor) -> None:
    inputs = x.clone().requires_grad_()
    out = call(module, inputs)
    if out.requires_grad:
        out.sum().backward()
    if inputs.grad is None:
        raise Wrong("gradient-cut", "No gradient passes, so the branch before it could not be trained.")
