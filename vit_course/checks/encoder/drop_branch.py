"""Exercise encoder.drop_branch: stochastic depth, a branch that is dropped whole for some images."""

import torch
from torch import nn

from vit_course.checks.encoder.shared import CONSTRUCTOR, never_set
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.modules import build, feed
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.checks.tools.words import describe

IMAGES = 600


@exercise("5.1", "Drop a whole branch", section="The block, in two lines", difficulty=2, minutes=10)
def drop_branch(answer, draw):
    """`answer(p)` -> a module (B, T, D) -> (B, T, D): in training, each image's branch is 0 with probability p."""
    for p in (0.3, 0.6):
        tokens, width = draw.sizes(2, low=3)
        x = 1 + draw.uniform(IMAGES, tokens, width)  # no 0 among them
        with named_by_details(CONSTRUCTOR, of=("raised-error",)):
            module = build(answer, p).eval()
        axes = {"B": (IMAGES, "images"), "T": (tokens, "tokens"), "D": (width, "hidden width")}
        with named_by_details(never_set(module), *known(__name__, "shapes")), axes_named(axes, asked="(B, T, D)"):
            evaluated, out = _output(module, x), _output(module.train(), x)
        _same_in_evaluation(evaluated, out, x, p)
        _some_dropped(answer, module, x, out, p)
        _same_for_a_whole_image(out == 0)
        _how_many(answer, (out == 0).all(dim=(1, 2)), x, p)
        _how_large(out, x, p)
        _decided_anew(module, x)
        _trains(module, x)
        _any_sizes(module, x, p)
        _neighbours(module, x)


