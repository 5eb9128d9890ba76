"""The explorer where no kernel answers: a page of its own, its place in a page, and packed to lie in a notebook."""

import base64
import json

import numpy as np

from vit_course.explorer import scripts
from vit_course.explorer.arguments import STATE
from vit_course.explorer.encoding import to_base64, to_text

NAMES = (*STATE, "_panels")
BUFFERS = ("_data",)
STORED = "vit_explorer"
# What a stored notebook keeps of one explorer, in bytes; of a larger one some layers.
MOST_STORED = 1_950_000
HEAD = """<!doctype html>
<html lang="en" class="vit-auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
"""
FOOT = """
</main>
<script type="module">
{script}
</script>
</body>
</html>
"""


def page(state: dict, title: str) -> bytes:
    """A page that shows one explorer and needs nothing else.

    Args:
        state: as in `markup`.
        title: as HTML.
    """
    # In three pieces: with one character beyond Latin-1 all of the data would take twice its memory.
    head = HEAD.format(title=title, style=scripts.style("page"))
    return head.encode() + markup(state, dense=True).encode() + FOOT.format(script=script()).encode()


def markup(state: dict, dense: bool = False) -> str:
    """The place of one explorer in a page, and what it shows.

    Args:
        state: the traits of an `AttentionExplorer` by their names, those of `BUFFERS` as bytes.
        dense: seven bits a character, some of which no editor knows, instead of base64.
    """
    # A title may hold anything, also the end of a script.
    values = json.dumps({name: state[name] for name in NAMES if name in state}).replace("<", "\\u003c")
    coding, data = ("dense", to_text(state["_data"])) if dense else ("base64", to_base64(state["_data"]))
    return (
        '<div class="vit-explorer-place"></div>'
        f'<script type="application/json" class="vit-explorer-state">{values}</script>'
        f'<script type="application/octet-stream" class="vit-explorer-data" data-coding="{coding}">{data}</script>'
    )


def style() -> str:
    """What every page with explorers needs once, in its head."""
    return scripts.style()


def script() -> str:
    """What every page with explorers needs once, after all of them: a module, inline, as a file may load no other."""
    return scripts.module("page")


def pack(state: dict) -> dict:
    """What a stored notebook keeps of an explorer: a view that JupyterLab hides, as it names no model, with the state.

    Of a large one not all layers, but the last, the one that is shown, and others as evenly as there is room.

    Args:
        state: as in `markup`.
    """
    state = fitting(state)
    head = json.dumps({name: state[name] for name in NAMES}).encode()
    packed = to_base64(head + b"\0" + state["_data"])  # which is squeezed already
    return {"model_id": "", "version_major": 2, "version_minor": 0, STORED: packed}


def unpack(view: dict) -> dict | None:
    """The state that `pack` has packed, or None if the view is another's."""
    if STORED not in view:
        return None
    head, data = base64.b64decode(view[STORED]).split(b"\0", 1)
    return {**json.loads(head), "_data": data}


def fitting(state: dict, most: int = MOST_STORED) -> dict:
    """The state with as many layers as `most` bytes take; `layer` stays the same layer, rolled out it becomes a mean.

    Args:
        state: as in `markup`.
    """
    every = 1
    found = state
    while len(found["_data"]) > most:
        every += 1
        depth = max(panel["layers"] for panel in state["_panels"])
        keep = sorted({*range(depth - 1, -1, -every), min(state["layer"], depth - 1)})
        found = _with_layers(state, keep)
        if every > depth:
            break
    return found


def _with_layers(state: dict, keep: list[int]) -> dict:
    data, panels, parts, size = state["_data"], [], [], 0
    for panel in state["_panels"]:
        kept = [layer for layer in keep if layer < panel["layers"]] or [panel["layers"] - 1]
        sections = []
        for section in panel["sections"]:
            content = data[section["at"] : section["at"] + section["bytes"]]
            section = dict(section)
            if section["layer"] is not None:
                if section["layer"] not in kept:
                    continue
                section["layer"] = kept.index(section["layer"])
            elif section["name"] in ("query_steps", "key_steps", "key_means", "lse", "tops"):
                values = np.frombuffer(content, "<f4").reshape(section["shape"])[kept]
                content, section["shape"] = values.tobytes(), list(values.shape)
            sections.append(section | {"at": size, "bytes": len(content)})
            parts.append(content)
            size += len(content)
        numbers = [panel["layer_numbers"][layer] for layer in kept]
        panels.append({**panel, "layers": len(kept), "layer_numbers": numbers, "sections": sections})
    shown = min(state["layer"], max(keep))
    fusion = "mean" if state["fusion"] == "rollout" else state["fusion"]
    changed = {"_panels": panels, "_data": b"".join(parts), "layer": keep.index(shown), "fusion": fusion}
    return {**state, **changed}
