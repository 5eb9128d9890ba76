"""The explorer and the button for one's own picture in a real JupyterLab, in a real browser, live and reopened."""

import json

import pytest
from conftest import thoroughly
from explored import FIELD, NEEDS_CHROMIUM, SCREENSHOTS, drawn, hears, patch, point, says, violations, watch, words
from lab import run_cell, running_lab, until, wait_for_kernel, write_notebook
from pictures import sideways
from regenerate import regenerate

pytestmark = NEEDS_CHROMIUM
EXPLORER = [
    "from vit_course import data, pretrained\nfrom vit_course.explorer import explore\n"
    "model, dataset = pretrained.load('shapes'), data.shapes()\n"
    "explorer = explore(model, dataset.test.images[3], preprocess=dataset.normalise, head=0)",
    "explorer",
    "print(explorer.layer, explorer.head, explorer.query, explorer.fusion, explorer.pinned)",
    "explorer.layer, explorer.fusion, explorer.query = 2, 'mean', 10",
]
UPLOAD = [
    "import numpy as np\nfrom PIL import Image\nfrom vit_course import pretrained\n"
    "from vit_course.explorer import upload\nmine = upload(pretrained.load('shapes'))",
    "display(Image.new('RGB', (90, 20)))\nmine",
    "print((255 * mine.explorer._shown[0].picture[::31, ::31].mean(axis=2)).round().tolist())",
]
TEXT = "\n\n".join(["Words of a chapter. " * 30] * 12)
WIDGET, READY = ".jp-OutputArea .vit-explorer", ".jp-OutputArea .vit-explorer[data-ready]"
SIDE = 8  # patches
KINDS = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(w => w.model.type)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    stored, between = [*EXPLORER[:2], *UPLOAD[:2]], [TEXT, "\n".join(EXPLORER[:2]), TEXT]
    for name, sources in dict(explorer=EXPLORER, upload=UPLOAD, stored=stored, between=between).items():
        write_notebook(folder / f"{name}.ipynb", sources, TEXT)
    return folder


@pytest.fixture(scope="module")
def opened(browser, folder):
    """Opens a notebook, and runs its first two cells; `page.outside` and `page.frames_sent` count what leaves it."""
    with running_lab(f"--ServerApp.root_dir={folder}") as address:

        def opened(name: str, run: bool = True):
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            watch(page)
            page.closed = []
            page.on("websocket", lambda socket: socket.on("close", lambda _: page.closed.append(socket.url)))
            page.goto(f"{address}/lab/tree/{name}.ipynb?reset")
            wait_for_kernel(page)
            for index in range(2 if run else 0):
                run_cell(page, index)
            return page

        yield opened


@pytest.fixture(scope="module")
def notebook(opened):
    page = opened("explorer")
    page.wait_for_selector(READY)
    yield page
    page.close()


@pytest.mark.thorough
def test_its_top_is_in_view_after_shift_and_enter(opened):
    page = opened("between", run=False)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    page.locator(".jp-Notebook").focus()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(READY)
    box = "document.querySelector('.jp-OutputArea .vit-explorer').getBoundingClientRect()"
    page.wait_for_function(f"() => {box}.top > 60 && {box}.top < 200")
    assert page.evaluate(f"() => {box}.height") < 900
    assert not page.locator(".vit-why").is_visible(), "what is for later is folded"
    page.close()


@pytest.fixture(scope="module")
def mine(opened):
    page = opened("upload")
    page.wait_for_selector(f"{FIELD}[data-ready]")
    yield page
    page.close()


def python_sees(page, expected: str) -> None:
    """Waits until the kernel's explorer has this state: changes reach it one after the other, as it answers them."""
    until(lambda: "".join(output["text"] for output in run_cell(page, 2)).strip() == expected, page)


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
    python_sees(notebook, f"3 0 {1 + 3 * SIDE + 6} head True")
    notebook.locator(".vit-main").focus()
    notebook.keyboard.press("Escape")
    python_sees(notebook, "3 0 0 head False"), "back to the class token"


