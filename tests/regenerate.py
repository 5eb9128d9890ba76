"""Executes every notebook in a fresh kernel, in order, and stores the outputs: python tests/regenerate.py [NAME ...]

Run twice, it leaves the tree unchanged but for figures that show measured times.
"""

import base64
import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from vit_course.explorer import embedded

ROOT = Path(__file__).parents[1]
VIEW = "application/vnd.jupyter.widget-view+json"


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


def regenerate(path: Path) -> None:
    """Executes one notebook and writes it back; an error in a cell leaves the file as it was."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        if "predict" in cell.metadata.get("tags", []):
            # JupyterLab and the classic notebook each have a name for it.
            cell.metadata.update(collapsed=True, jupyter={"outputs_hidden": True})
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
        for output in cell.get("outputs", []):
            # A live view belongs to the session that made it; the picture and the text beside it stay, and of an
            # explorer its state, for the site.
            view = output.get("data", {}).pop(VIEW, None)
            if view and "_panels" in (state := state_of(client, view["model_id"])):
                output["data"][VIEW] = embedded.pack(state)
    # Only what does not depend on the machine.
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    nbformat.write(notebook, path)


def main(names: list[str]) -> None:
    """Regenerates the notebooks whose names start with one of `names`, or all of them."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests" / "offline"), str(ROOT)])
    os.environ["VIT_COURSE_PROGRESS"] = "off"  # what is stored is what somebody sees who has done nothing yet
    os.environ["VIT_COURSE_PANELS"] = "off"  # and a verdict is text that can be compared
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            started = time.perf_counter()
            regenerate(path)
            print(f"{path.name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
