"""The button for the reader's own picture in a real JupyterLab, in a real browser."""

import io
import json
import os

import nbformat
import numpy as np
import pytest
from accessible import violations
from conftest import ROOT, cases
from lab import chromium, note_outside, run_cell, running_lab, wait_for_kernel
from PIL import Image
from regenerate import regenerate

pytestmark = pytest.mark.skipif(
    chromium() is None and not os.environ.get("CI"),
    reason="no Chromium or Chrome on this machine: the upload button is tested, but not looked at in a browser",
)
SCREENSHOTS = ROOT / "screenshots"
CELLS = [
    "import numpy as np\nfrom PIL import Image\nfrom vit_course import pretrained\n"
    "from vit_course.explorer import upload\nmine = upload(pretrained.load('shapes'))",
    "display(Image.new('RGB', (90, 20)))\nmine",
    "print((255 * mine.explorer._shown[0].picture[::31, ::31].mean(axis=2)).round().tolist())",
]
FIELD, EXPLORER = ".jp-OutputArea .vit-upload", ".jp-OutputArea .vit-explorer[data-ready]"


@pytest.fixture(scope="module")
def notebook(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("upload")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "upload.ipynb")
    notebook.cells.pop()  # which needs a picture
    nbformat.write(notebook, folder / "stored.ipynb")
    regenerate(folder / "stored.ipynb")
    with running_lab(f"--ServerApp.root_dir={folder}") as address:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        note_outside(page)
        page.errors, page.closed, page.address = [], [], address
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("websocket", lambda socket: socket.on("close", lambda _: page.closed.append(socket.url)))
        page.goto(f"{address}/lab/tree/upload.ipynb?reset")
        wait_for_kernel(page)
        for index in range(2):
            run_cell(page, index)
        page.wait_for_selector(f"{FIELD}[data-ready]", timeout=30_000)
        yield page
        page.close()


