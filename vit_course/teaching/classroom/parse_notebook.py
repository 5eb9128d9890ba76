"""A file that was handed in as a notebook of sound cells, whatever state it is in."""

import json
import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

MOST_BYTES = 200 * 2**20
NEW = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}


def read_notebook(path: Path) -> tuple[nbformat.NotebookNode | None, list[str]]:
    """-> (the notebook without outputs, what was wrong with the file in sentences); None where no cell can be read.

    A cell keeps its kind, its source, pasted pictures and what nbgrader wrote beside it. Everything else, sound or not,
    is left out: no program after this one has to expect it.

    Raises:
        OSError: a file that cannot be read.
    """
    if path.stat().st_size > MOST_BYTES:
        return None, [f"{path.name} has more than {MOST_BYTES >> 20} MB"]
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        raw, notes = _cells(json.loads(text)), []
    except (ValueError, RecursionError):
        raw = _cells_of_a_torn(text)
        notes = [f"{path.name} is damaged; {len(raw)} cells at its beginning could be read"] if raw else []
    cells = [cell for cell in map(_sound, raw) if cell is not None]
    if not cells:
        return None, [f"{path.name} is not a notebook, or has no cells"]
    if len(cells) < len(raw):
        notes.append(f"{len(raw) - len(cells)} of {len(raw)} cells in {path.name} are broken and were left out")
    return new_notebook(cells=cells), notes


def _cells(data) -> list:
    if not isinstance(data, dict):
        return []
    if data.get("nbformat") == 3:  # of many years ago
        try:
            data = nbformat.convert(nbformat.from_dict(data), 4)
        except Exception:
            return []
    cells = data.get("cells")
    return cells if isinstance(cells, list) else []


def _cells_of_a_torn(text: str) -> list:
    # An upload that broke off: its first cells are whole.
    found, start = [], re.search(r'"cells"\s*:\s*\[', text)
    decoder, place = json.JSONDecoder(), start.end() if start else len(text)
    while True:
        place = re.compile(r"[\s,]*").match(text, place).end()
        try:
            cell, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return found
        found.append(cell)


def _sound(raw) -> nbformat.NotebookNode | None:
    if not isinstance(raw, dict) or raw.get("cell_type") not in tuple(NEW):
        return None
    source = raw.get("source", "")
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return None
    cell = NEW[raw["cell_type"]]("".join(lines))
    metadata = raw.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(marks, dict):
        cell.metadata["nbgrader"] = nbformat.from_dict(marks)
    pictures = raw.get("attachments")
    if raw["cell_type"] == "markdown" and isinstance(pictures, dict) and all(map(_is_picture, pictures.values())):
        cell.attachments = nbformat.from_dict(pictures)
    return cell


def _is_picture(kinds) -> bool:
    return isinstance(kinds, dict) and all(isinstance(value, str) for value in kinds.values())
