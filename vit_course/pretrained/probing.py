"""Linear probing: a linear head on frozen features."""

from collections.abc import Callable
from copy import deepcopy

import torch
from PIL import Image
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.extras import extra
from vit_course._support.inputs.tensors import check_axes, check_finite, need_finite
from vit_course.pretrained.factory import our_vit, rebuilt
from vit_course.vit import ViT


def class_tokens(
    model: ViT, preprocess: Callable, images: torch.Tensor, batch_size: int = 100, bfloat16: bool = False
) -> torch.Tensor:
    """(n, 3, H, W) uint8 -> (n, D) float32

    The class token of each image, after the last norm.

    Args:
        model: with a class token; it is not changed.
        preprocess: from one picture to what the model takes, (1, C, H, W).
        batch_size: how many images go through the model at once.
        bfloat16: matrix products in bfloat16: half the time on a processor that supports it, with three digits less.

    Raises:
        TypeError: not a tensor.
        ValueError: a model that is not ours, or has no class token; images of other axes or another type.
    """
    check_arguments(batch_size=batch_size, bfloat16=bfloat16)
    if our_vit(model).config.pool != "cls":
        raise ValueError(f"a model with a class token is needed, but this one has pool={model.config.pool!r}")
    check_axes("images", images, "(n, 3, H, W)")
    if images.dtype != torch.uint8:
        raise ValueError(f"images must be uint8, got {images.dtype}")
    found = []
    with torch.inference_mode(), torch.autocast(images.device.type, torch.bfloat16, bfloat16):
        for batch in images.split(batch_size):
            arrays = batch.permute(0, 2, 3, 1).cpu().numpy()  # (b, H, W, 3)
            given = torch.cat([preprocess(Image.fromarray(array)) for array in arrays])  # (b, C, H', W')
            # A copy: a view of the class tokens would keep all tokens in memory.
            found.append(model.features(given)[:, 0].float().clone())  # (b, D)
    return need_finite("the class tokens", torch.cat(found))


def fit_linear_head(features: torch.Tensor, labels: torch.Tensor, regularisation: float = 0.01) -> nn.Linear:
    """(n, D), (n,) -> a linear layer from D numbers to the logits of the classes

    Logistic regression on standardised features; mean and deviation are folded into the layer, so that it takes the
    features unchanged.

    Args:
        features: one row per image.
        labels: from 0 to the number of classes minus one, each of them present.
        regularisation: C of scikit-learn's `LogisticRegression`, small for a strong pull towards zero.

    Raises:
        TypeError: not tensors.
        ValueError: other axes, numbers that are not finite, or fewer than two classes.

    Source: Alain & Bengio 2016, "Understanding intermediate layers using linear classifier probes" (arXiv:1610.01644).
    """
    with extra("course", "fitting a linear head"):
        from sklearn.linear_model import LogisticRegression
    check_arguments(regularisation=regularisation)
    check_axes("features", features, "(n, D)")
    check_axes("labels", labels, "(n,)", torch.int64)
    check_finite("features", features)
    classes = labels.unique()
    if len(labels) != len(features):
        raise ValueError(f"there are {len(features)} features but {len(labels)} labels: one for each is needed")
    if len(classes) < 2 or not torch.equal(classes, torch.arange(len(classes))):
        raise ValueError(f"labels must be 0, 1 and so on, at least two and without gaps, got {classes.tolist()[:20]}")
    mean, std = features.mean(dim=0), features.std(dim=0).clamp_min(1e-6)  # (D,)
    found = LogisticRegression(C=regularisation, max_iter=1000).fit(((features - mean) / std).numpy(), labels.numpy())
    weight, bias = (torch.from_numpy(part).to(features) for part in (found.coef_, found.intercept_))
    if len(classes) == 2:  # scikit-learn gives one row, for the second class against the first
        weight, bias = (torch.cat([-part, part]) / 2 for part in (weight, bias))
    head = nn.Linear(features.shape[1], len(classes))
    with torch.no_grad():
        head.weight.copy_(weight / std)
        head.bias.copy_(bias - (weight / std) @ mean)
    return head


def with_head(model: ViT, head: nn.Linear) -> ViT:
    """A copy of the model, in eval mode, with this head instead of its own, if it has one.

    Raises:
        ValueError: a model that is not ours, or a head for another width.
    """
    width = our_vit(model).config.representation_size or model.config.hidden_dim
    if not isinstance(head, nn.Linear) or head.in_features != width or head.bias is None:
        raise ValueError(f"head must be an nn.Linear with a bias that takes {width} numbers, got {head}")
    copy = rebuilt(model, num_classes=head.out_features)
    copy = deepcopy(model) if copy is model else copy
    copy.head.load_state_dict(head.state_dict())
    return copy.eval()
