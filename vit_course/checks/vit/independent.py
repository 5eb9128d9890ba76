"""Exercise vit.independent: a test that finds models whose images depend on their batch mates."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import truth
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import refuse, table

RIGHT = 2  # so many of the models, the first ones, never mix two images


def independent(answer, draw):
    """`answer(model, images)` -> True where the logits of no image depend on the others, False where they do."""
    kinds, batches = table(__name__, "models"), [_weight_and_images(draw) for _ in range(2)]

    def verdicts(test: Callable) -> list[bool]:
        return [test(Model(*batch, kind.function).eval(), batch[1].clone()) for batch in batches for kind in kinds]

    found, right = verdicts(partial(_asked, answer)), [index < RIGHT for index in range(len(kinds))] * 2
    if found == right:
        return
    place = min((i for i in range(len(found)) if found[i] != right[i]), key=lambda i: i % len(kinds))
    kind = kinds[place % len(kinds)]
    details = [f"Input:    a model. {kind.sentence}", f"Expected: {right[place]}", f"Received: {found[place]}"]
    refuse(__name__, "verdicts", locals(), details)
    for known in table(__name__, "tests"):
        if verdicts(partial(_compared, known.function)) == found:
            raise Wrong(known.slug, known.sentence, details)
    said = "A correct model is refused" if right[place] else "A model passes whose images depend on others"
    raise Wrong(kind.slug, f"{said}: {kind.sentence[0].lower()}{kind.sentence[1:]}", details)


class Model(nn.Module):
    """(B, C, H, W) -> (B, K): logits from the pixels by one matrix, and then what `mix` makes of them.

    Args:
        weight: (C*H*W, K).
        images: (B, C, H, W), with which it will be tried.
        mix: logits, images and the model -> logits.
    """

    def __init__(self, weight: torch.Tensor, images: torch.Tensor, mix: Callable):
        super().__init__()
        self.weight, self.mix = nn.Parameter(weight.clone()), mix
        # By so much of `_others` the faint models change: more than any rounding, less than a careless tolerance.
        self.faint = 0.004 / float(_others(images.flatten(1) @ weight).abs().max())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.mix(images.flatten(1) @ self.weight, images, self)


def _others(out: torch.Tensor) -> torch.Tensor:
    # (B, 1): how far the mean of the batch lies from an image's own; 0 where it is alone.
    return out.mean() - out.mean(dim=1, keepdim=True)


def _among(chosen: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    # The logits of chosen images (B,) are added up, and each of these has the sum on top of its own.
    chosen = chosen.to(out.dtype)[:, None]  # (B, 1)
    return out + chosen * (chosen.mT @ out)


def _weight_and_images(draw) -> tuple[torch.Tensor, torch.Tensor]:
    batch, classes = draw.sizes(2, low=6)
    channels, height, width = draw.sizes(3, high=4)
    # Numbers with few digits, so that the first model computes without rounding; images differ in brightness. The two
    # bright ones stand in the first half of the batch, the two dark ones in the second.
    brightness = draw.permutation(batch) - batch // 2
    brightness[:2], brightness[-2:] = torch.tensor([30, 34]), torch.tensor([-34, -30])
    images = (3 * draw.normal(batch, channels, height, width)).round() + brightness.view(-1, 1, 1, 1)
    weight = (3 * draw.normal(channels * height * width, classes)).round() / 256  # logits of size 1, about
    return weight, images


def _asked(answer, model: Model, images: torch.Tensor) -> bool:
    # The learner's verdict.
    given = []
    model.register_forward_pre_hook(
        lambda one, args: given.append((tuple(getattr(args[0], "shape", ())), one.training))
    )
    try:
        received = call(answer, model, images)
    except Wrong as wrong:
        if wrong.mistake != "raised-error" or all(len(shape) == 4 for shape, _ in given):
            raise
        sentence = "The model was given something that is not a batch (B, C, H, W): one image is a batch of one."
        raise Wrong("no-batch-axis", sentence, [f"Received: {given[-1][0]}", *wrong.details]) from None
    if any(training for _, training in given):
        sentence = "The model runs in training mode, in which dropout and batch norm make even correct models differ."
        raise Wrong("train-mode-left-on", sentence)
    return truth(received)


# ---- tests that people write: each is known by its verdicts on all models

_close = partial(torch.allclose, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def _compared(same: Callable, model: Model, images: torch.Tensor) -> bool:
    return bool(same(torch.cat([model(image[None]) for image in images]), model(images), model, images))


def _parts(model: Model, images: torch.Tensor, size: int) -> torch.Tensor:
    return torch.cat([model(part) for part in images.split(size)])
