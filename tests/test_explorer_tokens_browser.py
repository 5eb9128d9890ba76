"""Registers and other tokens that are no patches, in a saved explorer: reached by pointer and keys, called by name."""

import re

import pytest
import timm
import torch
import transformers
from conftest import cases
from explored import NEEDS_CHROMIUM, SCREENSHOTS, drawn, opened_page, patch, words
from published import shaken

from vit_course.explorer import AttentionExplorer, explore

pytestmark = NEEDS_CHROMIUM
ROWS, COLUMNS = 3, 5
SIZES = dict(image_size=[21, 35], patch_size=7, num_hidden_layers=2, num_attention_heads=3, hidden_size=24)
NAMES = {
    "registers": ["class token", "register 1", "register 2", "register 3", "register 4"],
    "distilled": ["class token", "distillation token"],
    "none": [],
}


def explorer_of(kind):
    if kind == "distilled":
        model = transformers.DeiTModel(transformers.DeiTConfig(**SIZES, intermediate_size=20))
    elif kind == "registers":
        model = timm.create_model(
            "vit_small_patch14_reg4_dinov2", img_size=(21, 35), patch_size=7, depth=2, embed_dim=24, num_heads=3
        )
    else:
        model = transformers.IJepaModel(transformers.IJepaConfig(**SIZES, intermediate_size=20))
    return explore(shaken(model), torch.randn(3, 21, 35))


@pytest.fixture
def opened(browser, tmp_path):
    """Opens an explorer as a page of some width; -> the page."""
    pages = []

    def opened(explorer, width=1280):
        pages.append(opened_page(browser, explorer, tmp_path / "page.html", width))
        return pages[-1]

    yield opened
    for page in pages:
        assert page.errors == []
        page.close()


def sentence(explorer, query, names):
    """How the sentence begins that the explorer should say of a query of the last layer's first head."""
    explorer.query = query
    best = int(explorer.attention().argmax())

    def called(token):
        place = token - len(names)
        return f"the {names[token]}" if place < 0 else f"the patch in row {place // COLUMNS}, column {place % COLUMNS}"

    most = "itself" if best == query else called(best)
    return f"n layer 1, head 0, {called(query)} looks most at {most}, with"


@pytest.mark.thorough
@cases("width", [390, 1280])
@cases("kind", ["registers", "distilled"])
def test_pointer_and_keys_reach_each_special_token_by_its_name(opened, kind, width):
    explorer, names = explorer_of(kind), NAMES[kind]
    page = opened(explorer, width)
    chips = page.locator(".vit-chip")
    assert [re.sub(r"\s*\d+\.\d\d\s%$", "", text) for text in chips.all_inner_texts()] == names
    for token in range(len(names)):  # by the pointer
        chips.nth(token).hover()
        drawn(page)
        assert sentence(explorer, token, names) in words(page)
        assert chips.nth(token).get_attribute("aria-pressed") == "true"
    page.mouse.move(0, 0)
    page.locator(".vit-main").focus()
    page.keyboard.press("ArrowDown")  # from the class token to a patch
    for token in [*range(len(names)), 0]:  # by the key, and round again
        page.keyboard.press("c")
        drawn(page)
        assert sentence(explorer, token, names) in words(page)
    for token in range(len(names)):  # by the tabulator, as every button
        chips.nth(token).focus()
        page.keyboard.press("Enter")
        drawn(page)
        assert words(page).startswith(f"Pinned: i{sentence(explorer, token, names)}")
        page.keyboard.press("Escape")
    assert page.get_by_role("group", name="Tokens that are no patches").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs out"
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"explorer-{kind}-{width}.png", full_page=True)


def test_without_such_tokens_nothing_speaks_of_them(opened):
    page = opened(explorer_of("none"))
    assert page.locator(".vit-chip").count() == 0 and page.locator(".vit-chips").is_hidden()
    page.locator(".vit-main").focus()
    before = words(page)
    page.keyboard.press("c")
    drawn(page)
    assert words(page) == before and "token" not in before.split("looks")[0]


def test_side_by_side_a_token_is_the_one_of_the_same_name(opened):
    maps = [torch.randn(1, 1, count + 15, count + 15).softmax(-1) for count in (2, 3)]
    names = [["class token", "register 1"], ["register 1", "distillation token", "class token"]]
    explorer = AttentionExplorer(maps, [torch.rand(3, 9, 15)] * 2, titles=["a", "b"], prefix=names)
    page = opened(explorer)
    for panel, token, here in ((0, 0, "class token"), (0, 1, "register 1"), (1, 0, "register 1")):
        page.locator(".vit-panel").nth(panel).locator(".vit-chip").nth(token).hover()
        drawn(page)
        assert f"a, the {here} looks" in words(page) and f"b, the {here} looks" in words(page)
    page.mouse.move(*patch(page, 1, 2, ROWS, COLUMNS, panel=1))
    drawn(page)
    assert words(page).count("the patch in row 1, column 2 looks") == 2
