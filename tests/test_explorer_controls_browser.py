"""Every control of the explorer, by the pointer and by keys, on a saved page in a real browser."""

import re

import numpy as np
import pytest
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

pytestmark = NEEDS_CHROMIUM
ROWS, COLUMNS, LAYERS, HEADS = 5, 8, 3, 4


@pytest.fixture(scope="module")
def given():
    return random_panel()


@pytest.fixture(scope="module")
def maps(given):
    return maps_of(*given["maps"])


@pytest.fixture(scope="module")
def window(browser, given, tmp_path_factory):
    page = opened_page(browser, AttentionExplorer(**given), tmp_path_factory.mktemp("page") / "page.html")
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


def cell(page, row, column, columns=HEADS + 2, rows=LAYERS):
    box = page.locator(".vit-cells").bounding_box()
    return box["x"] + (column + 0.5) / columns * box["width"], box["y"] + (row + 0.5) / rows * box["height"]


def lit(page):
    """How bright each patch is drawn: the mean of its middle."""
    side = page.locator(".vit-main canvas").first.evaluate("e => [e.height, e.width]")
    picture = photograph(page).reshape(*side, 3).mean(axis=-1)
    tall, wide = side[0] / ROWS, side[1] / COLUMNS
    at = [[(int((r + 0.5) * tall), int((c + 0.5) * wide)) for c in range(COLUMNS)] for r in range(ROWS)]
    return np.array([[picture[y - 3 : y + 4, x - 3 : x + 4].mean() for y, x in row] for row in at])


def frame(page, selector=".vit-chosen:not(.vit-pointed)"):
    """The row and the column of the cell with a frame."""
    style = page.locator(selector).evaluate("e => [parseFloat(e.style.top), parseFloat(e.style.left)]")
    return [round(style[0] * LAYERS / 100), round(style[1] * (HEADS + 2) / 100)]


def test_pointing_asks_and_leaving_goes_back(page, maps):
    before = photograph(page)
    says(page, "layer 2, head 0, the class token looks most at")
    point(page, 2, 5, ROWS, COLUMNS)
    best = int((row := maps[2, 0, 1 + 2 * COLUMNS + 5]).argmax())
    text = says(page, "row 2, column 5 looks most at", f"{100 * row.max():.1f}"[:-1])
    assert best == 22 or f"row {(best - 1) // COLUMNS}, column {(best - 1) % COLUMNS}" in text or "class token" in text
    assert page.locator(".vit-explorer").get_attribute("data-query") == str(1 + 2 * COLUMNS + 5)
    assert (photograph(page) != before).any()
    page.mouse.move(2, 2)
    says(page, "the class token looks most at")
    assert (photograph(page) == before).all()


@pytest.mark.thorough
def test_the_brightest_patches_are_the_heaviest(page, maps):
    point(page, 2, 5, ROWS, COLUMNS)
    says(page, "row 2, column 5 looks")
    choose(page, "Off")
    point(page, 2, 5, ROWS, COLUMNS)
    drawn(page)
    plain = lit(page)
    page.locator(".vit-strip label:text-is('Spotlight')").click()
    page.get_by_label("Smooth").uncheck()
    point(page, 2, 5, ROWS, COLUMNS)
    drawn(page)
    weights = maps[2, 0, 22, 1:].reshape(ROWS, COLUMNS)
    top = max(np.percentile(weights, 98), weights.max() / 20)
    wanted = 0.15 + 0.85 * np.minimum(weights / top, 1)
    np.testing.assert_allclose(lit(page) / plain, wanted, atol=0.03)


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
    assert "Pinned: " in words(page) and "row 1, column 1 looks" in words(page), (
        "another patch is what it is compared with"
    )
    page.keyboard.press("Escape")
    page.mouse.move(2, 2)
    assert not says(page, "row 1, column 1 looks").startswith("Pinned")


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
    page.mouse.click(*cell(page, 1, HEADS + 1))
    through = np.eye(maps.shape[-1])
    for mean in maps.mean(axis=1)[:2]:
        through = (np.eye(maps.shape[-1]) + mean) @ through / 2
    page.wait_for_function("() => !document.querySelector('.vit-words').textContent.includes('computed')")
    text = says(page, "Rolled out over all layers up to 1, the class token looks most at itself")
    assert float(re.search(r"([\d.]+) %", text)[1]) == pytest.approx(100 * through[0, 0], abs=0.05)
    assert frame(page) == [1, HEADS + 1]


