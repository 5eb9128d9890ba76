"""The attention explorer in a real JupyterLab, in a real browser."""

import nbformat
import pytest
from accessible import violations
from conftest import cases
from explored import NEEDS_CHROMIUM, SCREENSHOTS, drawn, patch, point, watch, words
from lab import run_cell, running_lab, wait_for_kernel
from playwright.sync_api import Page

pytestmark = NEEDS_CHROMIUM
CELLS = [
    "from vit_course import data, pretrained\nfrom vit_course.explorer import explore\n"
    "model, dataset = pretrained.load('shapes'), data.shapes()\n"
    "explorer = explore(model, dataset.test.images[3], preprocess=dataset.normalise)",
    "explorer",
    "print(explorer.layer, explorer.head, explorer.query, explorer.fusion, explorer.pinned)",
    "explorer.layer, explorer.fusion, explorer.query = 2, 'mean', 10",
]
WIDGET = ".jp-OutputArea .vit-explorer"
SIDE = 8  # patches


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "explorer.ipynb")
    return folder


@pytest.fixture(scope="module")
def notebook(browser, folder):
    """A page with the notebook, run; `page.outside` and `page.frames_sent` count what leaves it."""
    with running_lab(f"--ServerApp.root_dir={folder}") as address:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        watch(page)
        page.goto(f"{address}/lab/tree/explorer.ipynb?reset")
        wait_for_kernel(page)
        page.address = address
        for index in range(2):
            run_cell(page, index)
        page.wait_for_selector(f"{WIDGET}[data-ready]", timeout=30_000)
        yield page
        page.close()


def python_sees(page: Page, expected: str) -> bool:
    """Whether the kernel's explorer has this state; changes reach it one after the other, as it answers them."""
    for _ in range(20):
        if (seen := "".join(output["text"] for output in run_cell(page, 2)).strip()) == expected:
            return True
        page.wait_for_timeout(100)
    print("Python sees", seen)
    return False


def test_hovering_redraws_and_sends_nothing_to_the_kernel(notebook):
    notebook.locator(".vit-main").scroll_into_view_if_needed()
    point(notebook, 2, 3, SIDE, SIDE)
    first, sent = notebook.locator(".vit-main").screenshot(), notebook.frames_sent
    for row, column in ((2, 4), (5, 5), (7, 0), (0, 7)):
        point(notebook, row, column, SIDE, SIDE)
        assert f"the patch in row {row}, column {column} looks most at" in words(notebook)
    assert notebook.locator(".vit-main").screenshot() != first
    notebook.wait_for_timeout(300)  # a message would take its time
    assert notebook.frames_sent == sent, "the kernel was asked"
    assert not notebook.locator(".jp-OutputArea-output img").is_visible(), "the picture gives way to the live explorer"
    assert not notebook.locator(".vit-explorer-again").is_visible(), "and so do its words"
    assert notebook.outside == [] and notebook.errors == []


def test_click_pins_and_python_knows(notebook):
    notebook.mouse.click(*patch(notebook, 3, 6, SIDE, SIDE))
    drawn(notebook)
    assert words(notebook).startswith("Pinned: in layer 3, head 0, the patch in row 3, column 6 looks")
    assert python_sees(notebook, f"3 0 {1 + 3 * SIDE + 6} head True")
    notebook.locator(".vit-main").focus()
    notebook.keyboard.press("Escape")
    assert python_sees(notebook, f"3 0 {1 + 3 * SIDE + 6} head False")


def test_keys_move_and_leave_the_notebook_alone(notebook):
    kinds = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(w => w.model.type)"
    before = notebook.evaluate(kinds)
    notebook.mouse.move(2, 2)
    notebook.locator(".vit-main").focus()
    for key in ("c", "ArrowDown", "ArrowDown", "ArrowRight", "l", "h", "h", "H", "m", "Enter"):
        notebook.keyboard.press(key)
    drawn(notebook)
    # From the class token the first arrow goes to the first patch.
    assert words(notebook).startswith("Pinned: in the mean of the heads of layer 0, the patch in row 1, column 1 looks")
    # Keys that JupyterLab would take for itself: a new cell, another cell type, delete, find.
    for focused in (".vit-main", ".vit-cells", ".vit-strip-overlay input:checked"):
        notebook.locator(focused).focus()
        for key in ("a", "b", "y", "x", "z", "f", "0"):
            notebook.keyboard.press(key)
    notebook.keyboard.press("Escape")
    assert notebook.evaluate(kinds) == before
    assert python_sees(notebook, "0 1 10 mean False")


def test_ctrl_s_still_saves(notebook, folder):
    notebook.locator(".vit-main").focus()
    notebook.keyboard.press("l")
    before = (folder / "explorer.ipynb").stat().st_mtime_ns
    notebook.keyboard.press("Control+s")
    for _ in range(50):
        notebook.wait_for_timeout(100)
        if (folder / "explorer.ipynb").stat().st_mtime_ns != before:
            break
    assert (folder / "explorer.ipynb").stat().st_mtime_ns != before
    notebook.keyboard.press("b")
    assert notebook.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == len(CELLS)


def test_python_sets_the_state(notebook):
    run_cell(notebook, 3)
    said = "document.querySelector('.vit-words').textContent"
    notebook.wait_for_function(f"() => {said}.includes('the heads of layer 2, the patch in row 1, column 1 looks')")


@cases("width", [1280, 480])
@cases("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_accessible_at_every_width_and_in_both_themes(notebook, width, theme):
    notebook.set_viewport_size({"width": width, "height": 1000})
    if width < 600 and notebook.locator(".jp-FileBrowser").is_visible():
        notebook.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    notebook.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", theme)
    light = theme.endswith("Light")
    notebook.wait_for_selector(f"body[data-jp-theme-light='{str(light).lower()}']", state="attached")
    paper = "getComputedStyle(document.querySelector('.vit-explorer')).backgroundColor"
    notebook.wait_for_function(f"light => {paper}.match(/\\d+/g).every(part => light === part > 128)", arg=light)
    notebook.locator(WIDGET).scroll_into_view_if_needed()
    assert violations(notebook, WIDGET) == []
    inside = notebook.locator(WIDGET).evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    assert inside, "wider than its place"
    SCREENSHOTS.mkdir(exist_ok=True)
    notebook.locator(WIDGET).screenshot(path=SCREENSHOTS / f"explorer-lab-{width}-{str(light).lower()}.png")


@pytest.mark.thorough
def test_reopened_without_a_kernel_there_is_a_picture_and_no_error(notebook, browser):
    notebook.set_viewport_size({"width": 1280, "height": 1000})
    notebook.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    notebook.wait_for_timeout(1000)
    page = browser.new_page()
    watch(page)
    notebook.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    page.goto(f"{notebook.address}/lab/tree/explorer.ipynb?reset")
    page.wait_for_selector(".vit-explorer-again")
    page.wait_for_timeout(3000)  # for an error to come
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "explorer-reopened.png")
    picture = page.locator(".jp-OutputArea-output img")
    assert picture.is_visible() and picture.evaluate("e => e.naturalWidth") > 100
    assert page.locator(".vit-explorer-again").is_visible()
    assert not page.get_by_text("Error displaying widget").is_visible()
    page.close()
