"""Executes every notebook in a fresh kernel and stores the outputs: python tests/regenerate.py [--fresh] [NAME ...]

What differs from what is stored by no more than the tests allow stays as it is stored: a number after its sign, a
picture, the data of an explorer. So another machine, or another number of threads, leaves few changes to look at. With
--fresh everything is stored anew, as it has to be where what a cell computes has changed.
"""

import base64
import math
import os
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import tables
from figures import DRIFTS, EXACT, LOOSE, OF_THIS_MACHINE, differ, pictures
from nbclient import NotebookClient
from sent import decoded
from tolerances import settled, tolerance

from vit_course._support.widgets.pages import pack, unpack
from vit_course.explorables.explorable import Explorable
from vit_course.explorer import AttentionExplorer
from vit_course.explorer.panel_data import fitting

ROOT = Path(__file__).parents[1]
VIEW = "application/vnd.jupyter.widget-view+json"


def kept(state: dict) -> dict | None:
    """What is stored of a widget in this state, or None where nothing is."""
    for kind in (AttentionExplorer, Explorable):
        names = kind.class_trait_names(kept=True)
        if state.keys() >= {*names}:
            found = {name: state[name] for name in names}
            return pack(fitting(found) if kind is AttentionExplorer else found)
    return None


def state_of(client: NotebookClient, model_id: str) -> dict:
    """A widget's state, with the bytes that travel beside it."""
    buffers = client.widget_buffers.get(model_id, {}).values()
    binary = {buffer["path"][0]: base64.b64decode(buffer["data"]) for buffer in buffers}
    return {**client.widget_state[model_id], **binary}


def joined(outputs: list) -> list:
    """The outputs with neighbouring pieces of one stream as one; text printed after a figure stays after it."""
    kept = []
    for output in outputs:
        if kept and output["output_type"] == "stream" == kept[-1]["output_type"] and output["name"] == kept[-1]["name"]:
            kept[-1]["text"] += output["text"]
        else:
            kept.append(output)
    return kept


def as_stored(stored: list, fresh: list, tags: list[str]) -> list:
    """The fresh outputs of a cell, each as stored where a reader would see no difference."""
    if [sorted(one.get("data", one)) for one in stored] != [sorted(one.get("data", one)) for one in fresh]:
        return fresh
    return [_one_as_stored(*pair, tags) for pair in zip(stored, fresh, strict=True)]


def _one_as_stored(stored: dict, fresh: dict, tags: list[str]) -> dict:
    if "text" in fresh:
        allowed = tolerance(tags)
        text = settled(stored["text"], fresh["text"], allowed) if allowed else fresh["text"]
        return nbformat.from_dict(fresh | {"text": text})
    closely = LOOSE if {DRIFTS, OF_THIS_MACHINE} & set(tags) else EXACT
    if "image/png" in fresh.get("data", {}) and differ(*pictures([stored, fresh]), closely):
        return fresh
    views = [one.get("data", {}).get(VIEW) for one in (stored, fresh)]
    if all(views) and not same_widget(*map(unpack, views)):
        return fresh
    return stored if _said(stored) == _said(fresh) else fresh


def _said(output: dict) -> tuple:
    """What an output says in words."""
    alt = output.get("metadata", {}).get("image/png", {}).get("alt")
    return alt, {name: value for name, value in output.get("data", {}).items() if name not in ("image/png", VIEW)}


def same_widget(stored: dict | None, fresh: dict | None) -> bool:
    """Whether two views keep the same widget, or none: the data of explorers may differ as two machines round."""
    if not (stored and fresh and "_panels" in stored and "_panels" in fresh):
        return stored == fresh
    frames = [one | {"_panels": len(one["_panels"]), "_data": None} for one in (stored, fresh)]
    if frames[0] != frames[1]:
        return False
    panels = zip(stored["_panels"], fresh["_panels"], strict=True)
    return all(_same_panel(stored["_data"], fresh["_data"], *pair) for pair in panels)


def _same_panel(data: bytes, other: bytes, stored: dict, fresh: dict) -> bool:
    if _frame(stored) != _frame(fresh) or not np.allclose(_shares(stored), _shares(fresh), atol=0.01):
        return False
    for one, again in zip(stored["sections"], fresh["sections"], strict=True):
        values = decoded(data, one), decoded(other, again)
        if isinstance(values[0], bytes):
            if values[0] != values[1]:
                return False
        elif not np.allclose(*values, rtol=0.01, atol=8 if values[0].dtype.kind in "iu" else 1e-3):  # whole: of 8191
            return False
    return True


def _frame(panel: dict) -> tuple:
    """What of a panel is the same on every machine."""
    sections = [(one["name"], one["layer"], one.get("shape")) for one in panel["sections"]]
    says = panel["says"] and (panel["says"]["labels"], panel["says"]["about"])
    return sections, says, {name: value for name, value in panel.items() if name not in ("sections", "says")}


def _shares(panel: dict) -> list:
    says = panel["says"]
    return [says["probabilities"], *says["lens"]] if says else [0]


def regenerate(path: Path, fresh: bool = False) -> None:
    """Executes one notebook and writes it back; an error in a cell leaves the file as it was."""
    notebook = nbformat.read(path, as_version=4)
    before = [[] if fresh else list(cell.get("outputs", [])) for cell in notebook.cells]
    client = NotebookClient(
        notebook,
        timeout=1800,  # ends what hangs
        kernel_name="python3",
        record_timing=False,
        store_widget_state=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    started = time.perf_counter()
    client.execute()
    minutes = math.ceil((time.perf_counter() - started) / 60)
    known = notebook.metadata.get("vit_course", {}).get("run_minutes", minutes)
    if abs(known - minutes) <= 1:  # a machine that is busy
        minutes = known
    for cell, stored in zip(notebook.cells, before, strict=True):
        if "predict" in cell.metadata.get("tags", []):
            # JupyterLab and the classic notebook each have a name for it.
            cell.metadata.update(collapsed=True, jupyter={**cell.metadata.get("jupyter", {}), "outputs_hidden": True})
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
        for output in cell.get("outputs", []):
            # A live view belongs to the session that made it; the picture and the text beside it stay, and of an
            # explorer or an explorable its state, for the site.
            view = output.get("data", {}).pop(VIEW, None)
            if view and (packed := kept(state_of(client, view["model_id"]))):
                output["data"][VIEW] = packed
        if cell.cell_type == "code":
            cell.outputs = as_stored(stored, cell.outputs, cell.metadata.get("tags", []))
    # Only what does not depend on the machine, and the minutes that a chapter runs.
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "vit_course": {"run_minutes": minutes},
        }
    )
    nbformat.write(notebook, path)


def main(names: list[str]) -> None:
    """Regenerates the notebooks whose names start with one of `names`, or all of them."""
    fresh, names = "--fresh" in names, [name for name in names if name != "--fresh"]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests" / "offline"), str(ROOT)])
    os.environ["VIT_COURSE_PROGRESS"] = "off"  # what is stored is what somebody sees who has done nothing yet
    os.environ["VIT_COURSE_PANELS"] = "off"  # and a verdict is text that can be compared
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            started = time.perf_counter()
            regenerate(path, fresh)
            print(f"{path.name}: {time.perf_counter() - started:.0f} s", flush=True)
    tables.write()


if __name__ == "__main__":
    main(sys.argv[1:])
