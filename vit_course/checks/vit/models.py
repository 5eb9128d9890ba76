"""Small models for exercise vit.independent: two whose images are alone, and many whose images are not."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

# By so much the logits of the faint ones change: more than any rounding, less than a careless tolerance.
FAINT = 0.004


class Model(nn.Module):
    """(B, C, H, W) -> (B, K): logits from the pixels by one matrix, and then what `mix` makes of them.

    Args:
        weight: (C*H*W, K).
        images: (B, C, H, W), with which it will be tried.
        mix: logits and images of a batch -> logits.
    """

    def __init__(self, weight: torch.Tensor, images: torch.Tensor, mix: Callable):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.mix, self.strength = mix, 1.0
        if mix in (_faint, _faintly_scaled):
            self.strength = FAINT / float(_others(images.flatten(1) @ weight).abs().max())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.mix(images.flatten(1) @ self.weight, images, self)


@dataclass(frozen=True)
class Kind:
    """One of the models.

    Args:
        words: what it does, for the line on the input.
        right: what is to be said of it.
        mix: see `Model`.
        slug, sentence: what a test does that says the opposite, true of every such test.
        by_place: whether the place of an image in the batch matters.
    """

    words: str
    right: bool
    mix: Callable
    slug: str = "wrong-behaviour"
    sentence: str = "The verdict on one of the models is not right."
    by_place: bool = False


def _others(out: torch.Tensor) -> torch.Tensor:
    # (B, 1): how far the mean of the batch lies from an image's own; 0 where it is alone.
    return out.mean() - out.mean(dim=1, keepdim=True)


def _alone(out, images, model):
    return out


def _rounding(out, images, model):
    return out * (1 + 2.0**-23) if out.dtype == torch.float32 and len(out) > 1 else out


def _batch_mean(out, images, model):
    return (images - images.mean()).flatten(1) @ model.weight


def _shift(out, images, model):
    return out + out.mean()


def _neighbour(out, images, model):
    return out + out.roll(1, dims=0)


def _last(out, images, model):
    return torch.cat([out[:-1], out.mean(dim=0, keepdim=True)])


def _first(out, images, model):
    return torch.cat([out.mean(dim=0, keepdim=True), out[1:]])


def _trade(out, images, model):
    shift = torch.zeros_like(out)
    shift[:, 0], shift[:, 1] = 1, -1
    return out + shift * out.mean()


def _raise(out, images, model):
    return out + out.amax() - out.amax(dim=1, keepdim=True)


def _lower(out, images, model):
    return out - out.amax() + out.amax(dim=1, keepdim=True)


def _faint(out, images, model):
    return out + model.strength * _others(out)


def _faintly_scaled(out, images, model):
    return out * (1 + model.strength * _others(out))


def _some_see_each_other(sign: int) -> Callable:
    def mix(out, images, model):
        chosen = (sign * images.flatten(1).mean(dim=1) > 20).to(out.dtype)[:, None]  # (B, 1)
        return out + chosen * (chosen.mT @ out)

    return mix


_SIGN = "the sign of a difference matters."
KINDS = (
    Kind("no image depends on another", True, _alone, "wrong-behaviour", "A model is refused that never mixes two "
         "images."),
    Kind("no image depends on another, and a batch is rounded otherwise", True, _rounding, "rounding-refused",
         "A right model is refused: its logits alone and in the batch differ in their last digit."),
    Kind("the mean of the batch is subtracted from the pixels", False, _batch_mean, "wrong-behaviour",
         "A model passes that subtracts the mean of the whole batch from every pixel."),
    Kind("all logits are shifted by their mean over the batch", False, _shift, "classes-only",
         "A model passes whose logits change with the batch while the winning class stays."),
    Kind("each image sees the one before it", False, _neighbour, "wrong-behaviour",
         "A model passes in which each image sees the one before it.", by_place=True),
    Kind("the last image alone sees the others", False, _last, "one-image-untested",
         "A model passes in which the last image alone sees the others.", by_place=True),
    Kind("the first image alone sees the others", False, _first, "one-image-untested",
         "A model passes in which the first image alone sees the others.", by_place=True),
    Kind("two images of the first half see each other", False, _some_see_each_other(1), "parts-of-the-batch",
         "A model passes in which only two images see each other: what was compared keeps the two together, or "
         "leaves them out."),
    Kind("two images of the second half see each other", False, _some_see_each_other(-1), "parts-of-the-batch",
         "A model passes in which only two images see each other: what was compared keeps the two together, or "
         "leaves them out."),
    Kind("the batch moves one logit up and another down", False, _trade, sentence="A model passes in which the batch "
         "moves one logit up and another down as far."),
    Kind("logits rise with the batch", False, _raise, "sign-counts",
         f"A model passes whose logits rise with the batch, and is refused where they fall: {_SIGN}"),
    Kind("logits fall with the batch", False, _lower, "sign-counts",
         f"A model passes whose logits fall with the batch, and is refused where they rise: {_SIGN}"),
    Kind("logits change faintly with the batch", False, _faint, "tolerance-too-wide",
         f"A model passes whose logits change by {FAINT} with the batch, far more than rounding does."),
    Kind("logits are scaled faintly by the batch", False, _faintly_scaled, "tolerance-too-wide",
         f"A model passes whose logits change by {100 * FAINT} % with the batch, far more than rounding does."),
)  # fmt: skip
