"""A notebook whose cells are changed after their outputs were stored, and what nbval says of it."""

import subprocess
import sys
from pathlib import Path

import nbformat
from conftest import ROOT
from regenerate import regenerate


def what_nbval_says(path: Path, first: str, cells: list[tuple[str, str, list[str]]]) -> str:
    """Runs a notebook and changes it, then tests it alone; -> what pytest prints, a line a cell.

    Args:
        path: of the notebook, which is written.
        first: the source of cell 0, which does not change.
        cells: (source when the outputs are stored, source when they are tested, tags) of each further cell.
    """
    code = nbformat.v4.new_code_cell
    stored = [code(source, metadata={"tags": tags}) for source, _, tags in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=[code(first), *stored]), path)
    regenerate(path)
    notebook = nbformat.read(path, as_version=4)
    for cell, (_, fresh, _) in zip(notebook.cells[1:], cells, strict=True):
        cell.source = fresh
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", path.parent]
    command += ["-p", "no:cacheprovider", "-n", "0", "-v", "--color=no", path]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
