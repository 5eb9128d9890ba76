"""The live page: a folder in which a visitor's own photograph is explored, computed in the browser."""

from vit_course.live.folder import make_live, write_live

__all__ = ["make_live", "write_live"]
