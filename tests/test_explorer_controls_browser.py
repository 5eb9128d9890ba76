"""Every control of the explorer, by the pointer and by keys, on a saved page in a real browser."""

import re

import numpy as np
import pytest
import torch
from explored import (
    NEEDS_CHROMIUM,
    choose,
    drawn,
    maps_of,
    opened_page,
    patch,
    photograph,
    pixels,
    point,
    random_panel,
    says,
    words,
)

from vit_course.explorer import AttentionExplorer
from vit_course.maps.interpret import rollout

pytestmark = NEEDS_CHROMIUM
ROWS, COLUMNS, LAYERS, HEADS = 5, 8, 3, 4
ACROSS = HEADS + 1  # and their mean; rollout comes with what is folded
GIVEN = random_panel()
POINTS = [(0, 0), (2, 5), (4, 7), (1, 3)]


@pytest.fixture(scope="module")
def maps():
    return maps_of(*GIVEN["maps"])


@pytest.fixture(scope="module")
def window(browser, tmp_path_factory):
    page = opened_page(browser, AttentionExplorer(**GIVEN, head=0), tmp_path_factory.mktemp("page") / "page.html")
    yield page
    assert page.errors == [] and page.outside == []
    page.close()


@pytest.fixture
def page(window):
    """The page as it was opened: every test begins with it."""
    window.mouse.move(2, 2)
    address = window.url.partition("#")[0]  # without the state that the page keeps there
    window.goto("about:blank")
    window.goto(address)
    window.wait_for_selector(".vit-explorer[data-ready]")
    window.wait_for_selector(".vit-grid[data-complete=true]")
    return window


def cell(page, row, column, columns=ACROSS, rows=LAYERS):
    box = page.locator(".vit-cells").bounding_box()
    return box["x"] + (column + 0.5) / columns * box["width"], box["y"] + (row + 0.5) / rows * box["height"]


def frame(page, selector=".vit-chosen:not(.vit-pointed)", across=ACROSS):
    """The row and the column of the cell with a frame."""
    style = page.locator(selector).evaluate("e => [parseFloat(e.style.top), parseFloat(e.style.left)]")
    return [round(style[0] * LAYERS / 100), round(style[1] * across / 100)]


def test_every_cell_is_chosen_by_a_click(page, maps):
    for row, column in ((0, 0), (1, 3), (0, HEADS), (2, 2)):
        page.mouse.click(*cell(page, row, column))
        which = f"layer {row}, head {column}," if column < HEADS else f"in the mean of the heads of layer {row},"
        says(page, which.removeprefix("in "))
        assert frame(page) == [row, column]
        map_ = maps[row, column, 0] if column < HEADS else maps[row].mean(axis=0)[0]
        assert f"{100 * map_.max():.1f}"[:-1] in words(page)
    choose(page, "Similarity")
    page.mouse.click(*cell(page, 1, 2))
    says(page, "In layer 1, head 2")
    assert page.get_by_role("radio", name="Attention").is_checked(), "a map was asked for"


def test_rollout_is_computed_when_it_is_chosen(page, maps):
    page.locator(".vit-more > summary").click()
    page.wait_for_selector(".vit-across > :last-child:text-is('rollout')")
    page.mouse.click(*cell(page, 1, HEADS + 1, HEADS + 2))
    through = rollout(torch.from_numpy(maps[None, :2]))[0]
    page.wait_for_function("() => !document.querySelector('.vit-words').textContent.includes('computed')")
    text = says(page, "Rolled out over all layers up to 1, the class token looks most at itself")
    assert float(re.search(r"([\d.]+) %", text)[1]) == pytest.approx(100 * through[0, 0].item(), abs=0.05)
    assert frame(page, across=HEADS + 2) == [1, HEADS + 1]


def test_arrows_choose_cells_and_stop_at_the_edge(page):
    page.locator(".vit-cells").focus()
    for key, place in (
        ("ArrowUp", [1, 0]),
        ("ArrowRight", [1, 1]),
        ("ArrowLeft", [1, 0]),
        ("ArrowLeft", [1, 0]),
        ("ArrowDown", [2, 0]),
    ):
        page.keyboard.press(key)
        drawn(page)
        assert frame(page) == place


