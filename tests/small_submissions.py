"""What the small class hands in: name -> `Submission`."""

import shutil
from pathlib import Path

import nbformat
from small_class import (
    ASSIGNMENT,
    GRADIENT,
    PADDED,
    POINTS,
    SHARE,
    UNNOTICED,
    Submission,
    only,
    place_of,
    solved,
    with_cell,
)  # fmt: skip
from test_attacks import LIES, LOOKS, PRINTS, REPLACES, TRANSFORMS

WRONG = {
    "gradient": "def whole_gradient(means, counts):\n    return means.mean(dim=0)",
    "share": "def shares(order, rank, world, batch_size):\n    return list(order.split(batch_size))",
    "padded": "def mean_of_real(z, real):\n    return z[:, 1:].mean(dim=1)",
    "unnoticed": "def unnoticed():\n    return {'keys_doubled': 1}",
}
HALF = {
    "unnoticed": "def unnoticed():\n    words = ['key_constant', 'token_copied', 'traded']\n"
    "    return {**dict.fromkeys([*words, 'query_constant'], 'other'), 'value_constant': 'moved', 'keys_doubled': 9}"
}
OTHERWISE = {
    "gradient": "import numpy as np\ndef whole_gradient(means, counts):\n    total = torch.zeros(means.shape[1])\n"
    "    for mean, count in zip(means, counts):\n        total = total + mean * count\n    return total / counts.sum()",
    "share": "def shares(order, rank, world, batch_size):\n    found = []\n"
    "    for start in range(0, len(order), batch_size):\n"
    "        found.append(order[start : start + batch_size][rank::world])\n    return found",
    "padded": "def mean_of_real(z, real):\n"
    "    return torch.stack([tokens[1:][keep].mean(dim=0) for tokens, keep in zip(z, real)])",
}
EVERYTHING = dict(POINTS)
MEAN = "return (z[:, 1:] * real[..., None]).sum(1) / real.sum(1, keepdim=True)"


def doing(source: str) -> str:
    """An answer to `padded` that does something before it is right."""
    return f"def mean_of_real(z, real):\n    {source}\n    {MEAN}"


def copied(notebook):
    """Answers and checks twice, an attempt before the answer, in cells copied with all that nbgrader wrote there."""
    solved(notebook)
    for name, answer in ((SHARE, False), (PADDED, True)):
        place = place_of(notebook, name, answer)
        notebook.cells.insert(place + 1, notebook.cells[place].copy())
    place = place_of(notebook, GRADIENT, answer=True)
    first = nbformat.from_dict(notebook.cells[place])
    first.source = WRONG["gradient"]
    notebook.cells.insert(place, first)


def moved(notebook):
    """Every check before its answer."""
    solved(notebook)
    for name in POINTS:
        check = notebook.cells.pop(place_of(notebook, name))
        notebook.cells.insert(1, check)


def renamed(notebook):
    """Other names of the cells, broken and missing marks."""
    solved(notebook)
    checks = {name: notebook.cells[place_of(notebook, name)] for name in POINTS}
    answers = {name: notebook.cells[place_of(notebook, name, answer=True)] for name in POINTS}
    checks[GRADIENT].metadata.nbgrader.grade_id = "mine"
    answers[GRADIENT].metadata.nbgrader.grade_id = ["not", "a", "name"]
    checks[SHARE].metadata.nbgrader = {"grade": True}
    checks[PADDED].metadata = {}
    answers[PADDED].metadata.nbgrader = "gone"
    answers[UNNOTICED].metadata.nbgrader.schema_version = 99


def deleted(notebook):
    """No check is left, an answer became text."""
    solved(notebook)
    answer = notebook.cells[place_of(notebook, UNNOTICED, answer=True)]
    answer.cell_type = "markdown"
    for name in POINTS:
        del notebook.cells[place_of(notebook, name)]


def broken_cells(notebook):
    """Cells that are none, and no settings of the notebook."""
    solved(notebook)
    notebook.cells += [7, {"cell_type": "code"}, {"cell_type": "poem", "source": "x"}, {"source": {}}]
    notebook.metadata = "gone"


def forged(notebook):
    """Outputs, points and checks that say what the learner would like."""
    for name in POINTS:
        cell = notebook.cells[place_of(notebook, name)]
        cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "100.0"})]
        cell.metadata.nbgrader.points = 100
        cell.source = "100.0"


def named(name: str):
    """-> hands the file in under another name."""
    return lambda submitted, student, path: path.rename(path.with_name(name))


def misplaced(submitted: Path, student: str, path: Path) -> None:
    """In the learner's folder instead of the assignment's."""
    path.rename(submitted / student / "Attention, final.ipynb")
    shutil.rmtree(path.parent)


def exchanged(submitted: Path, student: str, path: Path) -> None:
    """Assignment above learner."""
    place = submitted / ASSIGNMENT / student
    place.parent.mkdir(exist_ok=True)
    (submitted / student / ASSIGNMENT).rename(place)
    (submitted / student).rmdir()


def torn(submitted: Path, student: str, path: Path) -> None:
    """An upload that broke off in the third exercise."""
    text = path.read_text()
    path.write_text(text[: text.index("def mean_of_real")])


def twice(submitted: Path, student: str, path: Path) -> None:
    """A second file with nothing in it."""
    shutil.copy(submitted.parent / "release" / ASSIGNMENT / path.name, path.with_name("04_small-Copy1.ipynb"))


def with_text(text: str):
    """-> a file of this text."""
    return lambda submitted, student, path: path.write_text(text)


