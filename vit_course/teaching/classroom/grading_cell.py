"""Writes the grading cell of an assignment, and parses it again."""

import re
from dataclasses import dataclass

SOURCE = """\
from vit_course import checks

report = checks.{name}({answer})
display(report)
{hidden}{points} * report.score"""
# nbgrader removes these lines from the notebooks that learners get. In class the cell is parsed, and `call` runs in its
# place; run as code, the cell does the same.
HIDDEN_SOURCE = """\
### BEGIN HIDDEN TESTS
for seed in {seeds} if report.score else []:
    report = min(report, checks.{name}({answer}, seed=seed), key=lambda one: one.score)
### END HIDDEN TESTS
"""
CALL = re.compile(r"^report = checks\.(\w+\.\w+)\((\w+)\)$", re.MULTILINE)
SEEDS = re.compile(r"^for seed in \[([\d, ]*)\] if report\.score else \[\]:$", re.MULTILINE)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS.*?(### END HIDDEN TESTS\n?|\Z)", re.DOTALL)
POINTS = re.compile(r"^(\d+) \* report\.score$", re.MULTILINE)

VERDICTS = "verdicts.txt"  # beside the notebook, and with its feedback
DIGEST = "handed_in.sha256"  # beside it: the hash of what was graded
TIMESTAMP = "timestamp.txt"  # beside it: nbgrader's
OURS = (VERDICTS, DIGEST, ".ipynb_checkpoints")  # not part of a submission
# What is kept of a cell's outputs: text and pictures, but no HTML, JavaScript or SVG, which could hold a script.
SAFE_MIMES = ("text/plain", "image/png", "image/jpeg")
REPORT_MIME = "application/json"  # the MIME type under which the reports of a check come out of the sandbox
NOT_GRADED_ERROR = (
    "NotGraded"  # the error shown by a grading cell whose answer could not be judged: it has no points, not 0
)


@dataclass(frozen=True)
class GradingCell:
    """What a grading cell asks for.

    Args:
        name: of the exercise, such as "attention.weights".
        answer: the name that the learner's cell defines.
        seeds: of the hidden draws; none where a check draws nothing.
        points: for a fully right answer.
    """

    name: str
    answer: str
    seeds: tuple[int, ...]
    points: int

    @property
    def source(self) -> str:
        """The source of the grading cell."""
        asked = {"name": self.name, "answer": self.answer}
        hidden = HIDDEN_SOURCE.format(**asked, seeds=list(self.seeds)) if self.seeds else ""
        return SOURCE.format(**asked, hidden=hidden, points=self.points)

    @property
    def call(self) -> str:
        """What is run in place of the cell: the same checks, whose reports come as JSON."""
        return f"_judge.judge({self.name!r}, {self.answer}, {list(self.seeds)})"


def without_hidden_tests(source: str) -> str:
    """The source of a cell as learners get it. Lines after a lost end mark go too."""
    return HIDDEN.sub("", source)


def parse_grading_cell(source: str) -> GradingCell | None:
    """Parses the source of a cell; returns None where it is no grading cell of this course.

    A cell without the hidden tests, as learners get it, has no seeds.
    """
    call, seeds, points = CALL.search(source), SEEDS.search(source), POINTS.search(source)
    if not call or not points:
        return None
    return GradingCell(*call.groups(), tuple(map(int, re.findall(r"\d+", seeds[1]))) if seeds else (), int(points[1]))
