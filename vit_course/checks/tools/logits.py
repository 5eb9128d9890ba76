"""The logits of a whole model: their shape, and the shapes that come in their place."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.table import values
from vit_course.checks.tools.tensors import tensor


def logits(received, images: torch.Tensor, sizes: dict, axes: str = "(B, K)") -> torch.Tensor:
    """`received`, where it is a tensor (B, K); else a `Wrong` that says what it may be.

    Args:
        received: what the model returned for the images (B, C, H, W).
        images: those.
        sizes: of the model, with "image_size", "patch_size", "hidden_dim" and "num_classes", all different.
        axes: as the exercise calls them.
    """
    batch, classes, width = len(images), sizes["num_classes"], sizes["hidden_dim"]
    tokens = images.shape[2] * images.shape[3] // sizes["patch_size"] ** 2 + 1
    known = values(__name__, "known", locals())  # fmt: skip
    try:
        return tensor(received, (batch, classes), axes, "the output")
    except Wrong as wrong:
        shape = tuple(getattr(received, "shape", ()))
        if wrong.mistake == "wrong-shape" and shape in ((batch, 10), (batch, 1000)):
            sentence = f"There are {shape[1]} logits for an image, whatever the number of classes is."
            raise Wrong("classes-of-ones-own", sentence, wrong.details) from None
        if wrong.mistake != "wrong-shape" or shape not in known:
            raise
        raise Wrong(*known[shape], wrong.details) from None
