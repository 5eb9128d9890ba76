"""Every notebook, opened and run in a real JupyterLab in a real browser. Screenshots are kept in screenshots/."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import nbformat
import pytest
from conftest import ROOT
from lab import chromium, note_outside, run_cell, running_lab, wait_for_kernel
from playwright.sync_api import Browser, Page, TimeoutError

from vit_course import classroom

NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
SCREENSHOTS = ROOT / "screenshots"

# In CI a missing browser is a failure; a learner's machine may have none.
pytestmark = pytest.mark.skipif(
    chromium() is None and not os.environ.get("CI"),
    reason="no Chromium or Chrome on this machine: the notebooks are tested by nbval, but not looked at in a browser",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "res"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    with running_lab(f"--ServerApp.root_dir={folder}") as url:
        yield url


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """A page that notes in `outside` what it asks of other machines; its kernels end with it."""
    page = browser.new_page(viewport={"width": 1200, "height": 1800})
    note_outside(page)
    try:
        yield page
    finally:
        page.evaluate("() => window.jupyterapp?.serviceManager.sessions.shutdownAll()")
        page.close()


CELLS = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    return notebook.widgets.filter(w => w.model.type === 'code').map(w => ({
        count: w.model.executionCount,
        outputs: w.model.sharedModel.toJSON().outputs,
    }));
}"""


def open_notebook(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/lab/tree/notebooks/{name}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    wait_for_kernel(page)


def kinds(cell: dict) -> list[str]:
    """The kinds of a cell's outputs in order; text in several pieces counts once."""
    return [kind for kind, _ in groupby(output["output_type"] for output in cell["outputs"])]


def screenshots(page: Page, stem: str) -> None:
    """The notebook from top to end, a window at a time."""
    SCREENSHOTS.mkdir(exist_ok=True)
    for old in SCREENSHOTS.glob(f"{stem}-*.png"):
        old.unlink()
    scroller = page.locator(".jp-WindowedPanel-outer").first
    # After a run JupyterLab keeps the last cell, the active one, in view.
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0 }")
    page.wait_for_timeout(1000)
    scroller.evaluate("e => { e.scrollTop = 0 }")
    for part in range(60):
        page.wait_for_timeout(300)
        scroller.screenshot(path=SCREENSHOTS / f"{stem}-{part:02d}.png")
        moved = scroller.evaluate(
            "e => { const y = e.scrollTop; e.scrollTop += e.clientHeight - 60; return e.scrollTop - y }"
        )
        if moved < 5:
            break


def run_all(page: Page, address: str, name: str) -> None:
    """Opens a notebook, clears its outputs and runs it by the menu, until every cell is done."""
    open_notebook(page, address, name)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    assert all(cell["count"] is None for cell in page.evaluate(CELLS))
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    done, cells = 0, len(page.evaluate(CELLS))
    try:
        # A slow machine may take its time, as long as one cell more is done every five minutes.
        while done < cells:
            page.wait_for_function(
                f"done => ({CELLS})().filter(cell => cell.count).length > done", arg=done, timeout=300_000
            )
            state = page.evaluate(CELLS)
            # JupyterLab runs nothing after an error: waiting longer would only hide what it says.
            assert not [o for cell in state for o in cell["outputs"] if o["output_type"] == "error"]
            done = sum(cell["count"] is not None for cell in state)
        page.wait_for_function(
            "() => document.querySelector('.jp-Notebook-ExecutionIndicator').dataset.status === 'idle'", timeout=300_000
        )
    except TimeoutError:
        SCREENSHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"stuck-{name}.png")
        print(f"{name} is stuck; counts {[cell['count'] for cell in page.evaluate(CELLS)]}")
        raise
    assert [cell["count"] for cell in page.evaluate(CELLS)] == list(range(1, cells + 1))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs_in_jupyterlab_without_error(name, address, browser):
    # A kernel that does not come up in time says nothing about the notebook: one more try, on a new page.
    for attempt in (1, 2):
        with new_page(browser) as page:
            try:
                run_all(page, address, name)
            except TimeoutError:
                if attempt == 1:
                    continue
                raise
            compare_and_look(page, name)
            return


def compare_and_look(page: Page, name: str) -> None:
    """The outputs are of the stored kinds, none is an error, every picture loads, nothing came from outside."""
    stored = nbformat.read(ROOT / "notebooks" / name, as_version=4).cells
    for before, after in zip([cell for cell in stored if cell.cell_type == "code"], page.evaluate(CELLS), strict=True):
        assert kinds(after) == kinds(before)
        assert not [o for o in after["outputs"] if o["output_type"] == "error" or o.get("name") == "stderr"]
    screenshots(page, name.removesuffix(".ipynb"))
    broken = page.evaluate(
        "() => [...document.querySelectorAll('.jp-Notebook img')]"
        ".filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    )
    assert broken == [], "a picture that does not load"
    assert page.outside == [], "the page asked for something beyond this machine"


def test_verdicts_are_panels_in_a_section_that_runs_by_itself(address, browser):
    name = "04_attention.ipynb"
    notebook = classroom.load(ROOT / "notebooks" / name)
    exercise = classroom.exercises_of(notebook)[0]
    section = next(index for index, cell in enumerate(notebook.cells) if cell.source.startswith("## Exercises"))

    def write(page: Page, source: str) -> str:
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
    with new_page(browser) as page:
        open_notebook(page, address, name)
        write(page, "import os\n\nos.environ.pop('VIT_COURSE_PANELS')")  # the tests' own: a learner has no such thing
        run_cell(page, section + 1)
        outputs = write(page, wrong)
        assert "[softmax-over-queries]" in outputs
        panel = page.locator(".jp-OutputArea [role=status]")
        panel.wait_for()
        assert "Not yet" in panel.inner_text() and "4.1 Weights with a mask" in panel.inner_text()
        picture = panel.locator("img")
        picture.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('[role=status] img').naturalWidth > 300")
        for theme in ("Light", "Dark"):
            page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
                          f"JupyterLab {theme}")  # fmt: skip
            page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=f"JupyterLab {theme}")
            page.screenshot(path=SCREENSHOTS / f"exercise-wrong-{theme.lower()}.png")
        outputs = write(page, wrong.replace("return", "return ("))
        assert "The cell that defines weights ended in an error" in outputs and "cell-failed" in outputs
        outputs = write(page, exercise.solution)
        assert "attention.weights: passed." in outputs and "data:image/png" not in outputs
        assert panel.inner_text().startswith("Passed")
        # What is folded is closed until somebody opens it.
        hint = page.locator(".jp-RenderedMarkdown details", has_text="Write down the shapes").first
        hint.scroll_into_view_if_needed()
        assert hint.evaluate("e => e.open") is False
        hint.locator("summary").click()
        assert hint.evaluate("e => e.open") is True
        page.screenshot(path=SCREENSHOTS / "exercise-hint.png")