def sideways(height=600, width=800, noise=1, **options) -> bytes:
    """A photograph, white above and black below once it is upright, as a camera held sideways stores it."""
    stored = np.random.RandomState(0).randint(0, noise, (height, width, 3), dtype=np.uint8)
    stored[:, : width // 2] = 255 - stored[:, : width // 2]
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    buffer = io.BytesIO()
    Image.fromarray(stored).save(buffer, format="JPEG", exif=exif, **options)
    return buffer.getvalue()


def choose(page, name: str, content: bytes) -> None:
    page.get_by_label("A picture of your own").set_input_files(
        {"name": name, "mimeType": "image/jpeg", "buffer": content}
    )


def hears(page, words: str) -> str:
    """Waits until the line says `words`, and returns the whole of it."""
    line = page.locator(f"{FIELD} .vit-upload-words")
    page.wait_for_function("([e, words]) => e.textContent.includes(words)", arg=[line.element_handle(), words])
    return line.inner_text()


def upright(page) -> bool:
    """Whether the picture in the explorer, as the kernel has it, is white above and black below."""
    (output,) = run_cell(page, 2)
    (above, right), (below, _) = json.loads(output["text"])
    return min(above, right) > 240 and below < 15


def test_a_photograph_is_explored(notebook):
    choose(notebook, "beach.jpg", sideways())
    assert (
        hears(notebook, "Below:")
        == "Below: beach.jpg, upright and cropped at its centre, at 32 x 32 pixels, not normalised."
    )
    notebook.wait_for_selector(EXPLORER)
    assert upright(notebook)
    notebook.locator(".vit-main").scroll_into_view_if_needed()
    box = notebook.locator(".vit-main").bounding_box()
    notebook.mouse.move(box["x"] + 3.5 / 8 * box["width"], box["y"] + 2.5 / 8 * box["height"])
    notebook.wait_for_function(
        "() => document.querySelector('.vit-words').textContent.includes('row 2, column 3 looks')"
    )
    choose(notebook, "hill.jpg", sideways())
    hears(notebook, "hill.jpg, upright")
    notebook.wait_for_selector(EXPLORER)
    assert notebook.locator(".vit-explorer").count() == 1, "the second takes the first one's place"
    assert notebook.locator(".jp-OutputArea-output img").is_visible(), "another output of the cell stays"
    assert notebook.outside == [] and notebook.errors == [] and notebook.closed == []


@pytest.mark.thorough
def test_a_large_photograph_is_made_smaller_and_the_connection_holds(notebook):
    content = sideways(3000, 4000, noise=14, quality=99, subsampling=0)
    assert len(content) > 10 * 2**20, "more than Jupyter's connection takes"
    choose(notebook, "phone.jpg", content)
    words = hears(notebook, "Below: phone.jpg")
    assert "your browser made it smaller, from 3000 x 4000 to 1536 x 2048 pixels." in words
    notebook.wait_for_selector(EXPLORER)
    assert upright(notebook) and notebook.closed == []


@cases(
    ("name", "content", "words"),
    [
        ("damaged.jpg", sideways()[:2000], "damaged.jpg is no readable image: image file is truncated"),
        ("heavy.raw", bytes(9_000_000), "heavy.raw has 9.0 MB: at most 8.0 MB can be sent, and this browser could not"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(notebook, name, content, words):
    choose(notebook, "beach.jpg", sideways())
    notebook.wait_for_selector(EXPLORER)
    choose(notebook, name, content)
    assert "Please choose another picture" in hears(notebook, words)
    notebook.wait_for_selector(EXPLORER, state="detached")
    choose(notebook, "beach.jpg", sideways())
    hears(notebook, "Below: beach.jpg")
    notebook.wait_for_selector(EXPLORER)
    assert notebook.closed == [] and notebook.errors == []


def test_a_picture_can_be_dropped(notebook):
    choose(notebook, "damaged.jpg", b"")
    hears(notebook, "it is empty")
    notebook.locator(FIELD).evaluate(
        """(field, content) => {
            const dropped = new DataTransfer();
            dropped.items.add(new File([Uint8Array.from(content)], "dropped.jpg"));
            for (const kind of ["dragover", "drop"])
                field.dispatchEvent(new DragEvent(kind, { dataTransfer: dropped, bubbles: true, cancelable: true }));
        }""",
        list(sideways(60, 80)),
    )
    hears(notebook, "Below: dropped.jpg")
    notebook.wait_for_selector(EXPLORER)


@cases("key", ["Enter", "Space"])
def test_a_key_opens_the_field_and_leaves_the_notebook_alone(notebook, key):
    kinds = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(w => w.model.type)"
    before = notebook.evaluate(kinds)
    field = notebook.get_by_label("A picture of your own")
    # Each on the field itself: what the earlier test has drawn may still take the focus on a busy machine.
    for other in ("a", "y", "d", "d"):
        field.press(other)
    with notebook.expect_file_chooser() as chooser:
        field.press(key)
    chooser.value.set_files({"name": "keys.jpg", "mimeType": "image/jpeg", "buffer": sideways()})
    hears(notebook, "Below: keys.jpg")
    assert notebook.evaluate(kinds) == before
    assert notebook.evaluate("() => window.jupyterapp.shell.currentWidget.content.mode") == "command"


@cases("width", [1280, 480])
@cases("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_accessible_at_every_width_and_in_both_themes(notebook, width, theme):
    notebook.set_viewport_size({"width": width, "height": 1000})
    if width < 600 and notebook.locator(".jp-FileBrowser").is_visible():
        notebook.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    notebook.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", theme)
    light = str(theme.endswith("Light")).lower()
    notebook.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
    notebook.locator(FIELD).scroll_into_view_if_needed()
    assert violations(notebook, ".jp-OutputArea .widget-vbox") == []
    assert notebook.locator(FIELD).evaluate("e => e.scrollWidth <= e.clientWidth + 1"), "wider than its place"
    SCREENSHOTS.mkdir(exist_ok=True)
    notebook.locator(".jp-OutputArea .widget-vbox").first.screenshot(path=SCREENSHOTS / f"upload-{width}-{light}.png")


@pytest.mark.thorough
def test_stored_it_is_a_sentence_and_no_error(notebook, browser):
    page = browser.new_page()
    page.goto(f"{notebook.address}/lab/tree/stored.ipynb?reset")
    page.wait_for_selector(".jp-OutputArea-output")
    page.wait_for_timeout(2000)
    _picture, button = page.locator(".jp-OutputArea-output").all_inner_texts()
    assert button == "A button for a picture of your own: run this cell to use it."
    page.close()
