"""The schedule: the two plans of the teacher's guide, with the minutes from the chapters' cards."""

import re
from pathlib import Path

from vit_course._support.files.course_files import stored
from vit_course.teaching.kit.chapters import chapter, chapters
from vit_course.teaching.kit.exercises import EFFORT, HEADING
from vit_course.teaching.kit.markdown import parse, typst
from vit_course.teaching.kit.pdf import page, write_pdf

LAB = "A lab of 90 minutes."
WEEKS = "A unit of four weeks,"


def write_schedule(path: Path) -> None:
    """Writes the schedule as a PDF.

    Raises:
        ValueError: the guide lacks a plan, or names an exercise that no chapter has.
    """
    write_pdf(path, page(typst(schedule()), "Schedule", "Minutes are those of the chapters' cards"))


def schedule() -> str:
    """The schedule as Markdown: `res/kit/schedule.md` with its three tables."""
    text = stored("kit/schedule.md").read_text(encoding="utf-8")
    for name, table in {"{{lab}}": lab(), "{{weeks}}": weeks(), "{{chapters}}": all_chapters()}.items():
        text = text.replace(name, table)
    return text


def lab() -> str:
    """The table of the 90 minutes, as Markdown."""
    rows = [(when, what, "; ".join(_exercises(what)) or "–") for when, what in plan(LAB)]
    return _table(("minutes", "what", "exercises, minutes"), rows)


def weeks() -> str:
    """The table of the four weeks, a line a lesson, as Markdown."""
    rows = []
    for week, lessons, paper, home in plan(WEEKS):
        papers = paper.split("; ")
        for number, (lesson, exercise) in enumerate(zip(lessons.split("; "), papers, strict=True), start=1):
            read = chapter(_chapters(lesson)[-1]).minutes.main  # of two chapters the first is read at home
            programmed = [int(one.partition(": ")[2]) for one in _exercises(lesson)]
            parts = [read, *([sum(programmed)] if programmed else []), exercise_minutes()[exercise]]
            in_class = f"{' + '.join(map(str, parts))} = {sum(parts)}"
            rows.append((f"{week}.{number}", lesson, exercise, in_class, _homework(home) if number == 2 else ""))
    return _table(("lesson", "chapters", "on paper", "minutes in class", "to hand in, with minutes"), rows)


def all_chapters() -> str:
    """The table of all chapters with their measured minutes, as Markdown."""
    rows = []
    for each in chapters().values():
        m = each.minutes
        total = m.main + m.exercises + m.deeper
        rows.append((each.title.partition(":")[0], *map(str, (m.main, m.exercises, m.deeper, total))))
    return _table(("chapter", "main path", "exercises", "deeper", "together"), rows)


def plan(name: str) -> list[list[str]]:
    """The rows of a plan of the teacher's guide, by the bold words before its table.

    Raises:
        ValueError: the guide has no such plan.
    """
    guide = stored("teachers_guide.md").read_text(encoding="utf-8")
    _, found, after = guide.partition(f"**{name}**")
    rows, inside = [], False
    for token in parse(after):
        if token.type == "tbody_close":
            return rows
        inside = inside or token.type == "tbody_open"
        if token.type == "tr_open" and inside:
            rows.append([])
        if token.type == "inline" and inside:
            rows[-1].append(token.content)
    raise ValueError(
        f"the teacher's guide has no table after **{name}**" if found else f"no plan {name!r} in the guide"
    )


def exercise_minutes() -> dict[str, int]:
    """The minutes of every exercise, by its number."""
    return {
        heading[1]: int(EFFORT.search(cell.source)[2])
        for each in chapters().values()
        for cell in each.notebook.cells
        if (heading := HEADING.match(cell.source))
    }


def _exercises(text: str) -> list[str]:
    known = exercise_minutes()
    numbers = re.findall(r"\b\d+\.\d\b", text)
    if unknown := [number for number in numbers if number not in known]:
        raise ValueError(f"the teacher's guide plans exercise {unknown[0]}, which no chapter has")
    return [f"{number}: {known[number]}" for number in numbers]


def _chapters(text: str) -> list[str]:
    return re.findall(r"\b\d\d\b", text)


def _homework(text: str) -> str:
    return ", ".join(f"{name}: {chapter(name).minutes.exercises}" for name in _chapters(text))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
