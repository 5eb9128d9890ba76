"""Widgets: arrays in, something to point at out. They never see a model."""

from vit_course.widgets.attention_explorer import AttentionExplorer

__all__ = ["AttentionExplorer"]
