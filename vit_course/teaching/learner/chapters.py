"""Prepares the chapters for a learner: without outputs, and with links that work in any folder."""

import json
import re
from pathlib import Path

from vit_course._support.files.course_files import course

# The folder beside the copies that holds the files which the chapters show or link to.
FILES = "files"
LINK = re.compile(r"""(\]\(|src=["'])\.\./([^)\s"'#]+)""")


def chapters() -> dict[str, Path]:
    """The number of each chapter ("00", "01", ...) and its file."""
    return {path.name[:2]: path for path in sorted((course() / "notebooks").glob("[0-9][0-9]_*.ipynb"))}


def prepare(chapter: Path) -> tuple[bytes, set[str]]:
    """Returns the notebook file without outputs, and the repository paths of all files that it links to."""
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    linked: set[str] = set()

    def lead_to_files(match: re.Match) -> str:
        linked.add(match[2])
        return f"{match[1]}{FILES}/{match[2]}"

    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = LINK.sub(lead_to_files, source)
        else:
            cell.update(outputs=[], execution_count=None)
            cell["metadata"].pop("collapsed", None)  # there is no output to fold
            if cell["metadata"].get("jupyter", {}).pop("outputs_hidden", None) and not cell["metadata"]["jupyter"]:
                del cell["metadata"]["jupyter"]
        cell["source"] = source.splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode(), linked


def differences(old: bytes, new: bytes) -> str:
    """What a newer version of a chapter has changed, in a few words.

    Args:
        old: the chapter that the learner's copy was made from.
        new: the chapter as it is now.
    """
    before, after = (["".join(cell["source"]) for cell in json.loads(text)["cells"]] for text in (old, new))
    from difflib import SequenceMatcher

    changed, first = 0, None
    for kind, start, end, begin, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += max(end - start, stop - begin)
            first = begin if first is None else first
    if first is None:
        return "the same cells, saved otherwise"
    heading = next((h for cell in after[first::-1] if (h := _heading(cell))), "the beginning")
    return f"{changed} {'cell differs' if changed == 1 else 'cells differ'}, the first under \u201c{heading}\u201d"


def _heading(cell: str) -> str | None:
    found = re.findall(r"^#+ (.+)$", cell, re.MULTILINE)
    return found[-1] if found else None
