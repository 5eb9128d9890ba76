"""How notebooks are run, compared and stored here, in what order and how fast; and the panels in a JupyterLab."""

import base64
import json
import os
from pathlib import Path
from types import SimpleNamespace

import in_jupyterlab
import nbformat
import numpy as np
import pytest
import spread
import tiers
import tolerances
import torch
from conftest import ROOT
from explored import NEEDS_CHROMIUM
from lab import run_cell
from pictures import encoded
from PIL import Image
from regenerate import VIEW, as_stored, same_widget
from threadpoolctl import threadpool_info

from vit_course._support.widgets.pages import pack, unpack
from vit_course.explorer import AttentionExplorer
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


TAGS = ["about:0.05"]


def printed(text: str) -> dict:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def shown(noise: int = 0, mark: bool = False, alt: str = "a curve", **more) -> dict:
    """A picture of a slope, with noise that nobody sees or a mark that everybody sees."""
    pixels = np.tile(np.linspace(40, 200, 60), (40, 1)) + np.random.RandomState(noise).rand(40, 60) * bool(noise)
    pixels[10:20, 10:20] = 0 if mark else pixels[10:20, 10:20]
    picture = encoded(Image.fromarray(pixels.astype(np.uint8)))
    data = {"image/png": base64.b64encode(picture).decode(), "text/plain": "<Figure>", **more}
    return nbformat.v4.new_output("display_data", data=data, metadata={"image/png": {"alt": alt}})


def packed(change: float = 0.0, **state) -> dict:
    """An explorer as a notebook keeps it."""
    q, k = torch.randn(2, 2, 3, 7, 4, generator=torch.Generator().manual_seed(0)) * (1 + change)
    return pack(AttentionExplorer((q, k), torch.zeros(3, 8, 12), grid=(2, 3), **state).everything())


def test_a_number_is_stored_where_it_is_beyond_its_tolerance():
    stored = [printed("a ≈ 0.90\nb ≈ 0.50\n")]
    assert as_stored(stored, [printed("a ≈ 0.92\nb ≈ 0.70\n")], TAGS)[0].text == "a ≈ 0.90\nb ≈ 0.70\n"
    assert as_stored(stored, [printed("a ≈ 0.92\nb ≈ 0.50\n")], [])[0].text == "a ≈ 0.92\nb ≈ 0.50\n", "no tolerance"


def test_a_picture_is_stored_where_something_else_is_seen():
    stored = shown()
    assert as_stored([stored], [shown(noise=1)], []) == [stored]
    for fresh in (shown(mark=True), shown(alt="another")):
        assert as_stored([stored], [fresh], []) == [fresh]
    assert as_stored([stored], [shown(), shown()], []) == [shown(), shown()], "another number of them"


@pytest.mark.slow
def test_an_explorer_is_stored_where_its_data_differ():
    stored = packed()
    assert same_widget(*map(unpack, (stored, packed())))
    assert same_widget(*map(unpack, (stored, packed(change=1e-6)))), "as two machines round"
    for other in (packed(head=1), packed(change=0.5), packed(scale="layer")):
        assert not same_widget(*map(unpack, (stored, other)))
    kept, fresh = shown(**{VIEW: stored}), shown(**{VIEW: packed(head=1)})
    assert as_stored([kept], [shown(noise=1, **{VIEW: packed(change=1e-6)})], []) == [kept]
    assert as_stored([kept], [fresh], []) == [fresh]


