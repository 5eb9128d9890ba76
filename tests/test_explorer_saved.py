"""The explorer as a saved page, opened from a file in a real browser: its layout, its tokens, by touch."""

import re

import pytest
from conftest import thoroughly
from explored import NEEDS_CHROMIUM, drawn, opening, patch, point, random_panel, says, words

from vit_course._support.widgets.pages import save_page
from vit_course.explorer import AttentionExplorer
from vit_course.explorer.panel_data import fitting

pytestmark = NEEDS_CHROMIUM
ROWS, COLUMNS = 5, 8
BOXES = (".vit-main", ".vit-cells", ".vit-legend", ".vit-top", ".vit-words", ".vit-chips")
# What pointing leaves as it is, and another view or the mean of the heads need not.
SIZES = """Array.from(document.querySelectorAll(".vit-part, .vit-tour, .vit-bar, .vit-high"),
    (part) => [part.offsetLeft, part.offsetWidth, part.offsetHeight])"""
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def opened(browser, tmp_path):
    with opening(browser, tmp_path / "page.html") as opened:
        yield opened


@pytest.mark.parametrize("width", [390, *thoroughly(850, 1280)])
def test_the_layout_fits_and_nothing_moves(opened, width):
    def boxes():
        return [page.locator(name).first.bounding_box() for name in BOXES]

    page = opened(AttentionExplorer(**random_panel(), tour="look", details=True), width=width, height=2400)
    page.wait_for_selector(".vit-why-words p")  # written a moment after the maps are drawn
    before, sizes = boxes(), page.evaluate(SIZES)
    photograph, grid = before[:2]
    assert photograph["width"] >= {390: 360, 850: 440, 1280: 550}[width]
    if width > 390:
        assert grid["x"] > photograph["x"] + photograph["width"], "beside it"
    else:
        assert grid["y"] > photograph["y"] + photograph["height"], "below it"
    for row, column in ((0, 0), (2, 5), (4, 7)):
        point(page, row, column, ROWS, COLUMNS)
        drawn(page)
        assert boxes() == before and page.evaluate(SIZES) == sizes
    page.locator(".vit-main").focus()
    for key in "oossvvmld":
        page.keyboard.press(key)
        drawn(page)
        assert boxes() == before, key
        assert page.evaluate(FITS), "nothing hangs out"


def test_two_pictures_have_one_query_and_the_grid_is_of_the_one_pointed_at(opened):
    first, second = random_panel(seed=1), random_panel(seed=2)
    link = [0, *(1 + row * COLUMNS + column for row in range(ROWS) for column in reversed(range(COLUMNS)))]
    both = {name: [first[name], second[name]] for name in ("maps", "image", "grid", "features")}
    explorer = AttentionExplorer(**both, titles=["as it is", "flipped"], prefix=["class token"], link=[None, link])
    page = opened(explorer, width=850)
    left, right = (page.locator(".vit-main").nth(index).bounding_box() for index in range(2))
    assert right["x"] > left["x"] + left["width"] and abs(right["y"] - left["y"]) < 1, "side by side"
    page.mouse.move(*patch(page, 2, 1, ROWS, COLUMNS, panel=0))
    drawn(page)
    assert words(page).count("looks most at") == 2
    assert "as it is, the patch in row 2, column 1 looks" in words(page)
    assert "flipped, the patch in row 2, column 6 looks" in words(page)
    grid = page.locator(".vit-cells canvas:not(.vit-matters)").screenshot()
    page.mouse.move(*patch(page, 2, 6, ROWS, COLUMNS, panel=1))
    page.wait_for_selector(".vit-grid[data-complete=true]")
    drawn(page)
    assert "as it is, the patch in row 2, column 1 looks" in words(page), "the same query, from the other side"
    assert page.locator(".vit-cells canvas:not(.vit-matters)").screenshot() != grid