def test_arrows_choose_cells(page):
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
    size = page.locator(".vit-cells canvas").evaluate("e => [e.height, e.width]")
    picture = np.array(pixels(page, ".vit-cells canvas"), float).reshape(*size, 4)[..., :3].mean(axis=-1)
    for layer in range(LAYERS):
        for head in range(HEADS):
            weights = maps[layer, head, 22, 1:].reshape(ROWS, COLUMNS)
            wanted = np.minimum(weights / max(np.percentile(weights, 98), weights.max() / 20), 1)
            top, left = layer * size[0] / LAYERS, head * size[1] / (HEADS + 2)
            tall, wide = size[0] / LAYERS / ROWS, size[1] / (HEADS + 2) / COLUMNS
            got = [
                [picture[int(top + (r + 0.4) * tall), int(left + (c + 0.4) * wide)] for c in range(COLUMNS)]
                for r in range(ROWS)
            ]
            assert np.corrcoef(np.ravel(got), wanted.ravel())[0, 1] > 0.9, (layer, head)


def test_keys_do_all_that_the_pointer_does(page):
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
        says(page, sentence)
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


def test_a_strip_is_a_group_of_radio_buttons(page):
    page.get_by_role("radio", name="Spotlight").focus()
    page.keyboard.press("ArrowRight")
    drawn(page)
    assert page.get_by_role("radio", name="Heat").is_checked()
    assert page.get_by_role("radiogroup", name="Overlay").count() == 1


@pytest.mark.thorough
def test_overlays_change_the_picture_and_off_shows_it(page):
    seen = [photograph(page)]
    for label in ("Heat", "Outline", "Off"):
        choose(page, label)
        seen.append(photograph(page))
    assert all((a != b).any() for i, a in enumerate(seen) for b in seen[:i])
    assert seen[3].mean() > max(one.mean() for one in (seen[0], seen[2]))
    choose(page, "Spotlight")
    smooth = photograph(page)
    page.get_by_label("Smooth").uncheck()
    assert (photograph(page) != smooth).any()


def test_who_looks_here_is_a_column(page, maps):
    page.mouse.click(*patch(page, 2, 5, ROWS, COLUMNS))
    choose(page, "Who looks here")
    column = maps[2, 0, :, 22]
    text = says(page, "row 2, column 5 is looked at most by", "of that one's attention")
    assert float(re.search(r"([\d.]+) %", text)[1]) == pytest.approx(100 * column.max(), abs=0.1)


def top_of(page):
    drawn(page)
    return page.locator(".vit-high").inner_text()


def test_scales(page, maps):
    points = [(0, 0), (2, 5), (4, 7), (1, 3)]
    own, layer, fixed = [], [], []
    for tops, label in ((own, "Own"), (layer, "Layer"), (fixed, "Fixed")):
        choose(page, label)
        for row, column in points:
            point(page, row, column, ROWS, COLUMNS)
            tops.append(top_of(page))
    weights = [maps[2, 0, 1 + row * COLUMNS + column, 1:] for row, column in points]
    for shown, row in zip(own, weights, strict=True):
        assert float(shown.split()[0]) == pytest.approx(100 * max(np.percentile(row, 98), row.max() / 20), abs=0.1)
    assert len(set(layer)) == 1 and layer[0] not in own, "the same wherever one points"
    assert len(set(fixed)) == 1
    page.mouse.move(2, 2)
    page.mouse.click(*cell(page, 0, 1))
    assert top_of(page) == fixed[0], "and in every layer"
    slider = page.get_by_label("Full strength at")
    slider.focus()
    page.keyboard.press("Home")
    assert (
        top_of(page).split() == [f"{100 / 41:.2f}", "%"]
        and slider.get_attribute("aria-valuetext") == "1 times an even share of 41 tokens"
    )
    page.keyboard.press("ArrowRight")
    assert top_of(page).split() == [f"{200 / 41:.2f}", "%"]


def test_the_legend_is_drawn_like_the_picture_and_keeps_still(page):
    bar = np.array(pixels(page, ".vit-bar"), float).reshape(28, 320, 4)[14, :, :3]
    ramp = np.clip((np.arange(320) + 0.5 - 2.5) / 315, 0, 1)[:, None]
    np.testing.assert_allclose(bar, np.broadcast_to(236 * (0.15 + 0.85 * ramp), bar.shape), atol=4)
    choose(page, "Heat")
    hot = np.array(pixels(page, ".vit-bar"), float).reshape(28, 320, 4)[14, :, :3]
    np.testing.assert_allclose(hot, 236 * (1 - 0.7 * ramp) + np.array([204, 0, 255]) * 0.7 * ramp, atol=4)
    boxes = set()
    for row, column in ((0, 0), (2, 5), (4, 7), (1, 3)):
        point(page, row, column, ROWS, COLUMNS)
        drawn(page)
        nodes = [page.locator(name).bounding_box() for name in (".vit-bar", ".vit-high", ".vit-about", ".vit-cells")]
        boxes.add(str(nodes))
    assert len(boxes) == 1


def test_the_keys_are_explained(page):
    assert not page.locator(".vit-help dl").is_visible()
    page.get_by_text("Keys", exact=True).click()
    assert "Escape" in page.locator(".vit-help dl").inner_text()