def test_keys_move_and_leave_the_notebook_alone(notebook):
    before = notebook.evaluate(KINDS)
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
    assert notebook.evaluate(KINDS) == before
    python_sees(notebook, "0 1 10 mean False")


def test_ctrl_s_still_saves(notebook, folder):
    notebook.locator(".vit-main").focus()
    notebook.keyboard.press("l")
    before = (folder / "explorer.ipynb").stat().st_mtime_ns
    notebook.keyboard.press("Control+s")
    until(lambda: (folder / "explorer.ipynb").stat().st_mtime_ns != before, notebook)
    notebook.keyboard.press("b")
    assert notebook.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == len(EXPLORER)


def test_python_sets_the_state(notebook):
    run_cell(notebook, 3)
    says(notebook, "the heads of layer 2, the patch in row 1, column 1 looks")


def test_the_picture_that_a_notebook_keeps_follows_what_was_left(notebook):
    picture = "document.querySelector('.jp-OutputArea-child img')"
    before = notebook.evaluate(f"{picture}.src")
    notebook.locator(f"{WIDGET} .vit-cells").click(position={"x": 20, "y": 20})
    notebook.wait_for_function(f"before => {picture}.src !== before", arg=before)
    assert notebook.locator(".jp-OutputArea-child img").first.is_hidden(), "it stands in for the live one, elsewhere"
    kept = "window.jupyterapp.shell.currentWidget.content.widgets[1].model.outputs.get(0).toJSON().data['image/png']"
    assert notebook.evaluate(f"{picture}.src").endswith("".join(notebook.evaluate(kept)).strip())


def choose(page, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "image/jpeg", "buffer": content}
    page.get_by_label("A picture of your own").set_input_files(file)


def upright(page) -> bool:
    """Whether the picture in the explorer, as the kernel has it, is white above and black below."""
    (output,) = run_cell(page, 2)
    (above, right), (below, _) = json.loads(output["text"])
    return min(above, right) > 240 and below < 15


def test_a_photograph_is_explored(mine):
    choose(mine, "beach.jpg", sideways())
    wanted = "Below: beach.jpg, upright and cropped at its centre, at 32 x 32 pixels, not normalised."
    assert hears(mine, "Below:") == wanted
    mine.wait_for_selector(READY)
    assert upright(mine)
    mine.locator(".vit-main").scroll_into_view_if_needed()
    point(mine, 2, 3, SIDE, SIDE)
    choose(mine, "hill.jpg", sideways())
    hears(mine, "hill.jpg, upright")
    mine.wait_for_selector(READY)
    assert mine.locator(".vit-explorer").count() == 1, "the second takes the first one's place"
    assert mine.locator(".jp-OutputArea-output img").is_visible(), "another output of the cell stays"
    assert mine.outside == [] and mine.errors == [] and mine.closed == []


@pytest.mark.thorough
def test_a_large_photograph_is_made_smaller_and_the_connection_holds(mine):
    content = sideways(3000, 4000, noise=14, quality=99, subsampling=0)
    assert len(content) > 10 * 2**20, "more than Jupyter's connection takes"
    choose(mine, "phone.jpg", content)
    words = hears(mine, "Below: phone.jpg")
    assert "your browser made it smaller, from 3000 x 4000 to 1536 x 2048 pixels." in words
    mine.wait_for_selector(READY)
    assert upright(mine) and mine.closed == []


@pytest.mark.thorough
def test_what_is_too_large_is_refused_in_words_and_a_picture_can_be_dropped(mine):
    choose(mine, "heavy.raw", bytes(9_000_000))
    words = hears(mine, "heavy.raw has 9.0 MB: at most 8.0 MB can be sent, and this browser could not")
    assert "Please choose another picture" in words
    mine.wait_for_selector(READY, state="detached")
    mine.locator(FIELD).evaluate(
        """(field, content) => {
            const dropped = new DataTransfer();
            dropped.items.add(new File([Uint8Array.from(content)], "dropped.jpg"));
            for (const kind of ["dragover", "drop"])
                field.dispatchEvent(new DragEvent(kind, { dataTransfer: dropped, bubbles: true, cancelable: true }));
        }""",
        list(sideways(60, 80)),
    )
    hears(mine, "Below: dropped.jpg")
    mine.wait_for_selector(READY)
    assert mine.closed == [] and mine.errors == []


