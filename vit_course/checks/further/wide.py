"""Exercise further.wide: how many parameters five parts add, and how wide an MLP is then."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("12.2", "How wide?", "A gate, a small start, and notes", difficulty=2, minutes=8)
def wide(answer, parts):
    """`answer()` -> {"swiglu", "table", "units", "qk_norm", "layer_scale"}, whole numbers, of ViT-S/16."""
    worked_out(__name__, answer, parts)
