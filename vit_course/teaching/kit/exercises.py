"""The paper exercises of the chapters: question and answer key, both taken from the notebook."""

import ast
import math
import re
import tomllib
from dataclasses import dataclass, field

from vit_course._support.files.course_files import stored
from vit_course.teaching.classroom.exercises import ExerciseCells, exercises_of
from vit_course.teaching.kit.chapters import Chapter, Picture, chapter, picture

HEADING = re.compile(r"### Exercise (\d+\.\d+): (.+)\n")
EFFORT = re.compile(r"\*Difficulty (\d) of 3, (\d+) minutes\.\*\n")
FOLDED = re.compile(r"<details><summary>(Hint \d|Solution)</summary>\n\n(.+?)\n\n</details>\s*", re.DOTALL)
CODE = re.compile(r"```python\n.*?```\s*", re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """One answer of a key: its name, the value, and the reason beside it, where the solution gives one."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class PaperExercise:
    """An exercise that asks for answers and not for a program.

    Args:
        name: such as "attention.unnoticed".
        number, title, difficulty, minutes: as in its heading.
        chapter: the chapter that it is from.
        text: the question, in Markdown.
        picture, caption: of the figure that it shows, if any.
        aid, aid_width: a drawing of the chapter to work with, if any, and its width in % of the page.
        hints, code, explanation, answers: the contents of the key; the answers in the order of the solution.
        choices: the permitted answers, by the names of the answers.
    """

    name: str
    number: str
    title: str
    difficulty: int
    minutes: int
    chapter: Chapter
    text: str
    hints: tuple[str, ...]
    code: str
    explanation: str
    answers: tuple[Answer, ...]
    picture: Picture | None = None
    aid: Picture | None = None
    aid_width: int = 100
    choices: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the answers, in their order."""
        return tuple(answer.name for answer in self.answers)

    @property
    def file(self) -> str:
        """The name of its files, without an ending."""
        return f"{self.number}-{re.sub('[^a-z0-9]+', '-', self.title.lower()).strip('-')}"

    @property
    def reckoned(self) -> bool:
        """Whether the solution contains a calculation, and not only a list of the answers."""
        nodes = [*ast.walk(ast.parse(self.code))]
        return any(isinstance(node, (ast.Assign, ast.BinOp, ast.Call)) for node in nodes)


def paper_exercises() -> list[PaperExercise]:
    """All paper exercises, in the order of `res/kit/sheets.toml`, which is that of the chapters.

    Raises:
        ValueError: the list names an exercise or words that are not in the chapter.
    """
    listed = tomllib.loads(stored("kit/sheets.toml").read_text(encoding="utf-8"))["sheet"]
    return [_exercise(**entry) for entry in listed]


def _exercise(name: str, of: str, words: dict[str, str] | None = None, **more) -> PaperExercise:
    source = chapter(of)
    cells = next((one for one in exercises_of(source.notebook) if one.name == name), None)
    if cells is None:
        raise ValueError(f"kit/sheets.toml: chapter {of} has no exercise {name!r}")
    whole = source.notebook.cells[cells.text].source
    text = FOLDED.sub("", whole)
    heading, effort = HEADING.match(text), EFFORT.search(text)
    text = text[effort.end() :].strip()
    for old, new in (words or {}).items():
        if old not in text:
            raise ValueError(f"kit/sheets.toml: exercise {name} does not say {old!r}")
        text = text.replace(old, new)
    folded = dict(FOLDED.findall(whole))
    explanation = CODE.sub("", folded["Solution"]).strip()
    answers = _answers(cells)
    shown = {kind: picture(more.pop(kind)) for kind in ("picture", "aid") if kind in more}
    hints = tuple(text for title, text in folded.items() if title.startswith("Hint"))
    number, title, difficulty, minutes = *heading.groups(), *map(int, effort.groups())
    return PaperExercise(
        name, number, title, difficulty, minutes, source, text, hints, cells.solution, explanation, answers,
        **shown, **more,
    )  # fmt: skip


def _answers(cells: ExerciseCells) -> tuple[Answer, ...]:
    """The answers, by running the solution, which is the course's own code and needs only arithmetic."""
    scope = {"math": math}
    exec(compile(cells.solution, f"<solution of {cells.name}>", "exec"), scope)
    values = scope[cells.answer]()
    reasons = _reasons(cells.solution)
    return tuple(Answer(name, written(value), reasons.get(name, "")) for name, value in values.items())


def _reasons(code: str) -> dict[str, str]:
    """The comments at the ends of the lines of the dict that the solution returns, by its keys."""
    lines, found = code.splitlines(), {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                _, mark, comment = lines[value.end_lineno - 1][value.end_col_offset :].partition("#")
                if mark:
                    found[ast.literal_eval(key)] = comment.strip()
    return found


def written(value) -> str:
    """An answer as one writes it by hand: numbers to three decimals at most, words as they are."""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value)
