"""The attention explorer: point at a patch, and every head shows what it attends to."""

from vit_course.explorer.explore_model import explore, upload
from vit_course.explorer.upload import PictureUpload
from vit_course.explorer.widget import AttentionExplorer

__all__ = ["AttentionExplorer", "PictureUpload", "explore", "upload"]
