"""Interactive figures: each is made by a call without arguments, shown by JupyterLab, and can be saved as a page."""

from vit_course._support.inputs.extras import extra

with extra("course", "the explorables"):
    from vit_course.explorables.attention_by_hand import attention_by_hand
    from vit_course.explorables.builder import builder
    from vit_course.explorables.cutter import cutter
    from vit_course.explorables.eraser import eraser
    from vit_course.explorables.film import film
    from vit_course.explorables.matcher import matcher
    from vit_course.explorables.rope import rope
    from vit_course.explorables.story import story
    from vit_course.explorables.stream import stream
    from vit_course.explorables.two_clocks import two_clocks
    from vit_course.explorables.vote import vote

# Sorted by name; `gallery.ABOUT` has those that can be dragged, in the order of the chapters.
__all__ = [
    "attention_by_hand",
    "builder",
    "cutter",
    "eraser",
    "film",
    "matcher",
    "rope",
    "story",
    "stream",
    "two_clocks",
    "vote",
]
