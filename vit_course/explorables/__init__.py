"""Figures that one takes hold of: each is called without arguments, shown by JupyterLab, and saved as a page."""

from vit_course.inputs.extras import extra

with extra("course", "the explorables"):
    from vit_course.explorables.attention_by_hand import attention_by_hand

__all__ = ["attention_by_hand"]
