"""Exercise vit.predicted: predictions about a new model."""

import math

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import count
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise("6.1", "Predictions about a new model", section="How large is it?", difficulty=1, minutes=8)
def predicted(answer, draw, parts):
    """`answer()` -> {"features", "first_loss", "large_head", "parameters", "multiply_adds"}.

    Images of 48 x 32 pixels, P = 8, D = 96, L = 2, h = 4, M = 384, K = 20, batches of 4.
    """
    classes = 20
    config = ViTConfig((48, 32), 8, classes, hidden_dim=96, num_layers=2, num_heads=4, mlp_dim=384)
    larger = ViTConfig((96, 64), 8, classes, hidden_dim=96, num_layers=2, num_heads=4, mlp_dim=384)
    images = draw.normal(4, 3, 48, 32)
    received = call(answer)
    same_answers(
        received,
        {
            "features": tuple(ViT(config).features(images).shape),
            "first_loss": math.log(classes),
            "large_head": _first_loss_with_a_large_head(config, draw),
            "parameters": _more_parameters(config, larger),
            "multiply_adds": _more_operations(config, larger),
        },
        parts,
        mistakes={
            "features": {
                (4, 96): ("class-output-only", "This is the class output; `features` ends with every token."),
                (4, 20): ("logits-not-features", "These are the logits; `features` ends before the head."),
                (4, 25, 20): ("logits-not-features", "The head has been applied; `features` ends before it."),
                (4, 24, 96): ("class-token-forgotten", "The patches are all there; one token is not a patch."),
                (25, 96): ("batch-forgotten", "This is one image; there are four."),
                (1, 25, 96): ("batch-forgotten", "This is one image; there are four."),
                (4, 25, 384): ("inner-width", "This is the width inside an MLP, which ends with the other one."),
                (4, 11, 96): ("sides-added", "Rows and columns of patches are added up: their product is the number."),
                (4, 25, 24): ("one-head", "This is the width of one head; the heads are joined again."),
                (4, 4, 25, 24): ("heads-apart", "The heads are still apart: they are joined again in each block."),
                (4, 96, 25): ("tokens-and-width-swapped", "The width has become an axis in front of the tokens."),
            },
            "first_loss": {
                1 / classes: ("probability-not-loss", "This is the share of each class; the loss is made from it."),
                -math.log(classes): ("sign-lost", "A loss of this kind is never negative."),
                math.log2(classes): ("other-logarithm", "The logarithm has another base than the loss."),
                math.log10(classes): ("other-logarithm", "The logarithm has another base than the loss."),
                math.log(10): ("ten-classes", "This is the loss among ten classes, and this model has not ten."),
                2.3: ("ten-classes", "This is the loss among ten classes, and this model has not ten."),
                math.log(25): ("tokens-for-classes", "This is made from the number of tokens."),
                math.log(24): ("tokens-for-classes", "This is made from the number of patches."),
                math.log(96): ("width-for-classes", "This is made from the width of the tokens."),
                math.log(4): ("batch-for-classes", "This is made from the size of the batch."),
                math.log(21): ("tokens-for-classes", "A class more than there are: the class token is no class."),
                4 * math.log(classes): ("loss-summed", "This is a sum over the batch, where the loss is a mean."),
                2.99: ("rounded-too-far", "Near, but cut or rounded too far: three decimals are asked for."),
                3: ("rounded-too-far", "Near, but rounded too far: three decimals are asked for."),
                0.0: ("no-loss", "A loss of 0 would mean that the model is sure of the right class."),
                1 - 1 / classes: ("share-of-errors", "This is the share of wrong guesses, not the loss."),
            },
            "large_head": {
                "the same": (
                    "guess-taken-for-undecided",
                    "To guess right one time in K is not the same as to give every class a share of 1/K.",
                ),
                "smaller": ("sure-and-right", "Large logits make the model sure, and nothing makes it right."),
            },
            "parameters": {
                "the same": ("table-forgotten", "One part has a row for each token, and there are more tokens."),
                "four times": (
                    "weights-for-each-token",
                    "The tokens share nearly all weights: more tokens do not bring more matrices.",
                ),
            },
            "multiply_adds": {
                "the same": (
                    "shared-weights-are-free",
                    "A shared weight is stored once and used for each token, and there are more tokens.",
                ),
                "twice": ("sides-not-areas", "The number of patches does not grow with one side alone."),
                "at most four times": ("products-forgotten", "A part of the cost grows faster than the tokens do."),
            },
        },
    )


def _first_loss_with_a_large_head(config: ViTConfig, draw) -> str:
    model, images = ViT(config).eval(), draw.normal(60, 3, *config.image_size)
    labels = torch.arange(60) % config.num_classes
    with torch.no_grad():
        model.head.weight.copy_(draw.normal(*model.head.weight.shape))
        loss = F.cross_entropy(model(images), labels).item()
    ratio = loss / math.log(config.num_classes)
    return "the same" if 0.9 < ratio < 1.1 else "larger" if ratio > 1 else "smaller"


def _more_parameters(config: ViTConfig, larger: ViTConfig) -> str:
    ratio = count(ViT(larger)) / count(ViT(config))
    return "the same" if ratio == 1 else "a little more" if ratio < 2 else "four times"


class _MultiplyAdds(TorchFunctionMode):
    # As FlopCounterMode counts, whose first use takes seconds.
    total = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        if name in ("linear", "conv2d"):
            self.total += out.numel() * args[1][0].numel()
        elif name in ("matmul", "__matmul__"):
            self.total += out.numel() * args[0].shape[-1]
        return out


def _more_operations(config: ViTConfig, larger: ViTConfig) -> str:
    counts = []
    for each in (config, larger):
        model, image = ViT(each).eval(), torch.zeros(1, 3, *each.image_size)
        with _MultiplyAdds() as counter, torch.no_grad():
            model(image)
        counts.append(counter.total)
    ratio = counts[1] / counts[0]
    if ratio <= 1:
        return "the same"
    return "twice" if ratio < 3 else "at most four times" if ratio <= 4 else "more than four times"
