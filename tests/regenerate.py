"""Executes every notebook in a fresh kernel, in order, and stores the outputs: python tests/regenerate.py [NAME ...]

Run twice, it leaves the tree unchanged but for figures that show measured times.
"""

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]


def regenerate(path: Path) -> None:
    """Executes one notebook and writes it back; an error in a cell leaves the file as it was."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # A live view belongs to the session that made it; the picture and the text beside it stay.
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
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
    os.environ["PYTHONPATH"] = str(ROOT / "tests" / "offline")
    os.environ["VIT_COURSE_PROGRESS"] = "off"  # what is stored is what somebody sees who has done nothing yet
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            started = time.perf_counter()
            regenerate(path)
            print(f"{path.name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
