"""The form of the notebooks; nbval runs them and compares their outputs by the rules in conftest.py."""

import re

import figures
import nbformat
import pytest
import tables
import tolerances
from conftest import ROOT, python

from vit_course.checks import EXERCISES
from vit_course.teaching.classroom.exercises import HOLE, exercises_of, with_holes

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
OVERVIEW_AND_CAPSTONE = ("00", "13")
PAINTS = re.compile(r"^.*\b(?:ax|axes|fig|rows)\b.*$|^.*\b(?:plots\.show|Figure)\(.*$", re.MULTILINE)


def cells(path, kind):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


@every
def test_every_cell_was_executed_in_order_in_a_fresh_kernel(path):
    # nbval runs a cell without a count but does not compare it.
    assert [cell.execution_count for cell in cells(path, "code")] == list(range(1, len(cells(path, "code")) + 1))


@every
def test_figures_have_alt_text_and_captions(path):
    figures = [one for cell in cells(path, "code") for one in cell.outputs if "image/png" in one.get("data", {})]
    assert figures, "a chapter without a figure"
    for output in figures:
        assert len(output.metadata["image/png"]["alt"]) > 20
    captions = re.findall(r"^\*Figure (\d+)\b", "\n".join(c.source for c in cells(path, "markdown")), re.MULTILINE)
    assert [int(number) for number in captions] == list(range(1, len(figures) + 1))


@every
def test_the_form_of_a_chapter(path):
    text = "\n\n".join(cell.source for cell in cells(path, "markdown"))
    first = cells(path, "markdown")[0].source
    assert first.startswith(f"# {path.name[:2]} ")
    assert "?" in first.partition("|")[0], "a chapter opens with a question"
    for row in ("**You will be able to**", "**Time**", "**You need**", "**Paper**"):
        assert row in first
    assert "../res/diagrams/" in text
    wanted = ["Exercises", "Summary", "Read next"]
    wanted += [] if path.name[:2] in OVERVIEW_AND_CAPSTONE else ["What can go wrong"]
    for heading in wanted:
        assert f"## {heading}\n" in text, heading
    assert len(re.findall(r"\]\(https://", text)) >= (4 if path.name[:2] == "13" else 8), "links to papers and code"
    last = cells(path, "markdown")[-1].source
    names = [p.name for p in NOTEBOOKS]
    index = names.index(path.name)
    for neighbour in names[max(index - 1, 0) : index] + names[index + 1 : index + 2]:
        assert f"({neighbour})" in last, f"the last cell links to {neighbour}"


@pytest.mark.slow
@every
def test_a_chapter_fits_an_evening_its_cells_are_short_and_its_file_is_small(path):
    assert all(len(cell.source.splitlines()) <= 30 for cell in cells(path, "code"))
    found = tables.parts(nbformat.read(path, as_version=4))
    assert sum(len(cells) for part, cells in found.items() if part != "exercises") <= 69
    assert path.stat().st_size < 4_500_000  # of which a stored explorer of the real model is half
    assert len(found["before"]) <= 35
    assert tables.words(found["before"]) <= 1_800
    main, _, deeper = tables.minutes(nbformat.read(path, as_version=4))
    assert main <= 60 and deeper <= 60