CASES = {
    # tags, stored, fresh, whether they agree
    "within a difference": ("about:0.05", "accuracy ≈ 0.97 of 400", "accuracy ≈ 0.93 of 400", True),
    "beyond a difference": ("about:0.05", "accuracy ≈ 0.97", "accuracy ≈ 0.90", False),
    "within a share": ("about:10%", "loss ≈ 2.00", "loss ≈ 1.81", True),
    "beyond a share": ("about:10%", "loss ≈ 2.00", "loss ≈ 1.79", False),
    "within a factor": ("about:x5", "seconds ≈ 2", "seconds ≈ 9", True),
    "beyond a factor": ("about:x5", "seconds ≈ 2", "seconds ≈ 11", False),
    "a factor keeps the sign": ("about:x5", "slope ≈ 0.10", "slope ≈ -0.10", False),
    "every number of the line": ("about:0.05", "≈ 0.97 0.50", "≈ 0.97 0.90", False),
    "columns that move": ("about:10%", "steps ≈ 99  (first)", "steps ≈ 101 (first)", True),
    "small numbers": ("about:x100", "largest difference ≈ 2e-07", "largest difference ≈ 9e-06", True),
    "a rounding error that is none": ("about:x100", "largest difference ≈ 2e-07", "largest difference ≈ 0e+00", True),
    "a rounding error that grows": ("about:x100", "largest difference ≈ 4e-09", "largest difference ≈ 8e-06", False),
    "more than rounding": ("about:x100", "largest difference ≈ 0e+00", "largest difference ≈ 2e-05", False),
    "numbers before the sign": ("about:0.05", "16 patches ≈ 0.97", "15 patches ≈ 0.97", False),
    "other words": ("about:0.05", "accuracy ≈ 0.97 good", "accuracy ≈ 0.97 bad", False),
    "no number": ("about:0.05", "loss ≈ 0.97", "loss ≈ nan", False),
    "lines without the sign": ("about:0.05", "accuracy 0.97", "accuracy 0.96", False),
    "a line less": ("about:0.05", "a ≈ 0.97\nb ≈ 0.97", "a ≈ 0.97", False),
}


@pytest.mark.parametrize("name", CASES)
def test_lines_agree_within_the_tolerance(name):
    tag, stored, fresh, agree = CASES[name]
    assert (tolerances.settled(stored, fresh, tolerances.tolerance(["predict", tag])) == stored) is agree


@pytest.mark.parametrize("tags", [["about:5 %"], ["about:"], ["about:0.1", "about:10%"]])
def test_a_tag_that_states_no_tolerance_is_refused(tags):
    with pytest.raises(ValueError, match="a cell has one tag such as"):
        tolerances.tolerance(tags)


in_a_worker = pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" not in os.environ, reason="one test process alone may take all processors"
)


def test_what_is_slow():
    def item(path="tests/test_a.py", marker="", fixtures=()):
        return SimpleNamespace(path=Path(path), fixturenames=fixtures, get_closest_marker=lambda name: name == marker)

    assert not tiers.is_slow(item(fixtures=("seeded",)))
    for slow in (item(marker="slow"), item(marker="thorough"), item(fixtures=("seeded", "browser")), item("0.ipynb")):
        assert tiers.is_slow(slow)


def test_every_file_of_the_order_exists():
    paths = [*(ROOT / "tests").glob("test_*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert set(tiers.FIRST) <= {path.stem for path in paths} and len(set(tiers.FIRST)) == len(tiers.FIRST)


def test_the_processors_time_of_a_notebook_is_printed():
    plugin, lines = tiers.NotebookTimes(), []
    for cell, seconds in enumerate((40.0, 61.0)):
        taken = [("processor_seconds", seconds)]
        report = SimpleNamespace(when="call", nodeid=f"07.ipynb::Cell {cell}", user_properties=taken)
        plugin.pytest_runtest_logreport(report)
    plugin.pytest_terminal_summary(SimpleNamespace(write_line=lines.append))
    assert lines == ["07.ipynb: 101 s of a processor, 61 in one cell"]


# ---- threads


@in_a_worker
def test_every_library_computes_with_as_many_threads_as_are_asked_for_and_that_is_one():
    import numpy as np

    np.ones((300, 300)) @ np.ones((300, 300))
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    asked = {int(os.environ[name]) for name in names}
    assert asked == {1} or spread.is_asked_for(), "tests/portable.py asks for two"
    assert torch.get_num_threads() == int(os.environ["OMP_NUM_THREADS"])
    assert {pool["num_threads"] for pool in threadpool_info()} <= asked
