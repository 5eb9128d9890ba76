"""The table of the learner's progress over all chapters."""

from dataclasses import dataclass
from itertools import groupby

from vit_course.checks import saved_progress
from vit_course.checks.exercise import EXERCISES, LISTED, Exercise

# The notebook of each chapter, and its title there, in the order of their numbers.
CHAPTERS = tuple(LISTED["chapters"].items())


@dataclass(frozen=True)
class Progress:
    """How far the learner is: text by `print`, a table with links as the last line of a notebook's cell."""

    best: dict[str, float]
    message: str

    def __str__(self) -> str:
        lines = ["[x] passed   [/] in part   [ ] open", ""]
        for chapter, exercises in _by_chapter():
            marks = "  ".join(f"{self._mark(one)} {one.number} {one.name.split('.')[1]}" for one in exercises)
            lines.append(f"{CHAPTERS[chapter][1]:32}{self._passed(exercises)} of {len(exercises)}   {marks}")
        return "\n".join([*lines, "", self._sum(), *self._rest()])

    def _repr_mimebundle_(self, **_) -> dict[str, str]:
        rows = ["| Chapter | Passed | Exercises | Left |", "| --- | --- | --- | --- |"]
        for chapter, exercises in _by_chapter():
            marks = "<br>".join(f"{self._mark(one)} {one.number} {one.title}" for one in exercises)
            left = sum(one.minutes for one in exercises if self._score(one) < 1)
            link = "[{1}]({0}.ipynb)".format(*CHAPTERS[chapter])
            rows.append(f"| {link} | {self._passed(exercises)} of {len(exercises)} | {marks} | {left} min |")
        text = "\n\n".join(["\n".join(rows), self._sum(), *self._rest()])
        return {"text/plain": str(self), "text/markdown": text}

    def _score(self, exercise: Exercise) -> float:
        return self.best.get(exercise.name, 0.0)

    def _passed(self, exercises) -> int:
        return sum(self._score(one) == 1.0 for one in exercises)

    def _mark(self, exercise: Exercise) -> str:
        score = self._score(exercise)
        return "[x]" if score == 1.0 else "[/]" if score > 0 else "[ ]"

    def _sum(self) -> str:
        return f"{self._passed(EXERCISES.values())} of {len(EXERCISES)} exercises passed"

    def _rest(self) -> list[str]:
        """What to do next, and what is wrong with the file."""
        open_ones = [one for one in EXERCISES.values() if self._score(one) < 1]
        # Exercises with partial credit come first.
        first = next((one for one in open_ones if self._score(one) > 0), open_ones[0] if open_ones else None)
        lines = [f"Next: Exercise {first.number}, {first.title}, {first.minutes} minutes"] if first else []
        return lines + ([self.message] if self.message else [])


def progress() -> Progress:
    """A row a chapter, with a mark for each exercise, the sum, and what comes next."""
    return Progress(*saved_progress.read())


def _by_chapter() -> list[tuple[int, list[Exercise]]]:
    return [(chapter, list(group)) for chapter, group in groupby(EXERCISES.values(), key=lambda one: one.chapter)]
