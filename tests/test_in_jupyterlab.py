"""What a JupyterLab has shown of a chapter is what is compared; and the panels of verdicts there."""

import json

import in_jupyterlab
import nbformat
import pytest
from conftest import ROOT
from explored import NEEDS_CHROMIUM
from lab import run_cell

from vit_course.teaching.classroom.exercises import exercises_of

PRINTED = {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]}


def outputs_of(replayed: in_jupyterlab.Replayed, source: str) -> list[tuple[str, str]]:
    """The kind and the words of each output that nbval would compare for the next cell with this source."""
    place = replayed.execute_cell_input(source)
    found = []
    while (message := replayed.get_message("iopub"))["msg_type"] != "status":
        assert message["parent_header"]["msg_id"] == place
        found.append((message["msg_type"], message["content"].get("text") or message["content"]["evalue"]))
    assert message["content"]["execution_state"] == "idle"
    return found


def test_what_jupyterlab_has_shown_is_compared_cell_by_cell():
    cells = [
        {"source": "same", "count": 1, "outputs": [PRINTED]},
        {"source": "not compared", "count": 2, "outputs": []},
        {"source": "same", "count": 3, "outputs": []},
    ]
    shown = in_jupyterlab.Replayed(cells, [], 1.0)
    assert [outputs_of(shown, "same") for _ in range(2)] == [[("stream", "one\ntwo\n")], []]
    cells[-1]["count"] = None  # JupyterLab runs nothing behind an error
    stopped = in_jupyterlab.Replayed(cells, [], 1.0)
    outputs_of(stopped, "same")
    [(kind, words)] = outputs_of(stopped, "same")
    assert kind == "error" and "did not run" in words
    cells = [{"source": name, "count": 1, "outputs": [PRINTED]} for name in "ab"]
    faulty = in_jupyterlab.Replayed(cells, ["a picture that does not load"], 1.0)
    assert outputs_of(faulty, "a") == [("stream", "one\ntwo\n")]
    assert outputs_of(faulty, "b")[1:] == [("error", "a picture that does not load")], "at the last cell"


@pytest.mark.thorough
@NEEDS_CHROMIUM
def test_verdicts_are_panels_in_a_section_that_runs_by_itself():
    name = "04_attention.ipynb"
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    exercise = exercises_of(notebook)[0]
    section = next(index for index, cell in enumerate(notebook.cells) if cell.source.startswith("## Exercises"))

    def write(page, source: str) -> str:
        page.evaluate(
            """([index, source]) => {
                const cell = window.jupyterapp.shell.currentWidget.content.widgets[index];
                cell.model.sharedModel.setSource(source);
            }""",
            [exercise.stub, source],
        )
        run_cell(page, exercise.stub)
        return json.dumps(run_cell(page, exercise.check))

    wrong = exercise.solution.replace("dim=-1", "dim=-2")
    with in_jupyterlab.notebook_page(name) as page:
        write(page, "import os\n\nos.environ.pop('VIT_COURSE_PANELS')")  # the tests' own: a learner has no such thing
        run_cell(page, section + 1)
        outputs = write(page, wrong)
        assert "The softmax runs over the queries" in outputs
        panel = page.locator(".jp-OutputArea [role=status]")
        panel.wait_for()
        assert "Not yet" in panel.inner_text() and "4.1 Weights with a mask" in panel.inner_text()
        picture = panel.locator("img")
        picture.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('[role=status] img').naturalWidth > 300")
        page.screenshot(path=in_jupyterlab.SCREENSHOTS / "exercise-wrong.png")
        outputs = write(page, wrong.replace("return", "return ("))
        assert "The cell that defines weights ended in an error" in outputs
        outputs = write(page, exercise.solution)
        assert "attention.weights: passed." in outputs and "data:image/png" not in outputs
        assert panel.inner_text().startswith("Passed")
