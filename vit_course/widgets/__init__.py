"""Widgets: arrays in, something to point at out. They never see a model."""

from vit_course.widgets.attention_explorer import AttentionExplorer
from vit_course.widgets.picture_upload import PictureUpload

__all__ = ["AttentionExplorer", "PictureUpload"]
