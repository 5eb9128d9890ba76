"""The explorer as a saved page, opened from a file in a real browser: at three widths, in light and dark, by touch."""

import numpy as np
import pytest
import torch
from accessible import violations
from conftest import cases
from explored import (
    NEEDS_CHROMIUM,
    SCREENSHOTS,
    choose,
    drawn,
    opened_page,
    patch,
    photograph,
    point,
    random_panel,
    says,
    words,
)
from PIL import Image

from vit_course.explorer import AttentionExplorer

pytestmark = NEEDS_CHROMIUM
WIDTHS = (390, 850, 1280)
ROWS, COLUMNS = 5, 8


@pytest.fixture
def opened(browser, tmp_path):
    """Opens explorers as pages; at the end none has met an error or asked another machine."""
    pages = []

    def opened(explorer, **options):
        pages.append(opened_page(browser, explorer, tmp_path / "page.html", **options))
        return pages[-1]

    yield opened
    for page in pages:
        assert page.errors == [] and page.outside == []
        page.close()


def two(**state):
    first, second = random_panel(seed=1), random_panel(seed=2)
    link = [0, *(1 + row * COLUMNS + column for row in range(ROWS) for column in reversed(range(COLUMNS)))]
    both = {name: [first[name], second[name]] for name in ("maps", "image", "grid", "features")}
    return AttentionExplorer(**both, titles=["as it is", "flipped"], prefix=["class token"], link=[None, link], **state)


def boxes(page):
    names = (".vit-main", ".vit-cells", ".vit-legend", ".vit-top", ".vit-words", ".vit-chips")
    return [page.locator(name).first.bounding_box() for name in names]


@cases("width", WIDTHS)
def test_the_layout_fits_and_nothing_moves(opened, width):
    page = opened(AttentionExplorer(**random_panel()), width=width)
    before = boxes(page)
    photograph, grid = before[0], before[1]
    assert photograph["width"] >= {390: 360, 850: 440, 1280: 550}[width]
    if width > 390:
        assert grid["x"] > photograph["x"] + photograph["width"], "beside it"
    else:
        assert grid["y"] > photograph["y"] + photograph["height"], "below it"
    for row, column in ((0, 0), (2, 5), (4, 7)):
        point(page, row, column, ROWS, COLUMNS)
        drawn(page)
        assert boxes(page) == before
    page.locator(".vit-main").focus()
    for key in "oossvvmld":
        page.keyboard.press(key)
        drawn(page)
        assert boxes(page) == before, key  # what stands below may have nothing to say of a mean
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs out"


@pytest.mark.thorough
@cases("width", WIDTHS)
@cases("scheme", ["light", "dark"])
def test_accessible_at_every_width_in_light_and_dark(opened, width, scheme):
    page = opened(two(), width=width, color_scheme=scheme)
    paper = page.locator(".vit-explorer").evaluate("e => getComputedStyle(e).backgroundColor")
    assert (max(map(int, paper[4:-1].split(","))) < 60) == (scheme == "dark")
    page.get_by_text("Keys", exact=True).click()
    for view in ("Colours", "Similarity", "Attention"):
        page.locator(f".vit-strip label:text-is('{view}')").click()
        drawn(page)
        assert violations(page) == []
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"explorer-{width}-{scheme}.png", full_page=True)


def test_two_pictures_have_one_query_and_the_grid_is_of_the_one_pointed_at(opened):
    page = opened(two(), width=850)
    left, right = (page.locator(".vit-main").nth(index).bounding_box() for index in range(2))
    assert right["x"] > left["x"] + left["width"] and abs(right["y"] - left["y"]) < 1, "side by side"
    page.mouse.move(*patch(page, 2, 1, ROWS, COLUMNS, panel=0))
    drawn(page)
    assert words(page).count("looks most at") == 2
    assert "as it is, the patch in row 2, column 1 looks" in words(page)
    assert "flipped, the patch in row 2, column 6 looks" in words(page)
    first = page.locator(".vit-cells canvas").screenshot()
    page.mouse.move(*patch(page, 2, 6, ROWS, COLUMNS, panel=1))
    page.wait_for_selector(".vit-grid[data-complete=true]")
    drawn(page)
    assert "as it is, the patch in row 2, column 1 looks" in words(page), "the same query, from the other side"
    assert page.locator(".vit-cells canvas").screenshot() != first


