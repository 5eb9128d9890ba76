"""Exercise start.sizes: the numbers and shapes of ViT-L/32, worked out by hand."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer
from vit_course.config import ViTConfig


def sizes(answer, parts):
    """`answer()` -> {"patches", "numbers_per_patch", "patch_tokens", "into_the_encoder", "logits", ...}."""
    batch, base = 8, ViTConfig.preset("vit-b/16")
    large = ViTConfig.preset("vit-l/16", patch_size=32, image_size=384)
    N, T, D, K = large.num_patches, large.num_tokens, large.hidden_dim, large.num_classes
    numbers, side, other = large.patch_size**2 * large.in_channels, large.grid[0], base.num_patches
    same_answers(
        call(answer),
        {
            "patches": N,
            "numbers_per_patch": numbers,
            "patch_tokens": (batch, N, D),
            "into_the_encoder": (batch, T, D),
            "logits": (batch, K),
            "patches_at_768": ViTConfig.preset("vit-l/16", patch_size=32, image_size=768).num_patches,
        },
        parts,
        mistakes=by_answer(__name__, "by-hand", locals()),
        follows={
            "patch_tokens": [("patches", lambda n: (batch, n, D))],
            "into_the_encoder": [
                ("patch_tokens", lambda shape: (shape[0], shape[1] + 1, shape[2])),
                ("patches", lambda n: (batch, n + 1, D)),
            ],
            "logits": [(name, lambda shape: (shape[0], K)) for name in ("patch_tokens", "into_the_encoder")],
            "patches_at_768": [("patches", lambda n: 4 * n)],
        },
    )
