"""The submissions of a class: right and wrong answers, damaged or misplaced files, and attempts to cheat or attack."""

import json
import os
import shutil
from pathlib import Path

import nbformat
from conftest import ROOT
from small_class import (
    ASSIGNMENT,
    CHAPTERS,
    GRADIENT,
    HALF,
    MEAN,
    PADDED,
    POINTS,
    SHARE,
    SOLUTIONS,
    UNNOTICED,
    WRONG,
    Submission,
    cell_of,
    only,
    place_of,
    solved,
)

from vit_course.teaching.classroom.isolation import choose


def copied(notebook):
    """Answers and checks twice, an attempt before the answer, in cells copied with all that nbgrader wrote there."""
    solved(notebook)
    for name, answer in ((SHARE, False), (PADDED, True)):
        notebook.cells.insert(place_of(notebook, name, answer) + 1, cell_of(notebook, name, answer).copy())
    first = nbformat.from_dict(cell_of(notebook, GRADIENT, answer=True))
    first.source = WRONG["gradient"]
    notebook.cells.insert(place_of(notebook, GRADIENT, answer=True), first)


def renamed(notebook):
    """Other names of the cells, broken and missing marks."""
    solved(notebook)
    checks = {name: cell_of(notebook, name) for name in POINTS}
    answers = {name: cell_of(notebook, name, answer=True) for name in POINTS}
    checks[GRADIENT].metadata.nbgrader.grade_id = "mine"
    answers[GRADIENT].metadata.nbgrader.grade_id = ["not", "a", "name"]
    checks[SHARE].metadata.nbgrader = {"grade": True}
    checks[PADDED].metadata = {}
    answers[PADDED].metadata.nbgrader = "gone"
    answers[UNNOTICED].metadata.nbgrader.schema_version = 99


def deleted(notebook):
    """All checks are deleted, and an answer has become a text cell."""
    solved(notebook)
    cell_of(notebook, UNNOTICED, answer=True).cell_type = "markdown"
    for name in POINTS:
        del notebook.cells[place_of(notebook, name)]


def forged(notebook):
    """Forged outputs, points and checks."""
    for name in POINTS:
        cell = cell_of(notebook, name)
        cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "100.0"})]
        cell.metadata.nbgrader.points = 100
        cell.source = "100.0"


def misplaced(submitted: Path, student: str, path: Path) -> None:
    """The notebook lies in the learner's folder instead of the assignment's."""
    path.rename(submitted / student / "Attention, final.ipynb")
    shutil.rmtree(path.parent)


def exchanged(submitted: Path, student: str, path: Path) -> None:
    """The folders are assignment/learner instead of learner/assignment."""
    place = submitted / ASSIGNMENT / student
    place.parent.mkdir(exist_ok=True)
    path.parent.rename(place)
    (submitted / student).rmdir()


def torn(submitted: Path, student: str, path: Path) -> None:
    """An upload that is truncated in the third exercise."""
    text = path.read_text()
    path.write_text(text[: text.index("def mean_of_real")])


def twice(submitted: Path, student: str, path: Path) -> None:
    """A second file with nothing in it."""
    shutil.copy(submitted.parent / "release" / ASSIGNMENT / path.name, path.with_name("04_small-Copy1.ipynb"))


def scripts(notebook):
    """Outputs and text that would run, or change the page of feedback."""
    solved(notebook, SCRIPT)
    notebook.cells.append(nbformat.v4.new_markdown_cell("<script>alert(2)</script><style>body {color: white}</style>"))


def merged(notebook):
    """An answer and its check in one cell, as two clicks make it."""
    solved(notebook)
    cell_of(notebook, PADDED, answer=True).source += "\n\n" + cell_of(notebook, PADDED).source
    del notebook.cells[place_of(notebook, PADDED)]


def beside(submitted: Path, student: str, path: Path) -> None:
    """The work in a copy, beside the notebook as it was handed out."""
    path.rename(path.with_name("04_small-Copy1.ipynb"))
    shutil.copy(submitted.parent / "release" / ASSIGNMENT / path.name, path)


