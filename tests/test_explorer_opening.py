"""The first thirty seconds of a newcomer: what an explorer opens on, what it says first, the hand that moves once."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM, choose, drawn, maps_of, opening, pixels, random_panel, says
from explorer_parts import arrays, call, module_page, small_panel
from PIL import Image
from sent import picture_of

from vit_course import pretrained
from vit_course.__main__ import main
from vit_course.explorer import AttentionExplorer, explore
from vit_course.explorer.opening_view import find_opening
from vit_course.explorer.panel import Maps, QueriesAndKeys
from vit_course.maps.models.tokens import Tokens

ROWS, COLUMNS, LAYERS, HEADS = 7, 9, 4, 2
N = ROWS * COLUMNS
ORDER = Tokens(("class token",), (ROWS, COLUMNS))


@pytest.fixture
def opened(browser, tmp_path):
    with opening(browser, tmp_path / "page.html") as opened:
        yield opened


def planted(*rows: tuple[int, int, int, dict[int, float]]) -> torch.Tensor:
    """Even maps (L, h, T, T), but for rows (layer, head, patch, {patch: weight}) whose other weights stay even."""
    maps = torch.full((LAYERS, HEADS, 1 + N, 1 + N), 1 / (1 + N))
    for layer, head, patch, weights in rows:
        maps[layer, head, 1 + patch] = (1 - sum(weights.values())) / (1 + N - len(weights))
        for other, weight in weights.items():
            maps[layer, head, 1 + patch, 1 + other] = weight
    return maps


def at(row: int, column: int) -> int:
    return row * COLUMNS + column


def test_it_opens_where_one_patch_looks_at_distant_ones_that_others_do_not_look_at():
    eye = (2, 1, at(1, 1), {at(5, 7): 0.3, at(4, 6): 0.3})
    near = (3, 0, at(3, 3), {at(3, 4): 0.9})
    border = (3, 1, at(5, 2), {at(0, 8): 0.9})
    early = (1, 0, at(1, 1), {at(5, 7): 0.9})
    sink = [(2, 0, patch, {at(2, 7): 0.9}) for patch in range(N)]
    maps = planted(eye, near, border, early, *sink)
    found = {"layer": 2, "head": 1, "query": 1 + at(1, 1)}
    assert find_opening(Maps(maps), ORDER) == found
    explorer = AttentionExplorer(maps, torch.rand(3, 7, 9))
    assert {name: getattr(explorer, name) for name in found} == found == explorer._panels[0]["telling"]
    assert find_opening(Maps(planted(*sink)), ORDER) is None, "from everywhere it looks the same"
    for given in ({"layer": 1}, {"head": 0}, {"query": 3}, {"fusion": "mean"}, {"direction": "from"}):
        explorer = AttentionExplorer(maps, torch.rand(3, 7, 9), **given)
        wanted = {"layer": 3, "head": 0, "query": 0, "fusion": "head", "direction": "from"} | given
        assert {name: getattr(explorer, name) for name in wanted} == wanted and not explorer._panels[0]["telling"]


@pytest.mark.parametrize("grid", [(1, 1), (1, 2), (2, 2), (1, 6), (3, 3)])
def test_a_picture_of_few_patches_opens_all_the_same(grid):
    explorer = AttentionExplorer(**random_panel(grid=grid))
    assert explorer.layer >= (0 if explorer._panels[0]["telling"] else 2)


@NEEDS_CHROMIUM
def test_the_browser_finds_the_same(browser):
    page = module_page(browser)
    for seed, sizes in enumerate([{}, {"rows": 1}, {"rows": 9, "columns": 8, "layers": 3}, {"rows": 1, "columns": 1}]):
        given = small_panel(seed, **sizes)
        q, k, _ = map(torch.from_numpy, arrays(given))
        order = Tokens(("class token",), (given["rows"], given["columns"]))
        js = "m.findOpening(Object.assign(panelOf(typed(a)), { patches: a.rows * a.columns }))"
        found = call(page, "opening_view", js, given)
        assert found == find_opening(QueriesAndKeys(q, k), order) and (found is None) == (order.grid == (1, 1))
    page.close()


@NEEDS_CHROMIUM
def test_the_first_sentence_says_what_light_means_and_where_it_falls(opened):
    given = random_panel()
    page = opened(AttentionExplorer(**given))
    found = find_opening(QueriesAndKeys(*given["maps"]), Tokens(("class token",), given["grid"]))
    assert page.get_by_text(f"Opened on layer {found['layer']}, head {found['head']}, where").is_visible()
    map_ = maps_of(*given["maps"])[found["layer"], found["head"], found["query"]].copy()
    map_[[0, found["query"]]] = 0
    row, column = divmod(int(map_.argmax()) - 1, 8)
    text = page.inner_text(".vit-lead")
    sides = {"upper": row + 0.5 < 2, "lower": row + 0.5 > 3, "left": column + 0.5 < 3.2, "right": column + 0.5 > 4.8}
    assert text.startswith("The photograph is bright where the framed patch looks, most of all at the ringed one ")
    assert {side for side in sides if re.search(rf"\b{side}\b", text)} == {
        side for side, true in sides.items() if true and (side in ("left", "right") or column not in (3, 4))
    }
    page.get_by_role("button", name="class token").hover()
    says(page, "the class token looks most")
    assert "the class token looks, most" in page.inner_text(".vit-lead")
    assert "stands for the whole picture" in page.inner_text(".vit-lead")
    page.get_by_role("button", name="Take the tour").click()
    page.locator(".vit-tour-body").wait_for()
    assert page.locator(".vit-tour-offer").is_hidden()


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [390, 850, 1280])
def test_sentences_of_other_lengths_leave_the_buttons_where_they_are(opened, width):
    page = opened(AttentionExplorer(**random_panel()), width=width)
    offer = page.get_by_role("button", name="Take the tour")
    before = offer.bounding_box()
    page.get_by_role("button", name="class token").hover()
    says(page, "the class token looks most")
    assert offer.bounding_box() == before


@NEEDS_CHROMIUM
def test_a_ring_marks_the_strongest_patch(opened):
    maps = planted((3, 0, at(1, 1), {at(5, 7): 0.6}))
    page = opened(AttentionExplorer(maps, torch.full((3, 70, 90), 0.5)))
    rings = page.evaluate(
        """() => { const c = document.querySelector(".vit-main canvas"), x = c.getContext("2d");
        const r = Math.max(c.width / 9, c.height / 7) / Math.SQRT2;
        const white = (row, column) => Array.from({ length: 64 }, (_, i) => {
          const a = i * Math.PI / 32, [u, v] = [(column + .5) * c.width / 9, (row + .5) * c.height / 7];
          return x.getImageData(u + r * Math.cos(a), v + r * Math.sin(a), 1, 1).data[0] > 200;
          }).filter(Boolean).length;
        return [white(5, 7), white(3, 4)]; }"""
    )
    assert rings[0] > 40 and rings[1] < 5


@pytest.mark.thorough
@NEEDS_CHROMIUM
def test_the_hand_moves_once(opened):
    page = opened(AttentionExplorer(**random_panel()), reduced_motion="no-preference")
    start = page.get_attribute(".vit-explorer", "data-query")
    page.wait_for_selector(".vit-hand")
    page.wait_for_function(f"document.querySelector('.vit-explorer').dataset.query !== '{start}'")
    assert page.get_attribute(".vit-words", "aria-live") == "off", "nobody is read what it passes"
    page.keyboard.press("Shift")
    page.wait_for_selector(".vit-hand", state="detached")
    page.wait_for_selector(f".vit-explorer[data-query='{start}']")
    drawn(page)
    assert page.evaluate("window.vitHand") and page.get_attribute(".vit-words", "aria-live") == "polite"


@NEEDS_CHROMIUM
def test_the_hand_does_not_begin_where_motion_is_reduced(browser):
    page = module_page(browser)
    hand = "new m.Hand({ get: () => a }, { main: document.body })"
    begins = f"(h => (h.draw([{{ q: 1, best: 2 }}]), h.end(), h.begun ?? null))({hand})"
    assert call(page, "hand", begins, False) is None
    page.emulate_media(reduced_motion="no-preference")
    assert call(page, "hand", begins, False) == [1, 2]
    assert call(page, "hand", begins, True) is None, "who has pinned a patch, or takes the tour, is busy"
    page.close()


@pytest.mark.thorough
@NEEDS_CHROMIUM
def test_what_was_cut_off_is_said_and_shown_and_the_rest_is_sharp(opened):
    photograph = Image.new("RGB", (900, 600), "red")
    photograph.paste("blue", (150, 0, 750, 600))  # the middle square
    explorer = explore(pretrained.load_run("vit-s14"), photograph)
    (panel,) = explorer._panels
    assert panel["kept"] == pytest.approx([1, 2 / 3], abs=0.01)
    page = opened(explorer)
    page.get_by_text("The model sees only the middle: 67 % of the photograph's width").click()
    page.wait_for_selector(".vit-whole[data-drawn]")
    picture = pixels(page, ".vit-whole")
    assert picture.shape[:2] == (427, 640), "its longer side is bounded"
    inside, outside = picture[200, 300], picture[200, 40]
    assert inside[2] > 200 and inside[0] < 50 and 60 < outside[0] < 140 and outside[2] < 50, "and the rest is dark"
    square = explore(pretrained.load_run("vit-s14"), photograph.crop((150, 0, 750, 600)))
    assert square._panels[0]["kept"] is None
    # It is drawn from the photograph itself; of two, both or neither.
    assert [picture_of(one).shape for one in (explorer, square)] == [(600, 600, 3)] * 2
    assert picture_of(explorer)[..., 2].min() > 200 and panel["width"] == 224
    beside = explore(pretrained.load_run("vit-s14"), photograph, beside="flipped")
    assert [picture_of(beside, i).shape for i in (0, 1)] == [(224, 224, 3)] * 2
    assert picture_of(explore(pretrained.load_run("tiny-cifar"), photograph)).shape == (32, 32, 3)


@pytest.mark.thorough
@NEEDS_CHROMIUM
def test_why_there_speaks_of_what_is_shown_and_of_the_ringed_patch(opened):
    given = random_panel()
    page = opened(AttentionExplorer(**given, head=0, query=1 + 20, details=True))
    words = page.locator(".vit-why-words")
    ringed = maps_of(*given["maps"])[2, 0, 21].copy()
    ringed[[0, 21]] = 0
    row, column = divmod(int(ringed.argmax()) - 1, 8)
    words.get_by_text(f"of its attention to the patch in row {row}, column {column},").wait_for()
    features = given["features"].numpy()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosines = unit @ unit[21]
    cosines[[0, 21]] = -2
    choose(page, "Similarity")
    words.get_by_text(f"These two tokens have a cosine of {cosines.max():.2f}").wait_for()
    row, column = divmod(int(cosines.argmax()) - 1, 8)
    words.get_by_text(f"of its attention to the patch in row {row}, column {column},").wait_for()
    choose(page, "Colours")
    words.get_by_text("Colours compare the tokens after the last layer").wait_for()


@NEEDS_CHROMIUM
def test_forced_colours_show_which_choice_is_on(opened):
    page = opened(AttentionExplorer(**random_panel()), forced_colors="active")

    def ground(locator):
        picture = np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB"))
        return tuple(picture[4, picture.shape[1] // 2])  # above the letters

    chosen, other = (page.locator(f".vit-strip-overlay label:text-is('{name}')") for name in ("Spotlight", "Heat"))
    assert ground(chosen) != ground(other)
    page.locator(".vit-chip").click()
    page.wait_for_selector(".vit-chip[aria-pressed=true]")
    page.mouse.move(2, 2)
    assert ground(page.locator(".vit-chip")) == ground(chosen)


@NEEDS_CHROMIUM
def test_a_page_says_what_it_is_to_who_links_to_it_and_to_who_has_no_javascript(browser, tmp_path):
    path = tmp_path / "page.html"
    AttentionExplorer(**random_panel()).save_html(path, title="Cat & dog")
    page = browser.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    assert page.locator("noscript p").is_visible()
    assert page.locator("meta[property='og:title']").get_attribute("content") == "Cat & dog"
    assert page.locator("link[rel=icon]").get_attribute("href").startswith("data:image/svg+xml,")
    page.close()


@pytest.mark.thorough
@NEEDS_CHROMIUM
@pytest.mark.parametrize(("width", "least"), [(1280, 550), (1920, 750)])
def test_a_wide_screen_has_a_large_photograph(opened, width, least):
    page = opened(AttentionExplorer(**random_panel(grid=(8, 8)), head=0), width=width, height=1000)
    box = page.locator(".vit-main").bounding_box()
    assert box["width"] >= least and box["y"] + box["height"] < 1000


@pytest.mark.slow
def test_explore_warns_of_a_page_that_grows_large(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.effect_noise((90, 60), 80).save("photograph.png")
    monkeypatch.setattr("vit_course.commands.explore.LARGE", 3_000_000)
    assert main(["explore", "photograph.png"]) == 0
    about, size = re.search(r"will be about (\d+) MB .* --image-size (\d+) keeps", capsys.readouterr().out).groups()
    assert float(about) == pytest.approx(Path("photograph.html").stat().st_size / 1e6, abs=0.7)
    assert main(["explore", "photograph.png", "--image-size", size, "--force"]) == 0
    assert "will have" not in capsys.readouterr().out and Path("photograph.html").stat().st_size < 3_300_000
    assert int(size) == 154 and 154 % 14 == 0, "the next size, 168, would take more"
