"""Writes the minutes and the table of exercises to all places that repeat them: python tests/tables.py

Title, difficulty and minutes of an exercise come from the list of checks, the minutes that a chapter runs from its
metadata, which regenerate.py writes. From these and the text, this writes the chapters' cards, the README's column and
the table in the teacher's guide.
"""

import re
from pathlib import Path

import nbformat

from vit_course.checks import EXERCISES
from vit_course.teaching.classroom.exercises import exercises_of

ROOT = Path(__file__).parents[1]
WORDS_A_MINUTE, LINES_A_MINUTE = 130, 8  # of text in a second language; of code that is read
PREDICTION, FIGURE = 2, 3  # minutes to decide on a guess, and to try a figure that can be dragged
LIVE = "application/vnd.jupyter.widget-view+json"
ON_THE_CARD = re.compile(r"\d+ min for the main path, \d+ min of exercises(?:, \d+ min for the \*Deeper\* sections)?")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
GUESS = re.compile(r"^guess = None", re.MULTILINE)
HEAD = "| number | name | title | difficulty | minutes | points |\n|---|---|---|---|---|---|\n"


def parts(notebook) -> dict[str, list]:
    """The cells of a chapter by where they stand: before, among and after the exercises, or under a Deeper heading."""
    found, now = {"before": [], "exercises": [], "after": [], "deeper": []}, "before"
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (heading := HEADING.match(cell.source)):
            other = "before" if now == "before" else "after"
            now = {"Exercises": "exercises", "Deeper": "deeper"}.get(heading[1].partition(":")[0], other)
        found[now].append(cell)
    return found


def words(cells: list) -> int:
    """The number of words that are read, without folded *Deeper* sections, hints and solutions."""
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    folded = r"<details><summary>(Deeper|Hint|Solution).*?</details>"
    return len(re.sub(folded, "", text, flags=re.DOTALL).split())


def lines(cells: list) -> int:
    """The number of visible lines of code, without folded cells and imports."""
    shown = [cell.source for cell in cells if cell.cell_type == "code" and not is_folded(cell)]
    code = re.sub(r"^from .* import \([^)]*\)", "", "\n".join(shown), flags=re.MULTILINE)
    return len(re.findall(r"^(?!import |from )\s*\S", code, re.MULTILINE))


def predictions(cells: list) -> int:
    """The number of cells in which the learner writes a guess."""
    return sum(cell.cell_type == "code" and bool(GUESS.search(cell.source)) for cell in cells)


def figures(cells: list) -> int:
    """The number of live figures: explorers, and figures to drag."""
    return sum(any(LIVE in one.get("data", {}) for one in cell.get("outputs", [])) for cell in cells)


def is_folded(cell) -> bool:
    """Whether JupyterLab and the site fold the cell's code, because it only draws."""
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def at_work(cells: list) -> float:
    """The minutes in which the cells are read, their guesses written down and their figures tried."""
    reading = words(cells) / WORDS_A_MINUTE + lines(cells) / LINES_A_MINUTE
    return reading + PREDICTION * predictions(cells) + FIGURE * figures(cells)


def minutes(notebook) -> tuple[int, int, int]:
    """Returns the minutes (for the main path, for the exercises, for the *Deeper* sections)."""
    found = parts(notebook)
    main = found["before"] + found["after"]
    exercises = sum(EXERCISES[one.name].minutes for one in exercises_of(notebook))
    return round(at_work(main) + notebook.metadata.vit_course.run_minutes), exercises, round(at_work(found["deeper"]))


def written() -> dict[Path, str]:
    """The text that each of the files should have."""
    readme, guide = ROOT / "README.md", ROOT / "res" / "teachers_guide.md"
    texts = {path: path.read_text(encoding="utf-8") for path in (readme, guide)}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        main, exercises, deeper = minutes(notebook)
        card = f"{main} min for the main path, {exercises} min of exercises"
        card += f", {deeper} min for the *Deeper* sections" * bool(deeper)
        texts[path] = ON_THE_CARD.sub(card, path.read_text(encoding="utf-8"), count=1)
        row = re.compile(rf"(\({re.escape(str(path.relative_to(ROOT)))}\).*) \| \d+ \+ \d+(?: \+ \d+)? \|")
        assert row.search(texts[readme]), f"the README has no row for {path.name}"
        texts[readme] = row.sub(rf"\1 | {main} + {exercises}{f' + {deeper}' * bool(deeper)} |", texts[readme])
    rows = "".join(
        f"| {one.number} | `{one.name}` | {one.title} | {one.difficulty} | {one.minutes} | {one.points} |\n"
        for one in EXERCISES.values()
    )
    texts[guide] = re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: HEAD + rows, texts[guide])
    return texts


def write() -> None:
    """Writes the files that are not as they should be, and names them."""
    for path, text in written().items():
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: minutes or table written")


if __name__ == "__main__":
    write()
