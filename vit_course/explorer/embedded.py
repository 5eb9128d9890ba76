"""The explorer where no kernel answers: a page of its own, its place in a page, and packed to lie in a notebook."""

import json
from collections.abc import Sequence

import numpy as np

from vit_course._support.widgets import pages, scripts
from vit_course.explorer.arguments import STATE

NAMES = (*STATE, "_panels")
STORED = "vit_explorer"
# What a stored notebook keeps of one explorer, in bytes; of a larger one some layers.
MOST_STORED = 1_950_000


def page(state: dict, title: str) -> bytes:
    """A page that shows one explorer and needs nothing else.

    Args:
        state: as in `markup`.
        title: as HTML.
    """
    return pages.page(title, scripts.style("explorer", "page"), markup(state, dense=True), script())


def markup(state: dict, dense: bool = False) -> str:
    """The place of one explorer in a page, and what it shows.

    Args:
        state: the traits of an `AttentionExplorer` by their names, `_data` as bytes.
        dense: as in `pages.markup`.
    """
    values = {name: state[name] for name in NAMES if name in state}
    return pages.markup("explorer", values, state["_data"], dense)


def style() -> str:
    """What every page with explorers needs once, in its head."""
    return scripts.style("explorer")


def script() -> str:
    """What every page with explorers needs once, after all of them: a module, inline, as a file may load no other."""
    return scripts.module("explorer/page")


def pack(state: dict) -> dict:
    """What a stored notebook keeps of an explorer.

    Of a large one not all layers, but the last, the one that is shown, and others as evenly as there is room.

    Args:
        state: as in `markup`.
    """
    state = fitting(state)
    return pages.pack(STORED, {name: state[name] for name in NAMES}, state["_data"])


def unpack(view: dict) -> dict | None:
    """The state that `pack` has packed, or None if the view is another's."""
    found = pages.unpack(STORED, view)
    return found and {**found[0], "_data": found[1]}


def with_tested(panels: list[dict], data: bytes, known: Sequence[dict]) -> tuple[list[dict], bytes]:
    """Panels and data as they are sent, with what is known of changes behind all else: their section "tested".

    Args:
        known: of each panel, as `Changes.known` has it; empty where nothing is.
    """
    size = min(
        (one["at"] for panel in panels for one in panel["sections"] if one["name"] == "tested"), default=len(data)
    )
    parts, told = [data[:size]], []
    for panel, found in zip(panels, known, strict=True):
        sections = [one for one in panel["sections"] if one["name"] != "tested"]
        if found:
            rows = np.stack([one["row"] for one in found.values()]).astype("<f4")  # (n, T)
            described = {"name": "tested", "layer": None, "at": size, "bytes": rows.nbytes}
            sections.append(described | {"coding": "f4", "shape": list(rows.shape)})
            parts.append(rows.tobytes())
            size += rows.nbytes
        tested = [{"change": json.loads(name), **({"says": one["says"]} if "says" in one else {})}
                  for name, one in found.items()]  # fmt: skip
        told.append({**panel, "sections": sections, "tested": tested})
    return told, b"".join(parts)


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