def _output(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return tensor(feed(module, x), x.shape, "(B, T, D)", "the output")


def _same_in_evaluation(out: torch.Tensor, trained: torch.Tensor, x: torch.Tensor, p: float) -> None:
    refuse(__name__, "same-in-evaluation", locals())
    for factor, words in ((1 / (1 - p), "divided by 1 - p"), (1 - p, "multiplied by 1 - p")):
        if agree(out, factor * x):
            raise Wrong("scaled-in-evaluation", f"After eval(), what passes is {words}.")
    if agree(out, 2 * x):
        raise Wrong("residual-added", "After eval(), what went in comes out twice: the sum is the block's part.")
    if not agree(out, x):
        details = [f"Expected: {x.flatten()[0]:.4f}", f"Received: {out.flatten()[0]:.4f}"]
        raise Wrong("wrong-behaviour", "After eval(), what comes out is not what went in.", details)


def _some_dropped(answer, module: nn.Module, x: torch.Tensor, out: torch.Tensor, p: float) -> None:
    # Where a call drops all images or none, many calls say whether one decision is made for all of them.
    alike = agree(out, x), agree(out, x / (1 - p)), bool((out == 0).all())
    if (out == 0).any() and not alike[2]:
        return
    if (out == x).flatten(1).all(dim=1).any() and not alike[0]:
        if _each_of(out, x, x / (1 - p)):
            sentence = "What is to be dropped comes out as it went in; only the rest is divided by 1 - p."
            raise Wrong("not-zeroed", sentence)
        others = (out / x)[(out != x).flatten(1).any(dim=1)]
        if not agree(others, others[:1, :1, :1].expand_as(others)):
            raise Wrong("not-zeroed", "Images come out as they went in, where those to be dropped are to be zeros.")
        raise Wrong("residual-added", "The branch comes out with what went in added: the sum is the block's part.")
    again = {bool((_output(module, x) == 0).all()) for _ in range(40)}
    built = {bool((_output(build(answer, p).train(), x) == 0).all()) for _ in range(40)}
    refuse(__name__, "some-dropped", locals())
    raise Wrong("nothing-dropped", f"In training, not one of {IMAGES} images came out as zeros.")


def _same_for_a_whole_image(zero: torch.Tensor) -> None:
    whole = zero.flatten(1).all(dim=1) | ~zero.flatten(1).any(dim=1)  # (B,)
    if whole.all():
        return
    refuse(__name__, "same-for-a-whole-image", locals())
    raise Wrong("numbers-dropped", "Single numbers are dropped, as in plain dropout.")


def _how_many(answer, dropped: torch.Tensor, x: torch.Tensor, p: float) -> None:
    share, about = dropped.float().mean().item(), 5 * (p * (1 - p) / IMAGES) ** 0.5
    if abs(share - p) <= about:
        return
    details = [f"Expected: a share of about {p} of {IMAGES} images", f"Received: {share:.2f}"]
    if abs(share - (1 - p)) <= about:
        raise Wrong("probability-swapped", "p is taken for the probability of being kept.", details)
    # With a second p the shares of two causes are not alike by chance.
    second = 0.9
    other = (_output(build(answer, second).train(), x) == 0).all(dim=(1, 2)).float().mean().item()
    for expected, slug, sentence in (
        (lambda p: share, "probability-fixed", "The share of the images that is dropped does not depend on p."),
        (_normal, "normal-for-uniform", "The random numbers are normally distributed: p is not the share below it."),
        (lambda p: 1 - _normal(p), "normal-for-uniform",
         "The random numbers are normally distributed: p is not the share above it."),
        (lambda p: 1 - (1 - p) ** 2, "decided-twice", "An image stays only where two random decisions keep it."),
        (lambda p: p**2, "p-squared", "An image is dropped with the probability p times p."),
    ):  # fmt: skip
        if max(abs(share - expected(p)), abs(other - expected(second))) <= about:
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-behaviour", "Another share of the images loses its branch.", details)


def _normal(p: float) -> float:
    # The share of normally distributed numbers below p.
    return torch.special.ndtr(torch.tensor(p)).item()


def _how_large(out: torch.Tensor, x: torch.Tensor, p: float) -> None:
    kept = ~(out == 0).all(dim=(1, 2))
    received = out[kept]
    if agree(received, x[kept] / (1 - p)):
        return
    if agree(received, torch.full_like(received, received[0, 0, 0].item())):
        raise Wrong("mask-returned", "What comes out are the numbers of a mask: the branch has no part in it.")
    for factor, mistake, sentence in (
        (1, "not-scaled", "What is kept is as large as before, so the mean over many steps is smaller."),
        (1 - p, "scaled-down", "What is kept becomes smaller, so the mean over many steps shrinks twice."),
        (1 / p, "divided-by-p", "What is kept is divided by the share that is dropped."),
        (p, "multiplied-by-p", "What is kept is multiplied by the share that is dropped."),
        ((1 - p) ** -2, "scaled-twice", "What is kept is divided by 1 - p twice."),
        ((1 - p) ** -0.5, "divided-by-a-root", "What is kept is divided by the root of 1 - p."),
        (1 / (1 + p), "divided-by-one-plus-p", "What is kept is divided by 1 + p."),
        (1 + p, "multiplied-by-one-plus-p", "What is kept is multiplied by 1 + p."),
        (
            len(x) / len(received),
            "divided-by-the-share-kept",
            "What is kept is divided by the share of this batch that was kept, and not by 1 - p.",
        ),
        (1 / (p - 1), "sign-changed", "What is kept has the other sign."),
    ):
        if agree(received, factor * x[kept]):
            raise Wrong(mistake, sentence)
    details = [f"Expected: {x[kept].flatten()[0] / (1 - p):.4f}", f"Received: {received.flatten()[0]:.4f}"]
    raise Wrong("wrong-behaviour", "What is kept has another size.", details)


def _decided_anew(module: nn.Module, x: torch.Tensor) -> None:
    dropped = [(_output(module, x) == 0).all(dim=(1, 2)) for _ in range(6)]
    refuse(__name__, "decided-anew", locals())


def _any_sizes(module: nn.Module, x: torch.Tensor, p: float) -> None:
    # A batch of one, and one of another length, in both modes; then evaluation again after training.
    for mode in (True, False):
        module.train(mode)
        for batch in (x[:1], x[:7, :2]):
            try:
                out = _output(module, batch)
            except Wrong as wrong:
                slug = "batch-of-one" if len(batch) == 1 else "hard-coded-size"
                sentence = "Right for a large batch, not for one image: an axis of size 1 is not kept."
                if slug == "hard-coded-size":
                    sentence = "Right for the first sizes that were tried, not for others."
                details = [f"Input:    a {describe(batch)}", *wrong.details]
                raise Wrong(slug, sentence, details) from None
            kept = out if not mode else out * (1 - p)
            if not agree(kept, batch) and (not mode or not _each_of(out, 0 * batch, batch / (1 - p))):
                raise Wrong("wrong-behaviour", "With other sizes, what comes out is neither 0 nor what is kept.",
                            [f"Input:    a {describe(batch)}"])  # fmt: skip


def _each_of(out: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> bool:
    return all(agree(one, a) or agree(one, b) for one, a, b in zip(out, first, second, strict=True))


def _neighbours(module: nn.Module, x: torch.Tensor) -> None:
    # Two images side by side meet the same fate as often as chance has it, not always.
    module.train()
    dropped = (_output(module, x) == 0).all(dim=(1, 2))
    share = dropped.float().mean().item()
    chance = share**2 + (1 - share) ** 2  # that two images decided separately meet the same fate
    for step in (1, 2, 3, len(x) // 2):
        same = (dropped == dropped.roll(step)).float().mean().item()
        if abs(same - chance) > 5 * (chance * (1 - chance) / len(x)) ** 0.5:
            raise Wrong("decided-in-groups", "Images are not decided separately: several of a batch go together.")


def _trains(module: nn.Module, x: torch.Tensor) -> None:
    inputs = x.clone().requires_grad_()
    out = feed(module, inputs)
    if out.requires_grad:
        out.sum().backward()
    if inputs.grad is None:
        raise Wrong("gradient-cut", "No gradient passes, so the branch before it could not be trained.")
