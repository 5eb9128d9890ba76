"""The data of panels as they are sent: with what was tested, and with fewer layers."""

import json
from collections.abc import Sequence

import numpy as np

# What a stored notebook keeps of one explorer, in bytes; of a larger one some layers.
MOST_STORED = 1_950_000


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

    Of a large one these are the last layer, the one that is shown, and others as evenly as there is room.

    Args:
        state: the traits of an `AttentionExplorer` by their names.
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
