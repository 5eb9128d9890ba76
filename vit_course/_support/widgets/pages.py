"""Widgets without a kernel: as a page of their own, as a part of a page, and packed into a stored notebook."""

import base64
import errno
import html
import json
import os
from pathlib import Path

from vit_course._support.files.atomic import write_atomically
from vit_course._support.inputs.rules import path_name, shown
from vit_course._support.widgets import scripts
from vit_course._support.widgets.encoding import to_base64

# The key of a packed widget in a stored notebook, and the keys that earlier releases used.
STORED = "vit_course"
STORED_BEFORE = ("vit_explorer", "vit_play")

# The icon of a page: nine patches, one of them highlighted.
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
    """Returns the titles as a list; raises a `ValueError` if they are not a list of texts."""
    if not isinstance(titles, (list, tuple)) or not all(isinstance(title, str) for title in titles):
        raise ValueError(f"titles must be a list of texts, one for each image, got {shown(titles)}")
    return list(titles)


def need_page(path: str | Path, overwrite: bool) -> Path:
    """Returns the path, after checking that a page may be written there."""
    path_name("path", path)
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"the name of a page must end in .html, got {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: choose another name for the page")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} already exists: choose another name, or pass overwrite=True")
    if not path.parent.is_dir():  # the folder's name may be misspelt, so it is not made
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return path


def document(title: str, style: str, body: str, script: str) -> bytes:
    """Returns the HTML of a self-contained page.

    Args:
        title: its heading, and the name of its window.
        style, body, script: CSS, HTML and JavaScript, inserted as they are.
    """
    # Encoded in three pieces: in one string, a single character beyond Latin-1 would double the memory of all the data.
    head = HEAD.format(title=html.escape(title), style=style, icon=ICON)
    return head.encode() + body.encode() + FOOT.format(script=script).encode()


def save_page(path: str | Path, title: str, overwrite: bool, everything: dict) -> None:
    """Writes a self-contained page that shows one widget.

    Args:
        path, title, overwrite: as `Widget.save_html` takes them.
        everything: as in `markup`.

    Raises:
        ValueError: a name that does not end in .html, which no browser would open as a page.
        FileExistsError: something of this name exists, and is not to be replaced.
        OSError: the page cannot be written, as on a full disk; any earlier file is intact.
    """
    path = need_page(path, overwrite)
    need_titles([title])
    name = everything["_name"]
    style, script = scripts.style(name, "page"), scripts.module(name)
    write_atomically(path, document(title, style, markup(everything), script))


def markup(everything: dict) -> str:
    """Returns the HTML of one widget in a page: its place, state and data, without its script and style sheets.

    Args:
        everything: as `Widget.everything` gives it.
    """
    # Without "<", as a title may contain the end tag of a script.
    values = json.dumps({name: value for name, value in everything.items() if name != "_data"})
    return place(everything["_name"], values.replace("<", "\\u003c"), to_base64(everything["_data"]))


def place(name: str, values: str, data: str) -> str:
    """Returns the HTML as `markup` does, from values in JSON and data in base64."""
    return (
        f'<div class="vit-{name}-place"></div>'
        f'<script type="application/json" class="vit-{name}-state">{values}</script>'
        f'<script type="application/octet-stream" class="vit-{name}-data">{data}</script>'
    )


def pack(everything: dict) -> dict:
    """Packs a widget for a stored notebook, as a widget view with the state; it has no model, so JupyterLab hides it.

    Args:
        everything: as in `markup`.
    """
    values = {name: value for name, value in everything.items() if name != "_data"}
    packed = to_base64(json.dumps(values).encode() + b"\0" + everything["_data"])  # `_data` is compressed already
    return {"model_id": "", "version_major": 2, "version_minor": 0, STORED: packed}


def unpack(view: dict) -> dict | None:
    """Reverses `pack`; returns None for the view of another widget."""
    found = next((view[key] for key in (STORED, *STORED_BEFORE) if key in view), None)
    if found is None:
        return None
    values, data = base64.b64decode(found).split(b"\0", 1)
    return {"_name": "explorer", **json.loads(values), "_data": data}  # version 1 did not store the name