def test_a_swipe_scrolls_a_hold_or_a_move_sideways_asks_and_a_tap_pins(opened):
    page = opened(AttentionExplorer(**random_panel(), head=0), width=390, height=600, has_touch=True, is_mobile=True)
    client = page.context.new_cdp_session(page)

    def touch(kind, *points):
        where = [{"x": x, "y": y} for x, y in points]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})
        drawn(page)

    before = words(page)
    x, y = patch(page, 3, 4, ROWS, COLUMNS)
    touch("touchStart", (x, y))
    for up in range(12, 150, 12):
        touch("touchMove", (x, y - up))
    touch("touchEnd")
    page.wait_for_function("scrollY > 50")
    assert words(page) == before, "a swipe over the picture asks nothing"
    page.evaluate("scrollTo(0, 0)")
    for held in (False, True):
        touch("touchStart", patch(page, 1, 4 if held else 1, ROWS, COLUMNS))
        if not held:
            touch("touchMove", patch(page, 1, 4, ROWS, COLUMNS))
        says(page, "row 1, column 4 looks")  # of one that is held by itself, after a moment
        for row in (2, 3):
            touch("touchMove", patch(page, row, 4, ROWS, COLUMNS))
            says(page, f"row {row}, column 4 looks")
        assert page.evaluate("scrollY") == 0
        touch("touchEnd")
        assert words(page).startswith("In layer 2, head 0, the patch in row 3, column 4 looks"), "it stays"
    page.touchscreen.tap(*patch(page, 4, 1, ROWS, COLUMNS))  # the browser makes a click of it, when it sees fit
    says(page, "Pinned: in layer 2, head 0, the patch in row 4, column 1 looks")


@pytest.mark.thorough
@pytest.mark.parametrize(("layers", "heads", "grid"), [(24, 16, (14, 14)), (4, 4, (7, 9))])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_model_has_its_grid(opened, layers, heads, grid, width):
    page = opened(AttentionExplorer(**random_panel(layers=layers, heads=heads, grid=grid, dim=4)), width=width)
    assert page.locator(".vit-across > span").count() == heads + 1
    assert page.locator(".vit-down > span").count() == layers and page.evaluate(FITS)
    box = page.locator(".vit-cells").bounding_box()
    cell = box["width"] / (heads + 1), box["height"] / layers
    assert 14 < cell[0] <= 65 and abs(cell[0] / cell[1] - grid[1] / grid[0]) < 0.1, "cells have the picture's form"
    page.locator(".vit-cells").click(position={"x": 1.5 * cell[0], "y": (layers - 1.5) * cell[1]})
    drawn(page)
    assert words(page).startswith(f"In layer {layers - 2}, head 1,")


def test_a_part_of_the_layers_has_its_numbers_and_no_rollout(opened, tmp_path):
    explorer = AttentionExplorer(**random_panel(layers=6), head=0, details=True)
    page = opened(explorer)
    assert page.locator(".vit-across > span").last.inner_text() == "rollout"
    state = fitting(explorer.everything(), most=len(explorer._data) * 2 // 3)
    path = tmp_path / "some.html"
    save_page(path, "Some layers", False, state)
    page.goto(path.as_uri())
    page.wait_for_selector(".vit-grid[data-complete=true]")
    numbers = [str(number) for number in state["_panels"][0]["layer_numbers"]]
    assert page.locator(".vit-down > span").all_inner_texts() == numbers and len(numbers) < 6
    assert page.locator(".vit-across > span").last.inner_text() == "mean"
    assert words(page).startswith("In layer 5, head 0")


def test_pointer_and_keys_reach_each_special_token_by_its_name(opened):
    names = ["class token", *(f"register {number}" for number in (1, 2, 3, 4))]
    page = opened(AttentionExplorer(**random_panel(names=names), head=0))
    chips = page.locator(".vit-chip")
    assert [re.sub(r"\s*\d+\.\d\d\s%$", "", text) for text in chips.all_inner_texts()] == names
    for token, name in enumerate(names):
        chips.nth(token).hover()
        says(page, f"In layer 2, head 0, the {name} looks most at ")
        assert chips.nth(token).get_attribute("aria-pressed") == "true"
        chips.nth(token).focus()  # by the tabulator, as every button
        page.keyboard.press("Enter")
        says(page, f"Pinned: in layer 2, head 0, the {name} looks most at ")
        page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    page.locator(".vit-main").focus()
    page.keyboard.press("ArrowDown")  # to a patch
    for name in [*names, names[0]]:  # by the key, and round again
        page.keyboard.press("c")
        says(page, f"In layer 2, head 0, the {name} looks most at ")
    assert page.get_by_role("group", name="Tokens that are not patches").count() == 1


def test_without_such_tokens_nothing_speaks_of_them(opened):
    page = opened(AttentionExplorer(**random_panel(names=()) | {"features": None}))
    assert page.locator(".vit-strip-view").is_hidden(), "no tokens were sent"
    assert page.locator(".vit-chip").count() == 0 and page.locator(".vit-chips").is_hidden()
    page.locator(".vit-main").focus()
    before = words(page)
    page.keyboard.press("c")
    drawn(page)
    assert words(page) == before and "token" not in before.split("looks")[0]
