"""Answers to exercise start.sizes."""

import torch
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.config import ViTConfig
from vit_course.patches import PatchEmbedding, patchify

RIGHT_SIZES = {
    "patches": 144,
    "numbers_per_patch": 3072,
    "patch_tokens": (8, 144, 1024),
    "into_the_encoder": (8, 145, 1024),
    "logits": (8, 1000),
    "patches_at_768": 576,
}


@right("start.sizes")
def as_numbers():
    return RIGHT_SIZES


@right("start.sizes")
def as_formulas():
    B, C, H, P, D, K = 8, 3, 384, 32, 1024, 1000
    N = H * H // P**2
    return dict(
        patches=N,
        numbers_per_patch=P * P * C,
        patch_tokens=[B, N, D],
        into_the_encoder=[B, N + 1, D],
        logits=[B, K],
        patches_at_768=4 * N,
    )


@right("start.sizes")
def measured():
    patches = patchify(torch.zeros(1, 3, 384, 384), 32)
    tokens = PatchEmbedding(32, 3, 1024)(torch.zeros(1, 3, 384, 384)).expand(8, -1, -1)
    sequence = torch.cat([torch.zeros(8, 1, 1024), tokens], dim=1)
    return {
        "patches": patches.shape[1],
        "numbers_per_patch": patches.shape[2],
        "patch_tokens": tokens.shape,
        "into_the_encoder": sequence.shape,
        "logits": nn.Linear(1024, 1000)(sequence[:, 0]).shape,
        "patches_at_768": ViTConfig.preset("vit-l/16", patch_size=32, image_size=768).num_patches,
    }


def _sizes(exercise_mistake, **changes):
    wrong("start.sizes", exercise_mistake)(lambda: RIGHT_SIZES | changes)


_sizes("one-side-only", patches=12)
_sizes("sides-added", patches=24)
_sizes("class-token-counted", patches=145)
_sizes("other-image-size", patches=49)
_sizes("other-patch-size", patches=576)
_sizes("sizes-of-vit-b-16", patches=196)
_sizes("divided-once", patches=4608)
_sizes("channels-forgotten", numbers_per_patch=1024)
_sizes("one-row-of-the-patch", numbers_per_patch=96)
_sizes("sizes-of-vit-b-16", numbers_per_patch=768)
_sizes("patches-for-pixels", numbers_per_patch=432)
_sizes("whole-image", numbers_per_patch=442_368)
_sizes("batch-forgotten", patch_tokens=(144, 1024))
_sizes("class-token-too-early", patch_tokens=(8, 145, 1024))
_sizes("not-multiplied-yet", patch_tokens=(8, 144, 3072))
_sizes("axes-swapped", patch_tokens=(8, 1024, 144))
_sizes("no-sequence", patch_tokens=(8, 1024, 12, 12))
_sizes("batch-forgotten", into_the_encoder=(145, 1024))
_sizes("class-token-forgotten", into_the_encoder=(8, 144, 1024))
_sizes("class-token-on-the-batch", into_the_encoder=(9, 144, 1024))
_sizes("class-token-in-the-width", into_the_encoder=(8, 144, 1025))
_sizes("positions-as-a-token", into_the_encoder=(8, 146, 1024))
_sizes("positions-appended", into_the_encoder=(8, 145, 2048))
_sizes("batch-forgotten", logits=(1000,))
_sizes("every-token-read", logits=(8, 145, 1000))
_sizes("token-axis-kept", logits=(8, 1, 1000))
_sizes("before-the-head", logits=(8, 1024))
_sizes("only-the-winner", logits=(8,))
_sizes("grows-with-the-side", patches_at_768=288)
_sizes("no-change", patches_at_768=144)
_sizes("class-token-counted", patches_at_768=577)
_sizes("float-count", patches=384 / 32 * 384 / 32)
_sizes("wrong-type", logits=8000)
_sizes("wrong-type", logits=torch.zeros(8, 1000))
_sizes("all-images-counted", patches=1152)
_sizes("sizes-of-vit-b-16", patch_tokens=(8, 144, 768), into_the_encoder=(8, 145, 768))
_sizes("batch-forgotten", patch_tokens=(1, 144, 1024), into_the_encoder=(1, 145, 1024), logits=(1, 1000))
_sizes("float-count", patch_tokens=(8, (384 / 32) ** 2, 1024))
wrong("start.sizes", "wrong-keys")(lambda: {"patches": 144})
unforeseen("start.sizes")(lambda: RIGHT_SIZES | {"patches": 143})
unforeseen("start.sizes")(lambda: RIGHT_SIZES | {"logits": (1000, 8)})
