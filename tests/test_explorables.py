"""The figures that can be dragged: their Python, and in Chromium each against the same numbers in Python."""

import json
import os

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM, SCREENSHOTS, violations
from lab import note_outside
from matplotlib.figure import Figure
from traitlets import TraitError

from vit_course import explorables
from vit_course.__main__ import main
from vit_course._support.widgets.pages import markup, pack, unpack
from vit_course.explorables.gallery import ABOUT, every, together

NAMES = [*ABOUT]
TRIED = os.environ.get("EXPLORABLE", "").split() or NAMES  # while one is being made, EXPLORABLE=NAME chooses it
WITH_WEIGHTS = {"vote", "stream", "eraser"}
# For each goal, in order, a state that reaches it.
OPEN, B16 = ["open", "open"], {"hidden_dim": 768, "num_layers": 12, "mlp_dim": 3072}
REACHED = {
    "attention_by_hand": [
        {"queries": [[-3, 1.8], [-1.4, 0.6], [0.4, -1.8], [1.8, -0.4]], "keys": [[0, 0], [0, 0], [-2, 1.2], [0, 0]]},
        {"heads": 2, "queries": [[3, 3], [0, 0], [0, 0], [0, 0]], "keys": [[0, 0], [3, 0], [0, 0], [0, 3]]},
    ],
    "builder": [B16, {**B16, "patch_size": 32}],
    "cutter": [{"side": 28}, {"stranger": True, "axes": "4235"}],
    "eraser": [{"pins": [37, -1]}, {"pins": [-1, 18]}],
    "film": [{"run": "few", "marks": [0, 0, 10]}, {"run": "recipe", "marks": [16, 0, 0]}],
    "matcher": [
        {"part": "point", "photo": 3, "patch": [6, 12]},
        {"part": "count", "marks": [257, 157]},
        {"part": "count", "marks": [55, 320]},
    ],
    "rope": [{"query": 7, "key": 2}, {"query": 12, "key": 9, "hands": [-172, -54, -17, -5]}],
    "stream": [{"valves": [OPEN, OPEN, ["closed", "open"], OPEN]}, {"valves": [OPEN, OPEN, ["open", "mean"], OPEN]}],
    "two_clocks": [
        {"place": [5, 5], "other": [11, 11], "hands": "hand 0"},
        {"place": [13, 22], "other": [6, 19], "hands": "first eight"},
    ],
    "vote": [{"marked": 6}, {"photograph": "coffee", "covered": [0, 0, 0, 0, 0, 0, 0, 60]}],
}
SHOWN = '.vit-play[data-drawn="true"]'


@pytest.fixture(scope="module")
def figures():
    """All explorables, by their names."""
    return every()


@pytest.fixture(scope="module")
def pages(figures, tmp_path_factory):
    """-> the addresses of their saved pages, by their names."""
    folder = tmp_path_factory.mktemp("play")
    for name, figure in figures.items():
        figure.save_html(folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in figures}


@pytest.fixture
def opened(browser, pages):
    """Opens a page in a state, and closes the one before, which would go on drawing; a fault in a page is a failure."""
    made, wrong = [], []

    def open_page(name, state=None, width=850, **options):
        for page in made:
            page.close()
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        made.append(page)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        note_outside(page)
        query = "&".join(f"{part}={json.dumps(value)}" for part, value in (state or {}).items())
        page.goto(f"{pages[name]}#{name}?{query}" if state else pages[name])
        page.wait_for_selector(SHOWN)
        return page

    yield open_page
    for page in made:
        page.close()
    assert (wrong, [address for page in made for address in page.outside]) == ([], [])


def drawn_state(table: dict, counts: dict, draw: np.random.Generator) -> dict:
    """A state of random values, each within its range."""

    def one(part, shape):
        if shape:
            return [one(part, shape[1:]) for _ in range(shape[0])]
        if "choices" in part:
            return part["choices"][draw.integers(len(part["choices"]))]
        if part.get("flag"):
            return bool(draw.integers(2))
        least = part["least"]
        most = counts[part["counts"]] - 1 if "counts" in part else part["most"]
        return int(draw.integers(least, most + 1)) if part.get("whole") else round(float(draw.uniform(least, most)), 3)

    return {name: one(part, part.get("shape", [])) for name, part in table.items()}