def test_a_key_opens_the_field_and_leaves_the_notebook_alone(mine):
    before = mine.evaluate(KINDS)
    field = mine.get_by_label("A picture of your own")
    # Each on the field itself: what the earlier test has drawn may still take the focus on a busy machine.
    for other in ("a", "y", "d", "d"):
        field.press(other)
    with mine.expect_file_chooser() as chooser:
        field.press("Enter")
    chooser.value.set_files({"name": "keys.jpg", "mimeType": "image/jpeg", "buffer": sideways()})
    hears(mine, "Below: keys.jpg")
    assert mine.evaluate(KINDS) == before
    assert mine.evaluate("() => window.jupyterapp.shell.currentWidget.content.mode") == "command"


@pytest.mark.parametrize("width", [480, *thoroughly(1280)])
@pytest.mark.parametrize("theme", ["JupyterLab Dark", *thoroughly("JupyterLab Light")])
@pytest.mark.parametrize("which", ["notebook", "mine"])
def test_accessible_at_every_width_and_in_both_themes(notebook, mine, which, width, theme):
    page, place = (notebook, WIDGET) if which == "notebook" else (mine, ".jp-OutputArea .widget-vbox")
    page.set_viewport_size({"width": width, "height": 1000})
    if width < 600 and page.locator(".jp-FileBrowser").is_visible():
        page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", theme)
    light = theme.endswith("Light")
    page.wait_for_selector(f"body[data-jp-theme-light='{str(light).lower()}']", state="attached")
    if which == "notebook":
        paper = "getComputedStyle(document.querySelector('.vit-explorer')).backgroundColor"
        page.wait_for_function(f"light => {paper}.match(/\\d+/g).every(part => light === part > 128)", arg=light)
    part = page.locator(place).first
    part.scroll_into_view_if_needed()
    assert violations(page, place) == []
    assert part.evaluate("e => e.scrollWidth <= e.clientWidth + 1"), "wider than its place"
    SCREENSHOTS.mkdir(exist_ok=True)
    part.screenshot(path=SCREENSHOTS / f"explorer-lab-{which}-{width}-{str(light).lower()}.png")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["explorer", "stored"])
def test_reopened_there_is_a_picture_and_words_and_no_error(opened, notebook, mine, folder, name):
    """One's own notebook of yesterday, and one that comes with the course, which JupyterLab does not trust."""
    if name == "explorer":
        notebook.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        notebook.wait_for_function("() => !window.jupyterapp.shell.currentWidget.model.dirty")
        notebook.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    else:
        regenerate(folder / "stored.ipynb")
    page = opened(name, run=False)
    picture, again = page.locator(".jp-OutputArea-output img").first, page.locator(".vit-explorer-again")
    page.wait_for_selector(".vit-explorer-again")
    if name == "explorer":  # JupyterLab has nothing to show of the widget, and says so where nobody sees it
        page.wait_for_function("() => document.body.textContent.includes('Error displaying widget: model not found')")
    else:
        assert not page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[1].model.trusted")
        button = page.locator(".jp-OutputArea-output").all_inner_texts()[-1]
        assert button == "A button for a picture of your own: run this cell to use it."
    assert picture.is_visible() and picture.evaluate("e => e.naturalWidth") > 600
    assert again.inner_text() == "The picture above is still: run this cell for the live explorer."
    assert not any(one.is_visible() for one in page.get_by_text("Error").all())
    assert page.locator(READY).count() == 0
    page.screenshot(path=SCREENSHOTS / f"explorer-reopened-{name}.png")
    for index in range(2):
        run_cell(page, index)
    page.wait_for_selector(READY)
    picture.wait_for(state="hidden")
    assert page.errors == [] and page.outside == []
    page.close()
