"""Exercise vit.mended: a whole model, to be mended."""

from functools import partial

from vit_course.checks.capstone.whole_model import right_model
from vit_course.checks.tools import rows_of_blocks
from vit_course.checks.tools.mistakes import Mistake, bugs_left
from vit_course.checks.tools.modules import build


def mended(answer, draw):
    """`answer(config)` -> a module (B, C, H, W) -> (B, K), made from a `ViTConfig`; its parts named as in the stub."""
    right_model(lambda config: build(answer, config), lambda name: name, draw, axes="(B, K)", bugs=BUGS)


BUGS = bugs_left(
    Mistake(
        "batch-mates-matter",
        "The output for one image changes with the other images of the batch.",
        {"pixels": lambda images: (images - images.mean()) / images.std()},
    ),
    Mistake(
        "no-last-norm",
        "No norm follows the last block.",
        {"around": partial(rows_of_blocks.run, norms=rows_of_blocks.NO_NORM)},
    ),
    Mistake("last-token-read", "The head reads the last token.", {"read": lambda z: z[:, -1]}),
    Mistake(
        "softmax-in-model",
        "A softmax follows the head, and the loss would apply it a second time.",
        {"end": lambda y, head: head(y).softmax(-1)},
    ),
)
