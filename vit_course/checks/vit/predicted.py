"""Exercise vit.predicted: predictions about a new model."""

import math

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import count
from vit_course.checks.tools.table import by_answer
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
        mistakes=by_answer(__name__, "by-hand", locals()),
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