@pytest.mark.slow
def test_all_are_there_and_each_is_a_widget_with_a_still(figures):
    assert list(figures) == list(ABOUT)
    for name, figure in figures.items():
        assert isinstance(figure.figure(), Figure) and str(figure) == f"explorables.{name}()"
        (_, about), (words, _) = figure._still()
        assert len(about["image/png"]["alt"]) > 40 and "run this cell" in words["text/html"], name
        view = pack(figure.everything())
        assert unpack(json.loads(json.dumps(view))) == figure.everything()


def test_the_cat_has_one_crop_in_every_figure_and_each_says_so(figures):
    """The pixels of the cat in the three figures that run a model on it are the same."""
    size, seen = 32 * 32 * 3, []
    for name, part in (("vote", "pixels"), ("stream", "pixels"), ("eraser", "photos")):
        facts, data = figures[name]._facts, figures[name]._data
        at = next(section["at"] for section in facts["sections"] if section["name"] == part)
        seen.append(bytes(data)[at : at + size])
        assert "only the face" in facts["cropped"]["cat"]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("name", TRIED)
def test_script_and_data_are_light(figures, name):
    figure = figures[name]
    size = len(figure._data) + len((figure._esm + figure._css).encode())
    assert size < (400_000 if name in WITH_WEIGHTS else 150_000), size


@pytest.mark.parametrize("name", TRIED)
def test_a_state_that_cannot_be_is_refused_in_a_sentence(figures, name):
    make, figure = getattr(explorables, name), figures[name]
    with pytest.raises(ValueError, match="there is no colour; the names are "):
        make(colour=1)
    for part in figure._table:
        with pytest.raises(ValueError, match=f"{part} must be .*, got 'much'"):
            make(**{part: "much"})
        before = dict(figure.state)
        with pytest.raises(TraitError, match=f"{part} must be "):
            figure.state = {part: "much"}
        assert figure.state == before


def test_the_command_writes_pages_and_renews_only_its_own(tmp_path, capsys):
    folder = tmp_path / "play"
    assert main(["play", str(folder)]) == 0
    assert {path.stem for path in folder.glob("*.html")} == {*NAMES, "index"}
    assert main(["play", str(folder)]) == 2 and "add --force" in capsys.readouterr().err
    page = (folder / "vote.html").read_text()
    assert all(f'<a href="{other}.html">' in page for other in ("index", "cutter", "two_clocks"))
    (folder / "mine.txt").write_text("mine")
    assert main(["play", str(folder), "--force"]) == 0 and (folder / "mine.txt").exists()


@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", TRIED)
def test_the_page_answers_as_python_does_to_keys_and_pointer_at_every_width(figures, opened, name, thorough, some):
    page, sizes = opened(name), ((390, "light"), (1280, "dark"), (390, "dark"), (850, "light"))
    computes_what_python_computes(page, figures[name], (8 if name in WITH_WEIGHTS else 20) if thorough else 2)
    keys_move_what_can_be_dragged(page)
    if name in some(TRIED, daily=4):
        a_pointer_moves_it_and_the_state_lasts(page, name)
        it_fits_and_everybody_can_use_it(page, name, some(sizes))


def computes_what_python_computes(page, figure, states: int) -> None:
    draw = np.random.default_rng(0)
    compute = """([values]) => { const { kind, state, things } = document.querySelector(".vit-play").play;
        const plain = (x) => ArrayBuffer.isView(x) ? Array.from(x) : Array.isArray(x) ? x.map(plain) : x;
        things.finish?.({ ...state, ...values });
        const found = kind.compute({ ...state, ...values }, things);
        return Object.fromEntries(Object.entries(found).map(([name, x]) => [name, plain(x)])); }"""
    for _ in range(states):
        state = drawn_state(figure._table, figure._facts.get("counts", {}), draw)
        ours, theirs = figure.computed(state), page.evaluate(compute, [state])
        both = ours.keys() & theirs.keys()
        assert both == ours.keys(), "what Python computes the page computes too"
        for part in both:
            if isinstance(ours[part], str):
                assert theirs[part] == ours[part], (part, state)
            else:
                np.testing.assert_allclose(theirs[part], ours[part], atol=1e-5, rtol=1e-5, err_msg=f"{part} of {state}")


def keys_move_what_can_be_dragged(page) -> None:
    handles = page.locator('[role="slider"]')
    assert handles.count()
    for index in range(min(handles.count(), 4)):
        handle = handles.nth(index)
        handle.focus()
        found = {handle.get_attribute("aria-valuetext")}
        for key in ("ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"):
            handles.nth(index).press(key)
            page.wait_for_selector(SHOWN)
            found.add(handles.nth(index).get_attribute("aria-valuetext"))
        assert len(found) > 1 and None not in found, f"handle {index} says nothing new"