@pytest.mark.thorough
def test_similarity_and_colours(opened):
    given = random_panel()
    page = opened(AttentionExplorer(**given))
    features = given["features"].numpy()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    choose(page, "Similarity")
    point(page, 2, 5, ROWS, COLUMNS)
    cosines = unit @ unit[22]
    best = int(np.argsort(cosines)[-2])
    name = f"row {(best - 1) // COLUMNS}, column {(best - 1) % COLUMNS}" if best else "class token"
    says(page, "After the last layer, the patch in row 2, column 5 is most like the", name, f"{cosines[best]:.2f}")
    assert page.locator(".vit-chip .vit-figure").inner_text() == f"{cosines[0]:.2f}"
    before = photograph(page)
    choose(page, "Colours")
    says(page, "like colour, like description")
    assert (photograph(page) != before).any() and page.get_by_role("radio", name="Heat").is_disabled()


def test_touch_asks_while_it_drags_and_a_tap_pins(browser, tmp_path):
    explorer = AttentionExplorer(**random_panel())
    explorer.save_html(tmp_path / "page.html")
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector(".vit-explorer[data-ready]")
    client = context.new_cdp_session(page)

    def touch(kind, *points):
        where = [{"x": x, "y": y} for x, y in points]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})
        drawn(page)

    touch("touchStart", patch(page, 1, 1, ROWS, COLUMNS))
    touch("touchMove", patch(page, 3, 4, ROWS, COLUMNS))
    says(page, "row 3, column 4 looks")
    assert page.evaluate("scrollY") == 0
    touch("touchEnd")
    assert words(page).startswith("In layer 2, head 0, the patch in row 3, column 4 looks"), "it stays"
    page.touchscreen.tap(*patch(page, 4, 1, ROWS, COLUMNS))  # the browser makes a click of it, when it sees fit
    says(page, "Pinned: in layer 2, head 0, the patch in row 4, column 1 looks")
    context.close()


@pytest.mark.thorough
@cases(("layers", "heads", "grid"), [(12, 12, (14, 14)), (24, 16, (14, 14)), (4, 4, (7, 9))])
@cases("width", WIDTHS)
def test_every_model_has_its_grid(opened, layers, heads, grid, width):
    page = opened(AttentionExplorer(**random_panel(layers=layers, heads=heads, grid=grid, dim=4)), width=width)
    box = page.locator(".vit-cells").bounding_box()
    assert (
        page.locator(".vit-across > span").count() == heads + 2 and page.locator(".vit-down > span").count() == layers
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cell = box["width"] / (heads + 2), box["height"] / layers
    assert 14 < cell[0] <= 65 and abs(cell[0] / cell[1] - grid[1] / grid[0]) < 0.1, "cells have the picture's form"
    page.locator(".vit-cells").click(position={"x": 1.5 * cell[0], "y": (layers - 1.5) * cell[1]})
    drawn(page)
    assert words(page).startswith(f"In layer {layers - 2}, head 1,")


def test_whole_maps_are_shown_as_well(opened):
    maps = torch.randn(2, 3, 41, 41).mul(2).softmax(dim=-1)
    page = opened(AttentionExplorer(maps, torch.rand(3, 45, 72), grid=(ROWS, COLUMNS)))
    point(page, 1, 2, ROWS, COLUMNS)
    drawn(page)
    assert f"{100 * maps[1, 0, 11].max():.1f}"[:-1] in words(page)
    assert page.locator(".vit-strip-view").is_hidden(), "no tokens were sent"


def test_a_part_of_the_layers_has_its_numbers_and_no_rollout(opened, tmp_path):
    from vit_course.explorer import embedded

    explorer = AttentionExplorer(**random_panel(layers=6))
    page = opened(explorer)
    assert page.locator(".vit-across > span").last.inner_text() == "rollout"
    state = embedded.fitting(explorer.everything(), most=len(explorer._data) * 2 // 3)
    path = tmp_path / "some.html"
    path.write_bytes(embedded.page(state, "Some layers"))
    page.goto(path.as_uri())
    page.wait_for_selector(".vit-grid[data-complete=true]")
    numbers = [str(number) for number in state["_panels"][0]["layer_numbers"]]
    assert page.locator(".vit-down > span").all_inner_texts() == numbers and len(numbers) < 6
    assert page.locator(".vit-across > span").last.inner_text() == "mean"
    assert words(page).startswith("In layer 5, head 0")


def test_the_picture_is_the_one_that_was_sent(opened):
    given = random_panel()
    page = opened(AttentionExplorer(**given, overlay="off"))
    page.locator(".vit-main canvas").screenshot(path=(path := SCREENSHOTS / "explorer-off.png"))
    seen = np.asarray(Image.open(path).convert("RGB").resize((COLUMNS * 9, ROWS * 9), Image.Resampling.BOX), float)
    wanted = given["image"].permute(1, 2, 0).numpy()
    inside = np.s_[4::9, 4::9]  # the middles of its squares of one colour
    np.testing.assert_allclose(seen[inside], wanted[inside], atol=6)
