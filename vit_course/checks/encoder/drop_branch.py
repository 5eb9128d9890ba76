"""Exercise encoder.drop_branch: stochastic depth, a branch that is dropped whole for some images."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse
from vit_course.checks.tools.modules import build, feed
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
        with named_by_details(*SHAPES), axes_named(axes, asked="(B, T, D)"):
            evaluated, out = _output(module, x), _output(module.train(), x)
        refuse(IN_EVALUATION, dict(p=p, x=x, out=out, evaluated=evaluated), _sizes(x, evaluated))
        _some_dropped(answer, module, x, out, p)
        zero = out == 0
        mixed = (zero != zero[:, :1, :1]).any()  # whether an image is dropped in part
        refuse(FOR_A_WHOLE_IMAGE, dict(zero=zero, mixed=mixed))
        dropped = zero[:, 0, 0]
        _how_many(answer, dropped, x, p)
        kept, received = x[~dropped], out[~dropped]
        refuse(SIZE, dict(p=p, x=x, kept=kept, received=received), _sizes(kept / (1 - p), received))
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
    refuse(
        SOME_DROPPED,
        dict(out=out, p=p, again=again, built=built, some_as_before=some_as_before, factors=factors, IMAGES=IMAGES),
    )


def _how_many(answer, dropped: torch.Tensor, x: torch.Tensor, p: float) -> None:
    share, about = dropped.float().mean().item(), 5 * (p * (1 - p) / IMAGES) ** 0.5
    if abs(share - p) <= about:
        return
    # With a second p the shares of two causes are not alike by chance.
    found = {p: share, 0.9: _dropped(build(answer, 0.9), x).float().mean().item()}

    def is_share(expected) -> bool:
        return all(abs(share - expected(p)) <= about for p, share in found.items())

    details = [f"Expected: about {p * IMAGES:.0f} of {IMAGES} images dropped at p = {p}"]
    details.append(f"Received: {int(dropped.sum())} dropped")
    refuse(SHARE, dict(p=p, share=share, about=about, is_share=is_share), details)


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
    refuse(DECIDED_ANEW, dict(dropped=dropped, apart=apart))


def _any_sizes(module: nn.Module, x: torch.Tensor, p: float) -> None:
    # A batch of one, and one of another length, in both modes; then evaluation again after training.
    for mode, batch in ((mode, batch) for mode in (True, False) for batch in (x[:1], x[:7, :2])):
        details = [f"Input:    a {describe(batch)}"]
        try:
            out = _output(module.train(mode), batch)
        except Wrong as wrong:
            details += wrong.details
            refuse(SHAPE_OF_OTHER_SIZES, dict(batch=batch), details)
        scaled = batch / (1 - p) if mode else batch
        zeros = [mode and not one.any() for one in out]
        right = all(zero or agree(one, part) for zero, one, part in zip(zeros, out, scaled, strict=True))
        refuse(OTHER_SIZES, dict(right=right), details)


SHAPES = [
    Known(r"^Received: \(600, 1, 1\)", "mask-returned", "The mask is returned instead of the branch."),
    Known(
        r"^Received: \((?!600,)\d{3}, \d, \d\)",
        "images-removed",
        "Images are removed from the batch; they should come out as zeros.",
    ),
]

IN_EVALUATION = [
    Slip("drops-in-evaluation", "After eval(), the whole output is 0.", lambda evaluated: (evaluated == 0).all()),
    Slip(
        "modes-exchanged",
        "The module drops branches after eval() and lets everything pass in training.",
        lambda evaluated, out, x: (evaluated == 0).any() and agree(out, x),
    ),
    Slip(
        "drops-in-evaluation",
        "After eval(), some of the numbers in the output are 0.",
        lambda evaluated: (evaluated == 0).any(),
    ),
    Slip(
        "scaled-in-evaluation",
        "After eval(), the input is divided by 1 - p.",
        lambda evaluated, x, p: agree(evaluated, x / (1 - p)),
    ),
    Slip(
        "scaled-in-evaluation",
        "After eval(), the input is multiplied by 1 - p.",
        lambda evaluated, x, p: agree(evaluated, x * (1 - p)),
    ),
    Slip(
        "residual-added",
        "After eval(), the input is added to the output: that is the job of the block.",
        lambda evaluated, x: agree(evaluated, 2 * x),
    ),
    Slip(
        "wrong-behaviour",
        "After eval(), the output is not equal to the input.",
        lambda evaluated, x: not agree(evaluated, x),
    ),
]

SOME_DROPPED = [
    Slip(
        "not-zeroed",
        "The images to be dropped come out unchanged; only the rest is divided by 1 - p.",
        lambda some_as_before, factors, p: some_as_before and agree(factors, torch.full_like(factors, 1 / (1 - p))),
    ),
    Slip(
        "residual-added",
        "The input is added to the output: that is the job of the block.",
        lambda some_as_before, factors, p: some_as_before and agree(factors, torch.full_like(factors, 1 + 1 / (1 - p))),
        lambda some_as_before, factors: some_as_before and agree(factors, torch.full_like(factors, 2)),
    ),
    Slip(
        "not-zeroed",
        "Some images come out unchanged; the dropped ones should be zeros.",
        lambda some_as_before: some_as_before,
    ),
    Slip(
        "one-decision-for-all",
        "One decision is made for the whole batch: all images are dropped, or none.",
        lambda again: len(again) == 2,
    ),
    Slip(
        "decided-once",
        "A single decision is made when the module is built and kept for all images.",
        lambda built: len(built) == 2,
    ),
    Slip(
        "everything-dropped",
        "In training, all {IMAGES} images lost their branch every time.",
        lambda out: (out == 0).all(),
    ),
    Slip("nothing-dropped", "In training, none of {IMAGES} images came out as zeros.", True),
]

FOR_A_WHOLE_IMAGE = [
    Slip(
        "same-for-every-image",
        "Every image of the batch loses the same numbers.",
        lambda mixed, zero: mixed and (zero == zero[:1]).all(),
    ),
    Slip(
        "tokens-dropped",
        "Single tokens are dropped: an image loses some of its tokens and keeps others.",
        lambda mixed, zero: mixed and (zero == zero[:, :, :1]).all(),
    ),
    Slip(
        "columns-dropped",
        "An image loses some of the D numbers, the same ones in all its tokens, and keeps the others.",
        lambda mixed, zero: mixed and (zero == zero[:, :1]).all(),
    ),
    Slip("numbers-dropped", "Single numbers are dropped, as in plain dropout.", lambda mixed: mixed),
]

SHARE = [
    Slip(
        "probability-swapped",
        "p is used as the probability of being kept.",
        lambda share, p, about: abs(share - (1 - p)) <= about,
    ),
    Slip(
        "probability-fixed",
        "The share of dropped images does not depend on p.",
        lambda is_share, share: is_share(lambda p: share),
    ),
    Slip(
        "normal-for-uniform",
        "The random numbers are normally distributed, so the share of them below p is not p.",
        lambda is_share: is_share(_normal),
    ),
    Slip(
        "normal-for-uniform",
        "The random numbers are normally distributed, so the share of them above p is not p.",
        lambda is_share: is_share(lambda p: 1 - _normal(p)),
    ),
    Slip(
        "decided-twice",
        "An image stays only if two random decisions keep it.",
        lambda is_share: is_share(lambda p: 1 - (1 - p) ** 2),
    ),
    Slip("wrong-behaviour", "The share of images that lose their branch is wrong.", True),
]

SIZE = [
    Slip(
        "mask-returned",
        "The output holds the numbers of a mask; the branch is not used.",
        lambda received: agree(received, received[:1, :1, :1].expand_as(received)),
    ),
    Slip(
        "not-scaled",
        "The kept branches are as large as before, so the mean over many steps is smaller.",
        lambda received, kept: agree(received, kept),
    ),
    Slip(
        "scaled-down",
        "The kept branches become smaller, so the mean over many steps shrinks twice.",
        lambda received, kept, p: agree(received, kept * (1 - p)),
    ),
    Slip(
        "divided-by-p",
        "The kept branches are divided by the share that is dropped.",
        lambda received, kept, p: agree(received, kept / p),
    ),
    Slip(
        "divided-by-a-root",
        "The kept branches are divided by the square root of 1 - p.",
        lambda received, kept, p: agree(received, kept / (1 - p) ** 0.5),
    ),
    Slip(
        "divided-by-the-share-kept",
        "The kept branches are divided by the share of this batch that was kept, not by 1 - p.",
        lambda received, kept, p, x: not agree(received, kept / (1 - p)) and agree(received, kept * len(x) / len(kept)),
    ),
    Slip(
        "wrong-behaviour",
        "The numbers of the kept branches are wrong.",
        lambda received, kept, p: not agree(received, kept / (1 - p)),
    ),
]

DECIDED_ANEW = [
    Slip(
        "always-the-same-images",
        "Called twice in training, the module drops the same images.",
        lambda dropped: torch.equal(dropped[0], dropped[1]),
    ),
    Slip(
        "always-as-many",
        "Exactly the same number of images is dropped every time, so there is no separate decision for each image.",
        lambda dropped: len({int(images.sum()) for images in dropped}) == 1,
    ),
    Slip(
        "decided-in-groups",
        "There is no separate decision for each image: several images of a batch are dropped together.",
        lambda apart: apart > 5,
    ),
]

SHAPE_OF_OTHER_SIZES = [
    Slip(
        "batch-of-one",
        "Correct for a large batch, but not for one image: an axis of size 1 is not kept.",
        lambda batch: len(batch) == 1,
    ),
    Slip("hard-coded-size", "Correct for the first sizes that were tried, but not for others.", True),
]

OTHER_SIZES = [
    Slip("wrong-behaviour", "With other sizes, the output is neither 0 nor the kept branch.", lambda right: not right),
]
