"""Exercise vit.mended: a whole model, to be mended."""

from vit_course.checks.capstone.whole_model import right_model
from vit_course.checks.tools.modules import build


def mended(answer, draw):
    """`answer(config)` -> a module (B, C, H, W) -> (B, K), made from a `ViTConfig`; its parts named as in the stub."""
    right_model(lambda config: build(answer, config), lambda name: name, draw, axes="(B, K)")
