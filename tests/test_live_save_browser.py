"""The live page's own square of a photograph, and the page that it saves: beside PyTorch and beside `save_html`."""

import base64
import io
import json
import re
import shutil

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM, drawn, violations
from live_page import compare, give, question, take, visit, wait_shown
from PIL import Image
from sent import decoded, layer_of
from served import served

from vit_course import data, pretrained
from vit_course.explorer import AttentionExplorer

pytestmark = [NEEDS_CHROMIUM, pytest.mark.thorough]
PARTS = re.compile(r'(.*class="vit-explorer-state">)(.*?)(</script>.*class="vit-explorer-data">)([^<]*)(.*)', re.DOTALL)
CANVAS = ".live-square canvas"


@pytest.fixture(scope="module")
def opened(browser, live_folder):
    """A function that opens the live page with what follows its address."""
    with served(live_folder) as server, browser.new_context(service_workers="block") as context:
        yield lambda search: visit(context, f"{server.address}/{search}")


def saved(page, button: str):
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return shutil.copy(download.value.path(), download.value.path().with_name(download.value.suggested_filename))


def parts(path) -> tuple[str, dict, bytes]:
    """A saved page without state and data, its state, and its data as an explorer has them."""
    head, state, between, characters, end = PARTS.fullmatch(path.read_text(encoding="utf-8")).groups()
    return head + between + end, json.loads(state), base64.b64decode(characters)


def seen(page) -> tuple[list, np.ndarray]:
    page.click(".vit-tools summary")
    page.wait_for_selector(".vit-table td")  # filled once the browser says that it is open
    drawn(page)
    words = [re.sub("[0-9.]+.%", "%", page.inner_text(name)) for name in (".vit-lead", ".vit-words", ".vit-about")]
    checked = page.locator(".vit-explorer input:checked").evaluate_all("all => all.map((one) => one.value)")
    return [*words, *checked], np.array(page.locator(".vit-table td").all_text_contents(), float)


def test_the_saved_page_is_that_of_save_html_and_shows_what_was_left(opened, browser, tmp_path):
    page = opened("?photograph=coffee&square=100-20-75#layer=9&head=2&query=77&pinned=1&overlay=heat&details=1")
    wait_shown(page, "vit-s14")
    (before, those), credit, file = seen(page), page.inner_text(".live-credit"), saved(page, "Save as page")
    around, state, kept = parts(file)
    (panel,) = state["_panels"]
    whole, picture = (Image.open(io.BytesIO(decoded(kept, panel["sections"][i]))) for i in (1, 0))
    assert whole.size == (600, 400) and picture.width > panel["width"] == 224 and file.name == "attention-coffee.html"
    # The same from Python, of the same numbers.
    explorer = AttentionExplorer(
        tuple(np.stack(take(page, name)) for name in ("queries", "keys")), picture.resize((224, 224)),
        titles=[credit], grid=(16, 16), prefix=["class token"], features=take(page, "features")[0].copy(),
        says=page.evaluate("window.answer.panel.says"), whole=(whole, tuple(panel["kept"])),
    )  # fmt: skip
    for name in set(state) - {"_panels", "_name"}:
        setattr(explorer, name, state[name])
    explorer.save_html(tmp_path / "python.html", title=re.search("<h1>(.*)</h1>", around)[1])
    same, wanted, content = parts(tmp_path / "python.html")
    described = wanted["_panels"][0]
    assert same == around and described["telling"] is not None
    assert panel.pop("had_model") and not described.pop("had_model"), "the page's worker can change its model"
    assert panel.pop("at") == pytest.approx([0.05, 0.5], abs=1e-3)  # of a square that was moved: Python has none
    rows = layer_of({"_panels": [panel], "_data": kept}, 9).sum(axis=-1)
    np.testing.assert_allclose(rows, 1, atol=1e-4, err_msg="of the numbers as they are stored")
    for one, other in zip(panel["sections"], described["sections"], strict=True):
        if one["coding"] != "file":
            found, expected = decoded(kept, one), decoded(content, other)
            # A half is rounded up in the browser and to even in NumPy, which the sums of a row show.
            atol = 1 if one["coding"] == "planes" else (2e-5 if one["name"] == "lse" else 5e-6) * np.abs(expected).max()
            np.testing.assert_allclose(found, expected, atol=atol, rtol=0, err_msg=one["name"])
        for each in (one, other):  # what zlib and the browser squeeze differently
            each.update(at=0, bytes=0, high=0)
    assert state == wanted
    alone, heard = browser.new_page(), []
    for kind in ("console", "pageerror", "request"):
        alone.on(kind, lambda event: heard.append(event))
    alone.goto(file.as_uri())
    alone.wait_for_selector(".vit-grid[data-complete=true]", state="attached")
    assert violations(alone) == [] and len(heard) == 1, "itself"
    told, weights = seen(alone)
    assert told == before and "row 4, column 12" in told[1] and len(weights) == 257
    np.testing.assert_allclose(weights, those, atol=1e-4 + 2e-3 * those.max())
    assert alone.inner_text(".vit-title") == credit
    alone.get_by_text("The model sees only this part: ").click()
    alone.wait_for_selector(".vit-whole[data-drawn]")


def test_the_square_is_moved_and_whose_own_photograph_it_is_agrees(opened):
    page, run = opened("?model=tiny-cifar#details=1"), pretrained.load_run("tiny-cifar")
    wait_shown(page, "tiny-cifar")
    page.click(".live-square > summary")
    for key in ("-", "-", "-", "-", "ArrowDown"):
        page.press(CANVAS, key)
    page.wait_for_url(re.compile("square=50-55-80#"))
    page.locator(CANVAS).drag_to(page.locator(CANVAS), target_position={"x": 3, "y": 120})  # of 240 points
    page.wait_for_url(re.compile("square=0-55-80#"))
    cat = Image.open(data.photographs()["cat"].path)  # 451 x 300 pixels
    compare(page, run, cat.crop((0, 33, 240, 273)), (0, 1, 2, 3))
    assert page.inner_text(".live-words").startswith("The small model sees the square that you chose, 32 × 32")
    assert page.locator(CANVAS).evaluate("canvas => canvas === document.activeElement")
    before = question(page)
    give(page, "private.jpg", data.photographs()["dahlia"].path.read_bytes())
    wait_shown(page, "tiny-cifar", before)
    compare(page, run, "dahlia", (0, 1, 2, 3))
    page.get_by_role("button", name="Save as page").click()
    page.get_by_text(
        "your own photograph, including what lies outside the square: anyone who gets the file can see"
    ).wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Nothing was saved.").wait_for()
    page.get_by_role("button", name="Save as page").click()
    assert "private" not in saved(page, "Save").read_text(encoding="utf-8")
    assert "square" not in page.url and page.errors == page.outside == []