def archive(submitted: Path, student: str, path: Path) -> None:
    """An archive instead of the notebook."""
    shutil.make_archive(str(path.with_suffix("")), "zip", path.parent)
    path.unlink()


def another_chapter(submitted: Path, student: str, path: Path) -> None:
    """The notebook of another chapter, under the right name."""
    shutil.copy(ROOT / "notebooks" / "01_patchify.ipynb", path)
    cell = "report = checks.patchify.count(count)\ndisplay(report)\n2 * report.score"
    notebook = nbformat.read(path, 4)
    notebook.cells.append(nbformat.v4.new_code_cell(cell))
    path.write_text(json.dumps(notebook))


def no_utf8(submitted: Path, student: str, path: Path) -> None:
    """The notebook's own name is no UTF-8."""
    path.rename(path.with_name(os.fsdecode(b"04_small_L\xe9a.ipynb")))


def no_text(submitted: Path, student: str, path: Path) -> None:
    """Beside the notebook a file whose name is no UTF-8, and a pipe."""
    (path.parent / os.fsdecode(b"\xff\xfe.txt")).write_text("x")
    os.mkfifo(path.parent / "pipe.csv")


def guest(submitted: Path, student: str, path: Path) -> None:
    """Of nobody in the class list, at no possible time, with a file in the place of one of the assignment's folders."""
    (path.parent / "timestamp.txt").write_text("2026-02-30 10:00:00 UTC")
    shutil.rmtree(path.parent / "res", ignore_errors=True)
    (path.parent / "res").write_text("mine")


def old_timestamp(submitted: Path, student: str, path: Path) -> None:
    """Handed in years ago, says the folder."""
    (path.parent / "timestamp.txt").write_text("2020-01-01 10:00:00 UTC")


SCRIPT = (
    "from IPython.display import HTML, Javascript, Markdown, display\n"
    "bad = '<script>document.title = \"won\"</script><style>body {display: none}</style><img src=x onerror=alert(1)>'\n"
    "display(HTML(bad), Markdown(bad), Javascript('alert(1)'))\nprint(bad)"
)
HOARDS = "import os, time\nfor n in range(80):\n    os.write(os.memfd_create(str(n)), bytes(2**26))\ntime.sleep(100)"
STAYS = "import subprocess\nsubprocess.Popen(['sleep', '76543'], start_new_session=True)"
STEALS = """
from pathlib import Path
for place in ("../../../source/04_small/04_small.ipynb", "../../../gradebook.db", "COURSE/gradebook.db",
              "COURSE/source/04_small/04_small.ipynb", "COURSE/submitted/all_right/04_small/04_small.ipynb"):
    try:
        print("read", place, Path(place).read_bytes()[:20])
    except OSError as error:
        print(type(error).__name__)
for path in (Path.home() / "MINE", Path("../../../gradebook.db"), Path("COURSE/nbgrader_config.py")):
    try:
        path.write_text("mine")
    except OSError as error:
        print(type(error).__name__)
"""
BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
READS = """
import glob, os
for path in [*glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline")]:
    try:
        print(path, open(path).read())
    except OSError as error:
        print(path, error.strerror)
print(dict(os.environ))
"""
FILLS = """
for place in ("/", "/dev", "/tmp", "/dev/shm", "."):
    try:
        with open(place + "/filled", "wb") as file:
            for _ in range(64):
                file.write(bytes(2**26))
    except OSError as error:
        print(place, error.strerror)
"""
SLEEPS = "import time\ntime.sleep(100_000)"
UNLISTED = "guest"  # in no class list
TOKEN = "a-token-of-the-teachers"  # in the environment of the command that grades
OUTSIDE = "written_by_a_submission.txt"


