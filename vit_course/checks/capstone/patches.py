"""Exercise capstone.patches: images to patch tokens, as one module."""

from vit_course.checks import patchify as chapter_01
from vit_course.checks.exercise import exercise


@exercise("13.1", "Patches to tokens", "Six steps, six checks", difficulty=2, minutes=8)
def patches(answer, draw):
    """`answer(patch_size, in_channels, hidden_dim)` -> a module (B, C, H, W) -> (B, N, D)."""
    chapter_01.embedding.__wrapped__(answer, draw)
