"""The parts of the explorer on a saved page: why, what the model says, what is taken along, and the guided tour."""

import csv
import io

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM, SCREENSHOTS, choose, maps_of, opening, patch, random_panel, violations
from PIL import Image

from vit_course.explorer.widget import AttentionExplorer

pytestmark = NEEDS_CHROMIUM
SAYS = {
    "labels": ["cat", "dog", "frog", "ship", "deer", "horse"],
    "probabilities": [0.6, 0.2, 0.1, 0.05, 0.03, 0.02],
    "lens": [[0.1, 0.5, 0.1, 0.1, 0.1, 0.1], [0.2, 0.5, 0.1, 0.1, 0.05, 0.05], [0.7, 0.1, 0.1, 0.05, 0.03, 0.02],
             [0.6, 0.2, 0.1, 0.05, 0.03, 0.02]],
    "about": "a head of this test",
}  # fmt: skip


@pytest.fixture(scope="module")
def given():
    panel = random_panel()
    queries, keys = panel["maps"]
    # A head that looks one patch up: each patch's key is what the patch below it asks for.
    direction = torch.from_numpy(np.random.default_rng(5).standard_normal((41, 6)).astype(np.float32))
    keys[1, 2] = 9 * direction / direction.norm(dim=1, keepdim=True)
    queries[1, 2, 9:] = keys[1, 2, 1:33]
    return panel


@pytest.fixture
def opened(browser, given, tmp_path):
    with opening(browser, tmp_path / "page.html") as opened:

        def of(panels=1, page=None, says=SAYS, **state):
            several = {name: [value] * panels for name, value in given.items()}
            titles = [f"Picture {index}" for index in range(panels)]
            state = {"details": True} | state  # they are folded
            return opened(AttentionExplorer(**several, titles=titles, says=[says] * panels, **state), **(page or {}))

        yield of


def says(page, selector, text):
    page.locator(selector, has_text=text).first.wait_for()


def at(page, row, column, panel=0):
    return patch(page, row, column, 5, 8, panel)


@pytest.mark.thorough
def test_why_follows_a_pinned_query_and_what_is_clicked_next(opened, given):
    page = opened(layer=2, head=1)
    page.mouse.click(*at(page, 1, 3))
    page.mouse.click(*at(page, 4, 6))
    weights = 41 * maps_of(*given["maps"])[2, 1, 1 + 8 + 3]
    says(page, ".vit-why-words", "The patch in row 1, column 3 gives")
    says(page, ".vit-why-words", "of its attention to the patch in row 4, column 6")
    times = float(page.locator(".vit-why-words").inner_text().split(", ")[3].split(" times")[0])
    assert abs(times - weights[1 + 4 * 8 + 6]) < 0.06
    page.mouse.click(*at(page, 1, 3))  # on the query itself: free again
    page.mouse.move(*at(page, 0, 0))
    says(page, ".vit-why-words", "The patch in row 0, column 0 gives")
    page.locator(".vit-main").focus()
    for key in ("Enter", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    says(page, ".vit-why-words", "to the patch in row 0, column 2")
    page.keyboard.press("m")
    says(page, ".vit-why-words", "Choose one head")
    assert not page.locator(".vit-vectors").is_visible()
    page = opened(panels=2)
    page.mouse.move(*at(page, 2, 2, panel=1))
    says(page, ".vit-why-words", "Picture 1: The patch in row 2, column 2 gives")


@pytest.mark.thorough
def test_one_dimension_of_the_strips_in_numbers(opened, given):
    page = opened(layer=2, head=1, query=12, pinned=True, key=20)
    strip = page.locator(".vit-vector svg").first
    strip.scroll_into_view_if_needed()
    strip.hover(position={"x": strip.bounding_box()["width"] * 2.5 / 6, "y": 5})
    says(page, ".vit-why-sums", "dimension 2")
    q, k = (float(one[2, 1, token, 2]) for one, token in zip(given["maps"], (12, 20), strict=True))
    numbers = page.locator(".vit-why-sums dd").first.inner_text().replace("−", "-").replace("×", "=").split("=")
    np.testing.assert_allclose([float(n) for n in numbers], [q, k, q * k], atol=0.02)


@pytest.mark.thorough
def test_what_the_model_says_and_its_curve(opened):
    page = opened(layer=1)
    assert page.locator(".vit-classes li").all_inner_texts()[0].split() == ["cat", "60", "%"]
    assert page.locator(".vit-classes li").count() == 6  # five, and all others
    says(page, ".vit-lens-reading", "After layer 1: cat 70")
    page.locator(".vit-lens svg").hover(position={"x": 3, "y": 20})
    says(page, ".vit-lens-reading", "Before the first layer: dog 50")
    page.mouse.move(5, 5)
    says(page, ".vit-lens-reading", "After layer 1: cat 70")
    assert "a head of this test" in page.locator(".vit-says .vit-part-note").inner_text()
    toy = opened(says=SAYS | {"none": "None of its 6 words fits."})
    says(toy, ".vit-says", "None of its 6 words fits.")
    assert not toy.locator(".vit-classes").is_visible(), "a word is said to who asks for it"
    toy.get_by_text("A toy head of ten words").click()
    assert toy.locator(".vit-classes li").all_inner_texts()[0].split() == ["cat", "60", "%"]
    page = opened(says=None)
    assert page.locator(".vit-says").count() == 0 and page.locator(".vit-tour").is_hidden()


def test_the_table_and_the_file_hold_the_weights_on_screen(opened, given):
    page = opened(layer=2, head=1, query=12, pinned=True)
    page.locator(".vit-tools summary").click()
    weights = maps_of(*given["maps"])[:, 1, 12]
    page.locator(".vit-table tbody tr").nth(5).wait_for()
    cells = page.locator(".vit-table td").all_inner_texts()
    np.testing.assert_allclose([float(cell) for cell in cells], weights[2], atol=2e-3)
    assert page.locator(".vit-special th").all_inner_texts() == ["class token"]
    page.keyboard.press("l")  # the table follows
    says(page, ".vit-table caption", "layer 0, head 1")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == "attention-picture-0-layer-0-head-1-row-1-column-3.csv"
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_bytes().decode())))
    np.testing.assert_allclose([float(row["weight"]) for row in rows], weights[0], atol=2e-3)


