"""The logits of a whole model: their shape, and the shapes that come in their place."""

import torch

from vit_course.checks.report import Wrong
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
    known = {
        (batch, tokens, classes): ("every-token-read", "There are logits for every token, not for every image."),
        (tokens, classes): ("one-image-read", "There are logits for every token of one image: of the axes of batch and "
                            "tokens, the wrong one is gone."),
        (batch, 1, classes): ("axis-too-many", "The axis of tokens is still there, with length 1."),
        (batch, width): ("no-head", "There are as many numbers for an image as a token has: the head is missing."),
        (batch, tokens, width): ("no-head", "These are the tokens: nothing has read one of them, and no head."),
        (batch,): ("classes-for-logits", "There is one number for each image, not one for each class."),
    }  # fmt: skip
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
