"""A model with its preprocessing and class names, to classify pictures."""

from typing import NamedTuple, Protocol

import torch
from torch import nn

from vit_course._support.inputs.arguments import MOST_CLASSES
from vit_course._support.inputs.rules import whole
from vit_course._support.inputs.tensors import need_finite
from vit_course.data.pictures import Picture
from vit_course.vit import ViT

COUNT = whole(1, MOST_CLASSES)


class Preprocess(Protocol):
    """A picture -> (1, C, H, W) as a model takes it; implemented by `Preprocessing` and `AsTrained`.

    `image_size` is (H, W) of the result, or None if that depends on the picture; `mean` and `std` are those of
    the channels, on the scale 0 to 1.
    """

    @property
    def image_size(self) -> tuple[int, int] | None: ...

    @property
    def mean(self) -> tuple[float, ...]: ...

    @property
    def std(self) -> tuple[float, ...]: ...

    def __call__(self, picture: Picture, /) -> torch.Tensor: ...


class Pretrained(NamedTuple):
    """A trained model and what is needed to use it: `model, preprocess, class_names = load_run(...)`.

    `model` is our `ViT` in eval mode, `preprocess` takes a path or a PIL image to its input (1, C, H, W), and
    `class_names[i]` is what logit i stands for; a model without a head, or with CLIP's projection as its head, has
    none.
    """

    model: ViT
    preprocess: Preprocess
    class_names: list[str]

    def top(self, image: Picture, count: int = 5) -> list[tuple[str, float]]:
        """The most probable classes of a picture, a path or a PIL image, with their probabilities.

        Raises:
            ValueError: a count below 1, a picture that cannot be read, or a model that gives no classes, or NaN.
        """
        COUNT("count", count)
        with torch.no_grad():
            images = self.preprocess(image).to(self.model.patch_embedding.projection.weight)  # (1, C, H, W)
            logits = need_finite("logits", self.model(images))[0]  # (num_classes)
        if not self.class_names:
            raise ValueError(f"the model gives an embedding of {len(logits)} numbers, not classes to choose from")
        best = logits.softmax(dim=0).topk(min(count, len(logits)))
        return [(self.class_names[i], p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]

    def __repr__(self) -> str:
        return f"Pretrained({self.model.config}, {self.preprocess}, {len(self.class_names)} class names)"


def none_fits(model: nn.Module, logits: torch.Tensor) -> str | None:
    """(1, K) logits -> a sentence if none of the model's K class names fits the picture, "" if one may fit.

    None if this was never measured: a head has the rule as `none_below`, a threshold and how often it errs.

    Source: the score is the negative energy of Liu et al. 2020, "Energy-based Out-of-distribution Detection"
    (arXiv:2010.03759).
    """
    rule = getattr(getattr(model, "head", None), "none_below", None)
    if rule is None:
        return None
    score = logits.logsumexp(dim=1).item()
    if score >= rule["score"]:
        return ""
    found = f"the score of its logits, {score:.1f}, is below {rule['score']} ({rule['errors']})"
    return f"None of its {logits.shape[1]} words fits: {found}."