def test_the_maps_of_the_grid_are_those_of_the_query(page, maps):
    point(page, 2, 5, ROWS, COLUMNS)
    page.wait_for_selector(".vit-grid[data-complete=true]")
    drawn(page)
    picture = pixels(page, ".vit-cells canvas").mean(axis=-1)
    size = picture.shape
    for layer in range(LAYERS):
        for head in range(HEADS):
            weights = maps[layer, head, 22, 1:].reshape(ROWS, COLUMNS)
            wanted = np.minimum(weights / max(np.percentile(weights, 98), weights.max() / 20), 1)
            top, left = layer * size[0] / LAYERS, head * size[1] / ACROSS
            tall, wide = size[0] / LAYERS / ROWS, size[1] / ACROSS / COLUMNS
            got = [
                [picture[int(top + (r + 0.4) * tall), int(left + (c + 0.4) * wide)] for c in range(COLUMNS)]
                for r in range(ROWS)
            ]
            assert np.corrcoef(np.ravel(got), wanted.ravel())[0, 1] > 0.9, (layer, head)


def test_keys_do_all_that_the_pointer_does(page, maps):
    page.locator(".vit-main").focus()
    page.keyboard.press("ArrowDown")  # from the class token to the first patch
    says(page, "row 0, column 0 looks")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    says(page, "row 1, column 1 looks")
    for key, sentence in (
        ("h", "layer 2, head 1,"), ("H", "layer 2, head 0,"), ("H", "layer 2, head 3,"), ("l", "layer 0, head 3,"),
        ("L", "layer 2, head 3,"), ("m", "mean of the heads of layer 2"), ("h", "layer 2, head 0,"),
        ("d", "row 1, column 1 is looked at most by"), ("d", "row 1, column 1 looks"), ("c", "the class token looks"),
    ):  # fmt: skip
        page.keyboard.press(key)
        text = says(page, sentence)
        assert "looked at" not in text or f"{100 * maps[2, 0, :, 10].max():.1f}"[:-1] in text
    for key, name, values in (
        ("o", "overlay", ["heat", "outline", "off", "spotlight"]), ("s", "scale", ["layer", "fixed", "own"]),
        ("v", "view", ["similarity", "colours", "attention"]),
    ):  # fmt: skip
        for value in values:
            page.keyboard.press(key)
            drawn(page)
            assert page.locator(f".vit-strip-{name} input:checked").get_attribute("value") == value
        page.keyboard.press(key.upper())
        drawn(page)
        assert page.locator(f".vit-strip-{name} input:checked").get_attribute("value") == values[-2]
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    says(page, "Pinned: in layer 2, head 0, the class token looks")
    page.keyboard.press("Escape")
    says(page, "In layer 2, head 0, the class token looks")


def test_the_legend_is_drawn_like_the_picture(page):
    bar = pixels(page, ".vit-bar")[14]
    ramp = np.clip((np.arange(320) + 0.5 - 2.5) / 315, 0, 1)[:, None]
    np.testing.assert_allclose(
        bar, np.broadcast_to((0.18 * 255 + 0.82 * 236) * (0.15 + 0.85 * ramp), bar.shape), atol=4
    )
    choose(page, "Heat")
    hot = pixels(page, ".vit-bar")[14]
    np.testing.assert_allclose(hot, 236 * (1 - 0.7 * ramp) + np.array([204, 0, 255]) * 0.7 * ramp, atol=4)


def test_pointing_asks_and_leaving_goes_back(page, maps):
    before = photograph(page)
    says(page, "layer 2, head 0, the class token looks most at")
    point(page, 2, 5, ROWS, COLUMNS)
    says(page, "row 2, column 5 looks most at", f"{100 * maps[2, 0, 1 + 2 * COLUMNS + 5].max():.1f}"[:-1])
    assert (photograph(page) != before).any()
    page.mouse.move(2, 2)
    says(page, "the class token looks most at")
    assert (photograph(page) == before).all()


