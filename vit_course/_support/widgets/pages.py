"""A widget where no kernel answers: its page, its place in a page, and packed to lie in a notebook."""

import base64
import errno
import html
import json
import os
from pathlib import Path

from vit_course._support.files.atomic import write_atomically
from vit_course._support.inputs.rules import path_name, shown
from vit_course._support.widgets.encoding import to_base64, to_text

# Nine patches, of which one is looked at.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 3 3'%3E%3Cpath d='M0 0h3v3H0z' "
    "fill='%23222'/%3E%3Cpath d='M1 1h1v1H1z' fill='%23ff7a00'/%3E%3C/svg%3E"
)
HEAD = """<!doctype html>
<html lang="en" class="vit-auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<meta property="og:title" content="{title}">
<meta property="og:type" content="website">
<meta property="og:description" content="An interactive page of a course on the Vision Transformer.">
<link rel="icon" href="{icon}">
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<noscript><p>This page answers to the pointer, so it needs JavaScript. Please allow it for this page.</p></noscript>
"""
FOOT = """
</main>
<script type="module">
{script}
</script>
</body>
</html>
"""


def need_titles(titles) -> list[str]:
    """-> the titles, a text for each image."""
    if not isinstance(titles, (list, tuple)) or not all(isinstance(title, str) for title in titles):
        raise ValueError(f"titles must be a list of texts, one for each image, got {shown(titles)}")
    return list(titles)


def need_page(path: str | Path, overwrite: bool) -> Path:
    """-> the path of a page that may be written there."""
    path_name("path", path)
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"the name of a page must end in .html, got {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: choose another name for the page")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} already exists: choose another name, or overwrite=True")
    if not path.parent.is_dir():  # which may be misspelt, so it is not made
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return path


def page(title: str, style: str, body: str, script: str) -> bytes:
    """A page that needs nothing else.

    Args:
        title: as HTML.
        style, body, script: as they stand in it.
    """
    # In three pieces: with one character beyond Latin-1 all of the data would take twice its memory.
    return (
        HEAD.format(title=title, style=style, icon=ICON).encode() + body.encode() + FOOT.format(script=script).encode()
    )


def save_page(path: str | Path, title: str, overwrite: bool, make) -> None:
    """Writes what `make(title as HTML)` gives.

    Raises:
        ValueError: a name that does not end in .html, which no browser would open as a page.
        FileExistsError: something of this name exists, and is not to be replaced.
        OSError: the page cannot be written, as on a full disk; what was there before is intact.
    """
    path = need_page(path, overwrite)
    need_titles([title])
    write_atomically(path, make(html.escape(title)))


def markup(name: str, values: dict, data: bytes, dense: bool = False) -> str:
    """The place of one widget in a page, and what it shows.

    Args:
        name: the classes of its elements are `vit-NAME-place`, `-state` and `-data`.
        values: what JSON holds.
        data: the bytes beside it.
        dense: seven bits a character, some of which no editor knows, instead of base64.
    """
    # A title may hold anything, also the end of a script.
    text = json.dumps(values).replace("<", "\\u003c")
    coding, characters = ("dense", to_text(data)) if dense else ("base64", to_base64(data))
    return (
        f'<div class="vit-{name}-place"></div>'
        f'<script type="application/json" class="vit-{name}-state">{text}</script>'
        f'<script type="application/octet-stream" class="vit-{name}-data" data-coding="{coding}">{characters}</script>'
    )


def pack(stored: str, values: dict, data: bytes) -> dict:
    """What a stored notebook keeps of a widget: a view that JupyterLab hides, as it names no model, with the state.

    Args:
        stored: the key under which it is kept.
        values, data: as in `markup`.
    """
    packed = to_base64(json.dumps(values).encode() + b"\0" + data)  # which is squeezed already
    return {"model_id": "", "version_major": 2, "version_minor": 0, stored: packed}


def unpack(stored: str, view: dict) -> tuple[dict, bytes] | None:
    """The values and the data that `pack` has packed, or None if the view is another's."""
    if stored not in view:
        return None
    head, data = base64.b64decode(view[stored]).split(b"\0", 1)
    return json.loads(head), data
