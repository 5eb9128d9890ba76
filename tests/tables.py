"""What is said of the exercises and the minutes in several places, written from one: python tests/tables.py

Title, difficulty and minutes of an exercise stand in its check, the minutes to do a chapter on the chapter's card. From
these come the sum and the minutes to read on the card, the README's column and the table of the teacher's guide.
"""

import re
from pathlib import Path

import nbformat

from vit_course.checks import EXERCISES
from vit_course.classroom.exercises import exercises_of

ROOT = Path(__file__).parents[1]
WORDS_A_MINUTE = 120  # in a second language, with code between them
ON_THE_CARD = re.compile(r"(\d+) min to read, (\d+) min to do, (\d+) min of exercises")
HEAD = "| number | name | title | difficulty | minutes | points |\n|---|---|---|---|---|---|\n"


def words(text: str) -> int:
    """How many, without what is folded away."""
    return len(re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL).split())


def minutes(notebook) -> tuple[int, int, int]:
    """-> to read, to do, of exercises. A card that is a minute off keeps its minutes to read."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    reading, doing, _ = map(int, ON_THE_CARD.search(texts[0]).groups())
    measured = words("\n".join(texts)) / WORDS_A_MINUTE
    exercises = sum(EXERCISES[one.name].minutes for one in exercises_of(notebook))
    return reading if abs(reading - measured) <= 1 else round(measured), doing, exercises


def written() -> dict[Path, str]:
    """Of each file that repeats something, the text that it should have."""
    readme, guide = ROOT / "README.md", ROOT / "res" / "teachers_guide.md"
    texts = {path: path.read_text(encoding="utf-8") for path in (readme, guide)}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        reading, doing, exercises = minutes(notebook)
        card = f"{reading} min to read, {doing} min to do, {exercises} min of exercises"
        texts[path] = ON_THE_CARD.sub(card, path.read_text(encoding="utf-8"), count=1)
        row = re.compile(rf"(\({re.escape(str(path.relative_to(ROOT)))}\).*) \| \d+ \+ \d+ \+ \d+ \|")
        assert row.search(texts[readme]), f"the README has no row for {path.name}"
        texts[readme] = row.sub(rf"\1 | {reading} + {doing} + {exercises} |", texts[readme])
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
