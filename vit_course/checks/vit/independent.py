"""Exercise vit.independent: a test that finds models whose images depend on their batch mates."""

import copy

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.words import describe


@exercise("A test for batch mates", section="Two more checks before training", difficulty=3, minutes=12)
def independent(answer, draw):
    """`answer(model, images)` -> True where the logits of no image depend on the others, False where they do."""
    for _ in range(2):
        batch, classes = draw.sizes(2, low=5)
        channels, height, width = draw.sizes(3, high=4)
        # Numbers with few digits, so that the first model computes without rounding; images differ in brightness.
        brightness = 5 * (draw.permutation(batch).view(-1, 1, 1, 1) - batch // 2)
        images = (3 * draw.normal(batch, channels, height, width)).round() + brightness
        weight = (3 * draw.normal(channels * height * width, classes)).round() / 256  # logits of size 1, about
        verdicts = []
        for kind in KINDS:
            received = call(answer, copy.deepcopy(kind(weight).eval()), images)
            if received is None:
                raise Wrong("returned-nothing", "The result is None: nothing was returned.")
            verdicts.append(_as_bool(received))
        _judge(verdicts, images)


class EachAlone(nn.Module):
    """Logits from the pixels by one matrix; the ones below add a dependence between images."""

    right = True

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.mix(images.flatten(1) @ self.weight)

    def mix(self, out: torch.Tensor) -> torch.Tensor:
        return out


class EachAloneWithRounding(EachAlone):
    """The last digit is another one in a batch than alone, as happens in real matrix products."""

    def mix(self, out):
        return out * (1 + 2.0**-23) if out.dtype == torch.float32 and len(out) > 1 else out


class SubtractsBatchMean(EachAlone):
    """The order of the images does not matter."""

    right = False

    def forward(self, images):
        return super().forward(images - images.mean())


class ShiftsByBatch(EachAlone):
    """All logits of an image move alike, so the winning class stays."""

    right = False

    def mix(self, out):
        return out + out.mean()


class SeesNeighbour(EachAlone):
    """The logits of each image depend on one other image."""

    right = False

    def mix(self, out):
        return out + out.roll(1, dims=0)


class LastSeesAll(EachAlone):
    """Every image but the last is alone."""

    right = False

    def mix(self, out):
        return torch.cat([out[:-1], out.mean(dim=0, keepdim=True)])


class FirstSeesAll(EachAlone):
    """Every image but the first is alone."""

    right = False

    def mix(self, out):
        return torch.cat([out.mean(dim=0, keepdim=True), out[1:]])


KINDS = (
    EachAlone,
    EachAloneWithRounding,
    SubtractsBatchMean,
    ShiftsByBatch,
    SeesNeighbour,
    LastSeesAll,
    FirstSeesAll,
)


def _as_bool(received) -> bool:
    for verdict in (True, False):
        try:
            same_answer(received, verdict)
            return verdict
        except Wrong as wrong:
            if wrong.mistake != "wrong-answer":
                raise Wrong(
                    "wrong-type", f"The result is {describe(received)} where True or False is expected."
                ) from None
    raise Wrong("wrong-type", f"The result is {describe(received)} where True or False is expected.")


def _judge(verdicts: list[bool], images: torch.Tensor) -> None:
    if verdicts == [kind.right for kind in KINDS]:
        return
    exact, rounded, by_batch, shifted, neighbour, last, first = verdicts
    wrong = next(index for index, kind in enumerate(KINDS) if verdicts[index] != kind.right)
    details = [
        f"Input:    a model of type {KINDS[wrong].__name__}, {describe(images)}",
        f"Expected: {KINDS[wrong].right}",
        f"Received: {verdicts[wrong]}",
    ]
    right_so_far = exact and rounded
    known = (
        (all(verdicts), "accepts-everything", "Every model passes, also those that mix the images of a batch."),
        (not any(verdicts), "refuses-everything", "No model passes, not even one that never mixes two images."),
        (
            not exact and not rounded and all(verdicts[2:]),
            "verdict-inverted",
            "The two verdicts have changed places: True is said of the models that mix images.",
        ),
        (
            exact and not any(verdicts[1:]),
            "rounding-refused",
            "A right model is refused: its logits alone and in the batch differ in their last digit.",
        ),
        (
            right_so_far and by_batch and shifted and not (last and first),
            "order-only",
            "The same images in another order are all that is tried: "
            "a model passes that looks at all of them alike.",
        ),
        (
            right_so_far and shifted and not (by_batch or neighbour or (last and first)),
            "classes-only",
            "A model passes whose logits change with the batch while the winning class stays.",
        ),
        (
            right_so_far and not (by_batch or shifted) and (last or first),
            "one-image-untested",
            "At least one image of the batch is never tested: a model passes in which only this one sees the others.",
        ),
    )  # fmt: skip
    for found, slug, sentence in known:
        if found:
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-behaviour", "The verdict on one of the models is not right.", details)