SHADOWS = {
    "vit_course/__init__.py": "raise SystemExit('shadowed')",
    "vit_course/checks.py": "further = attention = class_token = lambda *a, **k: 1",
    "torch.py": "raise SystemExit('shadowed')",
    "sitecustomize.py": "raise SystemExit('shadowed')",
    "verdicts.txt": "all right",
}
STEALS = """
from pathlib import Path
for place in ("/etc/shadow", "../../../source/04_small/04_small.ipynb", "../../../gradebook.db", "COURSE/gradebook.db",
              "COURSE/source/04_small/04_small.ipynb", "COURSE/submitted/all_right/04_small/04_small.ipynb"):
    try:
        print("read", place, Path(place).read_bytes()[:20])
    except OSError as error:
        print(type(error).__name__)
"""
LOADER = (
    "from torch.utils.data import DataLoader\n"
    "assert sum(len(b) for b in DataLoader(torch.arange(10), batch_size=3, num_workers=2)) == 10"
)
BOMB = (
    "import os, time\nfor _ in range(400):\n    try:\n        if os.fork() == 0:\n            time.sleep(90)\n"
    "            os._exit(0)\n    except OSError:\n        break\ntime.sleep(90)"
)
SHELL = (
    "!echo by the shell\nlines = !printf 'a'\n%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);"
)


RENAMED = ("weights(q, k, keep)", "shares(q, k, keep, more)")


def submissions(course: Path) -> dict[str, Submission]:
    """All of them."""
    lost = EVERYTHING
    return {
        "all_right": Submission(only()),
        "otherwise": Submission(only(**OTHERWISE)),
        "untouched": Submission(lost=lost, says=("not attempted",)),
        "half": Submission(only(**HALF), {UNNOTICED: 2.0}),
        "all_wrong": Submission(only(**WRONG), lost, says=("[mean-of-means]",)),
        "syntax_error": Submission(only(padded="def mean_of_real(z, real:\n    pass"), {PADDED: 4.0}),
        "raises": Submission(only(share="def shares(*given):\n    return 1 / 0"), {SHARE: 4.0}, says=("ZeroDivision",)),
        "library": Submission(
            only(padded=doing("torch.relu = torch.abs")), {PADDED: 4.0}, says=("[library-changed]",)
        ),
        # what won marks once
        "prints": Submission(with_cell(PRINTS, **WRONG), lost),
        "transforms": Submission(with_cell(TRANSFORMS, **WRONG), lost),
        "shadows": Submission(only(**WRONG), lost, files=SHADOWS),
        "replaces": Submission(with_cell(REPLACES, before=UNNOTICED, **WRONG), lost),
        "looks": Submission(only(**WRONG | {"share": LOOKS.replace(*RENAMED)}), lost),
        "lies": Submission(only(**WRONG | {"unnoticed": LIES}), lost),
        "steals": Submission(with_cell(STEALS.replace("COURSE", str(course)), **WRONG), lost),
        "forged": Submission(forged, lost, says=("further-gradient was changed",)),
        # cells
        "copied": Submission(copied, says=("further-share stands there 2 times", "padded-answer stands there 2 times")),
        "moved": Submission(moved, says=("attention-unnoticed stood before its answer",)),
        "renamed": Submission(renamed, says=("further-gradient had lost its name",)),
        "deleted": Submission(deleted, says=("further-share was missing", "made a cell of another kind (markdown)")),
        "broken_cells": Submission(broken_cells, says=("cells in 04_small.ipynb are broken",)),
        # files
        "numbered": Submission(only(), where=named("04_small (1).ipynb"), says=("handed in as 04_small/04_small (1)",)),
        "misplaced": Submission(only(), where=misplaced, says=("handed in as Attention, final.ipynb",)),
        "exchanged": Submission(only(), where=exchanged),
        "twice": Submission(only(), where=twice, says=("several notebooks",)),
        "torn": Submission(
            only(), {PADDED: 4.0, UNNOTICED: 4.0}, "not graded", torn, says=("04_small.ipynb is damaged",)
        ),
        "no_json": Submission(only(), lost, "not graded", with_text("see my mail"), says=("is no notebook",)),
        "empty": Submission(only(), lost, "not graded", with_text(""), says=("is no notebook",)),
        "other_json": Submission(only(), lost, "not graded", with_text("[" * 100_000), says=("is no notebook",)),
        "another_file": Submission(only(), lost, "not graded", named("answers.pdf"), says=("holds no notebook",)),
        # processes
        "exits": Submission(
            lambda notebook: (with_cell("exit()")(notebook), with_cell("quit()", before=PADDED)(notebook))
        ),
        "exits_inside": Submission(only(padded=doing("exit()")), {PADDED: 4.0}, says=("[tried-to-exit]",)),
        "kernel_dies": Submission(
            with_cell("import os; os._exit(1)", padded=doing("import os; os.abort()")), {PADDED: 4.0}
        ),
        "never_returns": Submission(only(padded=doing("while True: pass")), {PADDED: 4.0}, says=("[never-returned]",)),
        "endless_cell": Submission(with_cell("while True:\n    pass")),
        "hog": Submission(
            with_cell("big = [bytearray(2**28) for _ in range(64)]", padded=doing("bytearray(2**36)")), {PADDED: 4.0}
        ),
        "forks": Submission(with_cell(BOMB)),
        "floods": Submission(with_cell("for i in range(10**6): print('x' * 100)")),
        "honest": Submission(with_cell(SHELL + "\n" + LOADER)),
    }  # fmt: skip