def a_pointer_moves_it_and_the_state_lasts(page, name: str) -> None:
    handle = page.locator('[role="slider"]').first
    handle.scroll_into_view_if_needed()
    grips = handle.locator(".play-grip")  # an arrow is taken by its head
    box = (grips.first if grips.count() else handle).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    play = "document.querySelector('.vit-play').play"
    before = page.evaluate(f"JSON.stringify({play}.state)")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(x - 12 * step, y - 9 * step)
    page.mouse.up()
    page.wait_for_selector(SHOWN)
    state, kept = page.evaluate(f"[{play}.state, {play}.model.get('state')].map(JSON.stringify)")
    assert state != before and kept == state and f"#{name}?" in page.url
    page.get_by_role("button", name="Start again").click()
    page.wait_for_selector(SHOWN)
    assert page.url.endswith(f"#{name}")


def it_fits_and_everybody_can_use_it(page, name: str, sizes) -> None:
    for width, scheme in sizes:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
        assert violations(page) == [], (name, width, scheme)
        page.screenshot(path=SCREENSHOTS / f"play_{name}_{width}_{scheme}.png", full_page=True)


@pytest.mark.thorough
@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", TRIED)
def test_no_goal_is_reached_at_first_and_each_by_the_state_that_is_known(opened, name):
    assert opened(name).locator(".vit-play").get_attribute("data-reached") == ""
    first, *others = REACHED[name]
    page = opened(name, first)
    page.wait_for_selector(".play-done")
    assert "Reached." in page.locator(".play-goals").inner_text()
    for index, state in enumerate(others, start=1):
        anew = "(state) => { const { play } = document.querySelector('.vit-play'); play.reached.clear(); %s; }"
        page.evaluate(anew % "play.set(state)", first_state(page) | state)
        page.wait_for_function(f"document.querySelector('.vit-play').dataset.reached.split(' ').includes('{index}')")


def first_state(page) -> dict:
    """The usual values of the figure on the page."""
    table = page.evaluate("document.querySelector('.vit-play').play.table")
    return {name: part["usual"] for name, part in table.items()}


@NEEDS_CHROMIUM
def test_what_has_not_changed_is_neither_drawn_nor_computed_again(opened):
    found = opened("rope").evaluate("""() => { const { play } = document.querySelector(".vit-play");
        const [{ compute }, drawn, counts] = [play.kind, [], []];
        let count = 0;
        play.kind.compute = (...all) => (count++, compute(...all));
        for (const [values, lasts] of [[{ key: play.state.key }, false], [{}, true], [{ key: 1 }, false]]) {
            play.set(values, lasts), drawn.push(play.root.dataset.drawn), play.draw(), counts.push(count); }
        return [drawn, counts]; }""")
    assert found == [["true", "false", "false"], [0, 0, 1]]


@pytest.mark.thorough
@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", TRIED)
def test_an_address_that_cannot_be_is_refused_and_the_rest_is_shown(opened, name):
    said = "The address of this page asks for something that cannot be shown: "
    page = opened(name, {"colour": 1})
    assert f"{said}there is no colour; the names are " in page.inner_text("[role=alert]")
    part = page.evaluate("Object.keys(document.querySelector('.vit-play').play.table)[0]")
    page = opened(name, {part: "much"})
    assert f"{said}{part} must be " in page.inner_text("[role=alert]")


@pytest.mark.thorough
@NEEDS_CHROMIUM
def test_figures_of_one_page_keep_apart(browser, figures, tmp_path):
    path = tmp_path / "all.html"
    first = markup(explorables.attention_by_hand(asking=2).everything())
    body = together(figures).replace("<p>", f"{first}<p>", 1)
    path.write_text(f"<!doctype html><html lang=en><meta charset=utf-8><title>all</title>{body}")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_function(f"document.querySelectorAll('{SHOWN}').length === {len(figures) + 1}")
    states = "[...document.querySelectorAll('.vit-play')].map((one) => JSON.stringify(one.play.state))"
    before = page.evaluate(states)
    handle = page.locator('.vit-play[data-name="attention_by_hand"]').first.locator('[role="slider"]').first
    handle.focus()
    handle.press("ArrowRight")
    page.wait_for_function(f"document.querySelectorAll('{SHOWN}').length === {len(figures) + 1}")
    changed = [a != b for a, b in zip(before, page.evaluate(states), strict=True)]
    assert sum(changed) == 1 and changed[0]
    page.close()
