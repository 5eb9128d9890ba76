"""Arrays in, a matplotlib Figure out. Every figure is readable in grey: by lightness, numbers, line style and marker.

The figures do not touch pyplot's state, so a cell that ends in one shows it once.
"""

from vit_course._support.inputs.extras import extra

with extra("course", "drawing figures"):
    from vit_course.plots.attention import attention_grid, attention_over_image, outline, overlay
    from vit_course.plots.ledger import ledger
    from vit_course.plots.patches import image_with_grid, patch_grid, patch_sequence, position_similarity
    from vit_course.plots.photographs import principal_colours, spotlight
    from vit_course.plots.results import curves, expected_and_received, predictions
    from vit_course.plots.style import COLOUR_MAP, LINES, MARKERS, show, use_style
from vit_course._support.inputs.arrays import to_picture

__all__ = [
    "COLOUR_MAP",
    "LINES",
    "MARKERS",
    "attention_grid",
    "attention_over_image",
    "curves",
    "expected_and_received",
    "image_with_grid",
    "ledger",
    "outline",
    "overlay",
    "patch_grid",
    "patch_sequence",
    "position_similarity",
    "predictions",
    "principal_colours",
    "show",
    "spotlight",
    "to_picture",
    "use_style",
]
