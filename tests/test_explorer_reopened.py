"""The attention explorer in a notebook of yesterday: its picture, and the words that say what to do; never an error."""

import json
import os

import nbformat
import pytest
from conftest import cases
from explored import SCREENSHOTS, watch
from lab import chromium, run_cell, running_lab, wait_for_kernel
from regenerate import regenerate

from vit_course.explorer.still import WORDS

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        chromium() is None and not os.environ.get("CI"),
        reason="no Chromium or Chrome on this machine: stored notebooks are tested, but not looked at in a browser",
    ),
]
CELLS = [
    "from vit_course import data, pretrained\nfrom vit_course.explorer import explore\n"
    "model, dataset = pretrained.load('shapes'), data.shapes()\n"
    "explorer = explore(model, dataset.test.images[3], preprocess=dataset.normalise)",
    "explorer",
    "print('after')",
]
EXPLORER, PICTURE, AGAIN = ".vit-explorer[data-ready]", ".jp-OutputArea-output img", ".vit-explorer-again"


def write(path, cells=CELLS):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reopened")
    write(folder / "mine.ipynb")
    write(folder / "stored.ipynb")
    regenerate(folder / "stored.ipynb")
    return folder


@pytest.fixture(scope="module")
def address(folder):
    with running_lab(f"--ServerApp.root_dir={folder}") as address:
        yield address


@pytest.fixture
def opened(browser, address):
    """Opens a notebook; -> the page."""
    pages = []

    def opened(name):
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        watch(page)
        pages.append(page)
        page.goto(f"{address}/lab/tree/{name}?reset")
        wait_for_kernel(page)
        return page

    yield opened
    for page in pages:
        assert page.errors == [] and page.outside == []
        if not page.is_closed():
            page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
            page.close()


def trusted(page):
    return page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[1].model.trusted")


def test_run_save_close_restart_reopen(opened, folder):
    page = opened("mine.ipynb")
    for index in range(3):
        run_cell(page, index)
    page.wait_for_selector(EXPLORER, timeout=30_000)
    page.wait_for_selector(PICTURE, state="hidden")
    assert not page.locator(AGAIN).is_visible(), "live, it needs no picture and no words"
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.model.dirty")
    page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    page.close()
    saved = json.loads((folder / "mine.ipynb").read_text())
    (picture, again, _) = (output["data"] for output in saved["cells"][1]["outputs"])
    assert "image/png" in picture and again["text/plain"] == [WORDS]

    page = opened("mine.ipynb")
    # JupyterLab has nothing to show of the widget, and says so where nobody sees it.
    page.wait_for_function("() => document.body.textContent.includes('Error displaying widget: model not found')")
    assert trusted(page), "it is one's own"
    still(page, "explorer-reopened.png")
    assert page.get_by_text("after", exact=True).is_visible(), "other outputs stay"
    for index in range(2):
        run_cell(page, index)
    page.wait_for_selector(EXPLORER, timeout=30_000)
    page.wait_for_selector(PICTURE, state="hidden")


def still(page, name):
    """The picture and the words, and no error."""
    picture = page.locator(PICTURE)
    page.wait_for_selector(PICTURE)
    assert picture.is_visible() and picture.evaluate("e => e.naturalWidth") > 600
    assert page.locator(AGAIN).is_visible() and page.locator(AGAIN).inner_text() == WORDS
    assert not any(one.is_visible() for one in page.get_by_text("Error").all())
    assert page.locator(EXPLORER).count() == 0
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / name)


@cases("name", ["stored.ipynb", "foreign.ipynb"])
def test_somebody_elses_notebook(opened, folder, name):
    """As it comes with the course, or as a friend has run and saved it; JupyterLab trusts neither."""
    if name == "foreign.ipynb":
        write(folder / name)
        page = opened(name)
        for index in range(2):
            run_cell(page, index)
        page.wait_for_selector(EXPLORER, timeout=30_000)
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.model.dirty")
        page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
        page.close()
        content = json.loads((folder / name).read_text())
        content["cells"][0]["source"] = ["# written by somebody else\n", *content["cells"][0]["source"]]
        (folder / name).write_text(json.dumps(content))
    page = opened(name)
    page.wait_for_selector(PICTURE)
    assert not trusted(page)
    still(page, f"explorer-{name.removesuffix('.ipynb')}.png")
