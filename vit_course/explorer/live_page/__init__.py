"""The live page: a folder in which a visitor's own photograph is explored, computed in the browser."""

from vit_course.explorer.live_page.folder import is_live, make_live, write_live

__all__ = ["is_live", "make_live", "write_live"]