@pytest.mark.parametrize(("panels", "scheme"), [(1, "light"), (2, "dark")])
@pytest.mark.thorough
def test_the_picture_is_twice_as_large_as_on_screen_and_shows_the_same(opened, panels, scheme):
    page = opened(panels, {"color_scheme": scheme}, overlay="heat", smooth=False, query=12, pinned=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save picture").click()
    image = np.asarray(Image.open(download.value.path()).convert("RGB")).astype(int)
    page.evaluate("scrollTo(0, 0)")
    boxes = [page.locator(".vit-main").nth(i).bounding_box() for i in range(panels)]
    width = sum(box["width"] for box in boxes) + 16 * (panels - 1)
    assert abs(image.shape[1] - 2 * (width + 32)) <= 2 and image.shape[0] > 2 * boxes[0]["height"]
    assert (image[2, 2] > 200).all() == (scheme == "light")
    screen = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    for row, column in ((0, 0), (2, 5), (4, 7)):  # patches away from the query's frame
        x, y = at(page, row, column)
        inside = [2 * (16 + x - boxes[0]["x"]), 2 * (16 + 24 + y - boxes[0]["y"])]
        difference = image[int(inside[1]), int(inside[0])] - screen[int(y), int(x)]
        assert np.abs(difference).max() <= 6, (row, column)


def test_a_link_shows_what_its_sender_saw_and_other_addresses_are_left_alone(opened):
    page = opened(layer=2)
    page.mouse.click(*at(page, 1, 3))
    page.keyboard.press("h")
    page.wait_for_function("() => location.hash === '#head=1&query=12&pinned=1'")
    page.get_by_role("button", name="Copy link").click()
    says(page, ".vit-said", "link")
    again = opened(page={"hash": page.evaluate("location.hash")}, layer=2)
    says(again, ".vit-words", "In layer 2, head 1, the patch in row 1, column 3")
    other = opened(page={"hash": "#layer=99&query=x"}, layer=2)
    says(other, ".vit-words", "In layer 2, head 0, the class token")
    assert other.evaluate("location.hash") == "#layer=99&query=x"


def test_the_tour_sees_what_was_found_and_goes_on(opened):
    page = opened(tour="look", head=3)
    tour = page.locator(".vit-tour")
    assert "1 of 8" in tour.inner_text() and page.locator(".vit-passed").count() == 0
    for _ in range(2):
        tour.get_by_role("button", name="Next").click()
    assert page.evaluate("document.activeElement.textContent") == "A head that knows its way"
    page.locator(".vit-cells").focus()
    # From the last layer's last head to layer 1, head 2.
    for key in ("ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    says(page, ".vit-tour-found", "In layer 1, head 2, 32 of 32 patches look most at the patch right above them.")
    assert "3 of 8" in tour.inner_text() and page.locator(".vit-tour-dots .vit-done").count() == 1
    page.get_by_role("button", name="Leave the tour").click()
    page.locator(".vit-tour-body").wait_for(state="hidden")
    page.get_by_role("button", name="Take the tour again").click()
    says(page, ".vit-tour", "1 of 8")


@pytest.mark.thorough
def test_show_me_one_passes_where_there_is_one_and_the_others_say_so(opened):
    page = opened(tour="look")
    top = page.locator(".vit-main").evaluate("e => e.getBoundingClientRect().top + scrollY")
    told = []
    for _ in range(8):
        show = page.get_by_role("button", name="Show me one")
        if show.is_visible():
            show.click()
        page.locator(".vit-tour-found:not(:empty)").wait_for()
        told.append(page.locator(".vit-tour-found").inner_text())
        assert page.locator(".vit-main").evaluate("e => e.getBoundingClientRect().top + scrollY") == top
        page.locator(".vit-tour-next").click()
    assert sum("left out" not in text for text in told) >= 5
    assert "That was the tour" in page.locator(".vit-tour").inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 850, 1280])
def test_nothing_overflows_and_axe_finds_nothing(opened, width, scheme):
    page = opened(2, {"width": width, "color_scheme": scheme}, tour="look")
    paper = page.locator(".vit-explorer").evaluate("e => getComputedStyle(e).backgroundColor")
    assert (max(map(int, paper[4:-1].split(","))) < 60) == (scheme == "dark")
    page.locator(".vit-tools summary").click()
    page.get_by_text("Keys", exact=True).click()
    page.locator(".vit-table td").first.wait_for()
    for view in ("Colours", "Similarity", "Attention"):
        choose(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"explorer-{width}-{scheme}.png", full_page=True)