@every
def test_outputs_are_compared_folded_and_numbers(path):
    truths, before = 0, set()
    for cell in cells(path, "code"):
        tags, guesses = set(cell.metadata.get("tags", [])), "guessed(" in cell.source
        before_a_figure = "guessed(guess)" in cell.source  # which gives the answer itself: nothing to hide here
        predicted = guesses and not before_a_figure
        assert before_a_figure <= bool(tables.figures([cell]))
        assert not {"nbval-ignore-output", "nbval-skip"} & tags
        assert all(one.output_type != "error" and one.get("name") != "stderr" for one in cell.outputs)
        drawn_after = "predict" in before and tables.is_folded(cell)  # it paints what was predicted
        assert predicted <= ("predict" in tags) <= (predicted or drawn_after)
        if guesses:
            assert re.search(r"^guess = None  # ", cell.source, re.MULTILINE), "the learner's line"
        if "predict" in tags:
            assert cell.metadata.jupyter.outputs_hidden is True and cell.metadata.get("collapsed") is True
        assert not predicted or not tables.is_folded(cell)
        before = tags
        if not tables.is_folded(cell):
            assert len(PAINTS.findall(cell.source)) <= 4, f"fold what paints:\n{cell.source}"
        allowed = tolerances.tolerance(cell.metadata.get("tags", []))
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        truths += len(re.findall(r"\b(?:True|False)$", printed, re.MULTILINE))
        assert (tolerances.SIGN in printed) == (allowed is not None), cell.source[:200]
        less_closely = {figures.DRIFTS, figures.OF_THIS_MACHINE} & tags
        assert not less_closely or figures.pictures(cell.outputs), "the tag of a cell without a picture"
    assert truths <= 3, "numbers are shown, and True only of equalities that are the point"


@pytest.mark.slow
@every
def test_the_form_of_the_exercises(path):
    notebook = nbformat.read(path, as_version=4)
    found = exercises_of(notebook)
    assert 2 <= len(found) <= (6 if path.name.startswith("13") else 5)
    assert sum("NotImplementedError" in c.source for c in cells(path, "code")) == len(found)
    for number, cells_of in enumerate(found, start=1):
        exercise, text = EXERCISES[cells_of.name], notebook.cells[cells_of.text].source
        assert text.startswith(f"### Exercise {int(path.name[:2])}.{number}: {exercise.title}\n")
        assert f"*Difficulty {exercise.difficulty} of 3, {exercise.minutes} minutes.*" in text
        folded = re.findall(r"<details><summary>(.+?)</summary>\n\n.+?\n\n</details>", text, re.DOTALL)
        assert folded == ["Hint 1", "Hint 2", "Hint 3", "Solution"]
        # Its check, on the untouched stub.
        output = notebook.cells[cells_of.check].outputs[0]
        assert output.data["text/plain"].startswith(f"{cells_of.name}: not attempted yet.")
        headings = re.findall(r"^##+ (.+)$", "\n".join(cell.source for cell in cells(path, "markdown")), re.MULTILINE)
        assert exercise.number == f"{int(path.name[:2])}.{number}" and exercise.section in headings
        # The classroom's version with the holes emptied again is the stub.
        source = with_holes(cells_of, "#begin", "#end")
        emptied = re.sub(r"#begin\n.*?#end", HOLE, source, flags=re.DOTALL)
        assert emptied == cells_of.stub_code and source.replace("#begin", "") != source


def test_every_exercise_is_in_a_chapter_and_chapters_are_numbered():
    assert [int(path.name[:2]) for path in NOTEBOOKS] == list(range(16))
    found = [e.name for path in NOTEBOOKS for e in exercises_of(nbformat.read(path, as_version=4))]
    assert found == list(EXERCISES) and len(found) >= 30


@pytest.mark.slow
@every
def test_nothing_of_this_machine_is_stored(path):
    # In the megabytes of an explorer any short word comes up by chance; a path is shorter than 200 characters.
    text = re.sub(r"\S{200,}", "", path.read_text(encoding="utf-8"))
    assert not re.search(r"/(home|root|tmp|Users|work|opt)/\w", text)
    assert nbformat.read(path, as_version=4).metadata.language_info == {"name": "python"}
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    assert len(set(ids)) == len(ids)


def test_the_network_is_blocked_where_notebooks_run():
    code = "import socket, urllib.request as u\n"
    for call in ("u.urlopen('http://example.org', timeout=5)", "socket.create_connection(('192.0.2.1', 80), 5)"):
        code += f"try: {call}\nexcept OSError as e: print(e)\n"
    done = python("-c", code, PYTHONPATH=str(ROOT / "tests" / "offline"))
    for place in ("example.org", "192.0.2.1"):
        assert f"the network is blocked in the tests: {place}" in done.stdout
