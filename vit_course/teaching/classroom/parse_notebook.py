"""Reads a submitted file as a notebook of valid cells, even where the file is damaged."""

import json
import re
from itertools import accumulate
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

MOST_BYTES = 200 * 2**20
# Of what is kept of a notebook: many times as much as a chapter has, and little enough to be worked on quickly.
MOST_CELLS, MOST_SOURCE, MOST_SOURCES, MOST_PICTURES = 1000, 10**6, 10**7, 20 * 2**20
NEW = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}


def read_notebook(path: Path) -> tuple[nbformat.NotebookNode | None, list[str]]:
    """Reads a notebook file, damaged or not.

    A cell keeps its type, its source, pasted pictures and nbgrader's metadata. Everything else is dropped, so that no
    later program meets malformed data.

    Returns:
        (the notebook without outputs, or None where no cell can be read; what was wrong with the file, in sentences).

    Raises:
        OSError: the file cannot be read.
    """
    if path.stat().st_size > MOST_BYTES:
        return None, [f"{path.name} has more than {MOST_BYTES >> 20} MB"]
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        raw, notes = _cells(json.loads(text)), []
    except (ValueError, RecursionError):
        raw = _cells_of_truncated(text)
        notes = [f"{path.name} is damaged; {len(raw)} cells at its beginning could be read"] if raw else []
    cells = [cell for cell in map(_valid_cell, raw) if cell is not None]
    if not cells:
        return None, [f"{path.name} is not a notebook, or has no cells"]
    if len(cells) < len(raw):
        notes.append(f"{len(raw) - len(cells)} of {len(raw)} cells in {path.name} are broken and were left out")
    sizes = accumulate(len(cell.source) for cell in cells)
    first = [cell for cell, size in zip(cells, sizes, strict=True) if size <= MOST_SOURCES][:MOST_CELLS]
    if len(first) < len(cells):
        notes.append(f"{path.name} has {len(cells)} cells, or very long ones; only the first {len(first)} were read")
    cells = first
    _leave_out_pictures(cells)
    return new_notebook(cells=cells), notes


def _leave_out_pictures(cells: list) -> None:
    # Pasted pictures beyond what a page of feedback can hold.
    total = 0
    for cell in cells:
        total += sum(len(value) for kinds in cell.get("attachments", {}).values() for value in kinds.values())
        if total > MOST_PICTURES:
            cell.pop("attachments", None)


def _cells(data) -> list:
    if not isinstance(data, dict):
        return []
    cells = data.get("cells")
    return cells if isinstance(cells, list) else []


def _cells_of_truncated(text: str) -> list:
    # A truncated upload: the cells before the break can still be parsed.
    found, start = [], re.search(r'"cells"\s*:\s*\[', text)
    decoder, place = json.JSONDecoder(), start.end() if start else len(text)
    while True:
        place = re.compile(r"[\s,]*").match(text, place).end()
        try:
            cell, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return found
        found.append(cell)


def _valid_cell(raw) -> nbformat.NotebookNode | None:
    if not isinstance(raw, dict) or raw.get("cell_type") not in tuple(NEW):
        return None
    source = raw.get("source", "")
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return None
    source = "".join(lines)
    if len(source) > MOST_SOURCE:
        return None
    # Without lone surrogates, which no file can hold.
    cell = NEW[raw["cell_type"]](source.encode("utf-8", "replace").decode())
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