def test_click_pins_click_again_frees_and_escape_too(page):
    page.mouse.click(*patch(page, 3, 6, ROWS, COLUMNS))
    says(page, "Pinned: in layer 2, head 0, the patch in row 3, column 6")
    page.mouse.move(*patch(page, 0, 0, ROWS, COLUMNS))
    drawn(page)
    assert "row 3, column 6 looks" in words(page), "pointing elsewhere asks for a key, and the query stays"
    page.mouse.click(*patch(page, 3, 6, ROWS, COLUMNS))
    says(page, "In layer 2, head 0, the patch in row 3, column 6")
    page.mouse.click(*patch(page, 1, 1, ROWS, COLUMNS))
    says(page, "Pinned: ", "row 1, column 1 looks")
    page.mouse.click(*patch(page, 4, 2, ROWS, COLUMNS))
    text = words(page)
    assert "Pinned: " in text and "row 1, column 1 looks" in text, "another patch is what it is compared with"
    page.keyboard.press("Escape")
    page.mouse.move(2, 2)
    assert says(page, "the class token looks").startswith("In layer 2"), "what was there before the first click"


def test_strips_are_groups_of_radio_buttons_and_the_keys_are_explained(page):
    marked = """all => Object.fromEntries(all.filter(group => !group.closest("[hidden]"))
        .map(group => [group.ariaLabel, group.querySelectorAll("input:checked").length]))"""
    strips = page.eval_on_selector_all("[role=radiogroup]", marked)
    assert strips.keys() > {"Scale", "Overlay"} and set(strips.values()) == {1}, "each marks the choice of the state"
    page.get_by_role("radio", name="Spotlight").focus()
    page.keyboard.press("ArrowRight")
    drawn(page)
    assert page.get_by_role("radio", name="Heat").is_checked()
    assert page.get_by_role("radiogroup", name="Overlay").count() == 1
    assert not page.locator(".vit-help dl").is_visible()
    page.locator(".vit-more > summary").click()
    page.wait_for_function("() => location.hash.includes('details=1')")
    page.get_by_text("Keys", exact=True).click()
    assert "Escape" in page.locator(".vit-help dl").inner_text()


def test_a_fold_stays_open_however_late_the_browser_says_that_it_is(page):
    page.evaluate("window.addEventListener('toggle', event => event.stopImmediatePropagation(), true)")
    page.locator(".vit-more > summary").click()
    point(page, 1, 1, ROWS, COLUMNS)
    drawn(page)
    assert page.locator(".vit-more").get_attribute("open") is not None
    page.wait_for_function("() => location.hash.includes('details=1')")


def test_scales(page, maps):
    def top():
        drawn(page)
        return page.locator(".vit-high").inner_text()

    tops = {"Own": [], "Layer": [], "Fixed": []}
    for label, found in tops.items():
        choose(page, label)
        for row, column in POINTS:
            point(page, row, column, ROWS, COLUMNS)
            found.append(top())
    for shown, (row, column) in zip(tops["Own"], POINTS, strict=True):
        weights = maps[2, 0, 1 + row * COLUMNS + column, 1:]
        strongest = max(np.percentile(weights, 98), weights.max() / 20)
        assert float(shown.split()[0]) == pytest.approx(100 * strongest, abs=0.1)
    assert len(set(tops["Layer"])) == 1 and tops["Layer"][0] not in tops["Own"], "the same wherever one points"
    page.mouse.move(2, 2)
    drawn(page)
    page.mouse.click(*cell(page, 0, 1))
    assert {*tops["Fixed"], top()} == {tops["Fixed"][0]}, "and in every layer"
    slider = page.get_by_label("Full strength at")
    slider.focus()
    page.keyboard.press("Home")
    assert top().split() == [f"{100 / 41:.2f}", "%"]
    assert slider.get_attribute("aria-valuetext") == "1 times an even share of 41 tokens"
    page.keyboard.press("ArrowRight")
    assert top().split() == [f"{200 / 41:.2f}", "%"]