def submissions(course: Path) -> dict[str, Submission]:
    """All submissions, by the names of the learners."""
    steals = STEALS.replace("COURSE", str(course)).replace("MINE", OUTSIDE)
    endless = f"def mean_of_real(z, real):\n    while True: pass\n    {MEAN}"
    heavy = f"def mean_of_real(z, real):\n    bytearray(2**36)\n    {MEAN}"
    # A container starts no more processes than allowed, so that only the time of its cell ends a fork bomb.
    counted = choose(unprotected=True).name == "bubblewrap"
    ends = "more than the 150 processes" if counted else "more time than one cell may take"
    return {
        "all_right": Submission(only(), daily=True),
        "half": Submission(only(unnoticed=HALF), {UNNOTICED: 2.0}, daily=True),
        "untouched": Submission(lost=POINTS, says=("not attempted",), daily=True),
        "all_wrong": Submission(only(**WRONG), POINTS, says=("name: mean-of-means",)),
        "steals": Submission(only(steals, **WRONG), POINTS, says=("name: mean-of-means",), daily=True),
        "forged": Submission(forged, POINTS, says=("further-gradient was changed",)),
        "ends_it": Submission(
            only(padded=f"def mean_of_real(z, real):\n    import os\n    os._exit(0)\n    {MEAN}"), {PADDED: 4.0},
            says=("while class_token.padded was checked, the process ended",), daily=True,
        ),
        "never_returns": Submission(only(padded=endless), {PADDED: 4.0}, says=("name: never-returned",)),
        "no_json": Submission(
            only(), POINTS, "not graded", lambda *given: given[-1].write_text("see my mail"), ("not a notebook",), True
        ),
        "copied": Submission(copied, says=("further-share appears 2 times", "padded-answer appears 2 times")),
        "syntax_error": Submission(
            only(padded="def mean_of_real(z, real:\n    pass"), {PADDED: 4.0}, says=("defines no `mean_of_real`",)
        ),
        "renamed": Submission(renamed, says=("further-gradient had lost its name",)),
        "deleted": Submission(deleted, says=("further-share was missing", "a cell of another type (markdown)")),
        "misplaced": Submission(only(), where=misplaced, says=("handed in as Attention, final.ipynb",)),
        "exchanged": Submission(only(), where=exchanged),
        "twice": Submission(only(), where=twice, says=("several notebooks",)),
        "torn": Submission(
            only(), {PADDED: 4.0, UNNOTICED: 4.0}, "not graded", torn, says=("04_small.ipynb is damaged",)
        ),
        "another_file": Submission(
            only(), POINTS, "not graded", lambda *given: given[-1].rename(given[-1].with_name("answers.pdf")),
            says=("but 04_small/answers.pdf",),
        ),
        "endless_cell": Submission(only("while True:\n    pass")),
        "hog": Submission(only("big = [bytearray(2**28) for _ in range(64)]", padded=heavy), {PADDED: 4.0}),
        "floods": Submission(only("for i in range(10**6): print('x' * 100)")),
        "scripts": Submission(scripts),
        "merged": Submission(merged, says=("other lines were in one cell",)),
        "beside": Submission(only(), where=beside, says=("04_small-Copy1.ipynb was graded, not 04_small.ipynb",)),
        "archive": Submission(only(), POINTS, "not graded", archive, ("04_small.zip; unpack it",)),
        "another_chapter": Submission(
            only(), POINTS, "not graded", another_chapter, ("exercises of another one: patchify.count",)
        ),
        "no_text": Submission(only(), where=no_text),
        UNLISTED: Submission(
            only(), where=guest, says=("does not say when it was handed in", "not in the class list"), daily=True
        ),
        "old_timestamp": Submission(only(), where=old_timestamp, says=("timestamp.txt says 2020-01-01",)),
        "long_line": Submission(only("from b import b " * 12_500)),
        "hoards": Submission(only(HOARDS)),
        "stays": Submission(only(STAYS)),
        "bomb": Submission(only(BOMB), says=(f"was given up: {ends}",)),
        "reads_proc": Submission(only(READS), daily=True),
        "fills": Submission(only(FILLS)),
        "sleeps": Submission(only(SLEEPS), says=("was given up: more time than one cell may take",)),
        "later_error": Submission(only(padded=f"{SOLUTIONS[PADDED]}\n1 / 0")),
        "no_utf8": Submission(only(), where=no_utf8, says=("it was taken as 04_small.ipynb",)),
        **{
            f"one_wrong_{number}": Submission(only(**{short: WRONG[short]}), {name: POINTS[name]})
            for number, name in enumerate([*CHAPTERS] * 2) if (short := name.split(".")[1])
        },
    }  # fmt: skip
