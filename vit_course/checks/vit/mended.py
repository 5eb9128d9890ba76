"""Exercise vit.mended: a whole model, to be mended."""

from vit_course.checks.tools.whole import right_model
from vit_course.config import ViTConfig


def mended(answer, draw):
    """`answer(config)` -> a module (B, C, H, W) -> (B, K), made from a `ViTConfig`; its parts named as you like."""
    right_model(answer, lambda sizes: {"": [ViTConfig(**sizes)]}, draw, biases=True, axes="(B, K)")
