"""The story on the site's first page: what is stored; in Chromium its steps by scroll, keys, buttons and pointer."""

import numpy as np
import pytest
from conftest import ROOT
from explored import NEEDS_CHROMIUM, SCREENSHOTS, violations
from lab import note_outside

from vit_course import data, explorables
from vit_course._support.widgets import scripts
from vit_course.explorables.story import values
from vit_course.teaching.site.landing import first_page

STEPS = 11  # with the title
STORY = "document.querySelector('.story')"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of the story as a file."""
    path = tmp_path_factory.mktemp("story") / "story.html"
    explorables.story().save_html(path)
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """Opens the story, with reduced motion by default; at the end no page had an error or asked for others."""
    pages = []

    def open_page(width=1280, height=800, **options):
        page = browser.new_page(viewport={"width": width, "height": height}, **options)
        pages.append(page)
        note_outside(page)
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.goto(address)
        arrived(page, 0)
        return page

    yield open_page
    for page in pages:
        assert (page.wrong, page.outside) == ([], [])
        page.close()


def arrived(page, scene: int) -> None:
    """Waits until a scene is drawn and nothing moves."""
    page.wait_for_function(f"{STORY}?.dataset.scene === '{scene}' && {STORY}.dataset.drawn === 'true'")


def line(page) -> str:
    return page.locator(".story-said").inner_text().replace("\u00a0", " ").replace("\u202f", " ")


def part(page, name: str):
    return page.evaluate(f"{STORY}.story.{name}")


def at(page, scene: int) -> None:
    page.evaluate(f"{STORY}.story.go({scene})")
    arrived(page, scene)


def press_on_canvas(page, x: float, y: float) -> None:
    box = page.locator(".story-canvas").bounding_box()
    page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])


@NEEDS_CHROMIUM
def test_buttons_keys_and_scroll_lead_through_all_steps(opened):
    page = opened(reduced_motion="no-preference")
    assert page.get_by_role("button", name="Back").is_disabled()
    page.get_by_role("button", name="Begin").click()
    arrived(page, 1)
    for scene in range(2, STEPS):
        page.get_by_role("button", name="Next").click()
        arrived(page, scene)
    assert page.get_by_role("button", name="Next").is_disabled()
    page.locator("body").press("ArrowLeft")
    arrived(page, STEPS - 2)
    page.keyboard.press("Home")
    arrived(page, 0)
    page.locator(".story-step").nth(4).scroll_into_view_if_needed()
    page.locator(".story-step").nth(5).evaluate("e => e.scrollIntoView({ block: 'center' })")
    arrived(page, 5)
    assert page.locator(".story-step[data-now] h2").inner_text().endswith("One square asks all the others")
    page.locator("body").press("ArrowLeft")
    arrived(page, 4)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Shuffle again", "Tab leads into the step"
    arrived(page, 4)


@NEEDS_CHROMIUM
def test_what_can_be_changed_answers_to_pointer_and_keys(opened):
    page = opened()
    at(page, 4)
    said = (
        "When the squares are shuffled, the share of “cat”, one of ten words, falls. Without places it stays the same."
    )
    assert line(page) == said
    page.get_by_role("button", name="Shuffle again").click()
    page.wait_for_function(f"{STORY}.story.shuffle === 2")
    at(page, 5)
    assert line(page) == "Of its attention, 40 % stays on its own eye, and 49 % goes to the other one."
    page.locator(".story-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"{STORY}.story.asked === 117 && {STORY}.innerText.includes('This square looks most at')")
    at(page, 6)
    page.locator(".story-canvas").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.story-said').textContent.includes('head 4 of the tenth layer')")
    at(page, 7)
    assert part(page, "layer") == 12 and "nearly the same (0.94 of at most 1)" in line(page)
    page.get_by_role("slider").press("Home")
    page.wait_for_function("document.querySelector('.story-said').textContent.startsWith('Before the first layer')")
    assert "a little alike (0.46 of at most 1)" in line(page)
    at(page, 9)
    assert line(page).startswith("Without head 4 of the tenth layer, the summary moves by "), "the map of step 6"
    press_on_canvas(page, 0.045 + 3.5 * 0.935 / 12, 0.055 + 4.5 * 0.46 / 6)
    page.wait_for_function("document.querySelector('.story-said').textContent.includes('fourth')")
    assert line(page).startswith("Without head 5 of the fourth layer, the summary moves by 0.114 (1 would be ")
    assert line(page).endswith("; no other moves it more.")
    page.locator(".story-canvas").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"{STORY}.story.removed === null")


@NEEDS_CHROMIUM
def test_jupyterlab_shows_the_story_in_a_frame(browser):
    page = browser.new_page(viewport={"width": 850, "height": 800})
    page.set_content(f"<!doctype html><p>A cell</p>{explorables.story()._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Begin").click()
    frame.locator(".story[data-scene='1'][data-drawn='true']").wait_for()
    page.screenshot(path=SCREENSHOTS / "story_in_a_frame.png")
    page.close()


@NEEDS_CHROMIUM
def test_scrolling_moves_through_the_layers(opened):
    page = opened(reduced_motion="no-preference")
    step = page.locator(".story-long")
    layers = []
    for share in (0.3, 0.5, 0.7):
        to = f"e => scrollTo(0, scrollY + e.getBoundingClientRect().top + {share} * e.offsetHeight - innerHeight / 2)"
        step.evaluate(to)
        page.wait_for_function(f"Math.abs({STORY}.story.part - {share}) < 0.01")
        arrived(page, 7)
        layers.append(part(page, "layer"))
    assert layers == [1, 6, 11]


@NEEDS_CHROMIUM
def test_with_reduced_motion_there_are_steps_and_no_flights(opened):
    page = opened()
    found = page.evaluate(f"""async () => {{
        const {{ story }} = {STORY}, seen = new Set();
        const draw = story.stage.draw.bind(story.stage);
        story.stage.draw = (at, ...more) => (seen.add(at), draw(at, ...more));
        for (let y = 0; y < document.documentElement.scrollHeight; y += 60) {{
            scrollTo(0, y);
            await new Promise(requestAnimationFrame);
        }}
        return [...seen];
    }}""")
    assert len(found) > 5 and all(float(one).is_integer() for one in found)


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width, scheme", [(390, "light"), (850, "dark"), (1280, "light"), (1920, "dark")])
def test_it_fits_and_everybody_can_use_it(opened, width, scheme):
    page = opened(width, 844 if width == 390 else 900, color_scheme=scheme)
    for scene in range(STEPS):
        at(page, scene)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        canvas = page.locator(".story-canvas")
        assert len(page.locator(f"#{canvas.get_attribute('aria-labelledby')}").inner_text()) > 40
        box, words = canvas.bounding_box(), page.locator(".story-step[data-now] :is(h1, h2)").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] < page.viewport_size["height"]
        assert 0 <= words["y"] < page.viewport_size["height"] - words["height"]
        assert width < 860 or words["x"] + words["width"] <= box["x"]
        page.screenshot(path=SCREENSHOTS / f"story_{scene:02d}_{width}_{scheme}.png")
    assert violations(page) == []


@NEEDS_CHROMIUM
def test_on_paper_there_is_a_picture_for_each_step(opened):
    page = opened()
    page.emulate_media(media="print")
    page.wait_for_function(f"document.querySelectorAll('.story-print').length === {STEPS}")
    blank = """() => [...document.querySelectorAll(".story-print")].filter((one) =>
        !one.getContext("2d").getImageData(0, 0, 720, 720).data.some(Boolean)).length"""
    assert page.evaluate(blank) == 0 and not page.locator(".story-stage").is_visible()


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width, scheme", [(390, "dark"), (1280, "light")])
def test_the_first_page_has_chapters_below_the_story_and_is_small(browser, tmp_path, width, scheme):
    path = tmp_path / "index.html"
    path.write_bytes(first_page((ROOT / "README.md").read_text(encoding="utf-8")))
    assert path.stat().st_size < 300_000
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    note_outside(page)
    page.goto(path.as_uri())
    arrived(page, 0)
    assert page.locator("h1").bounding_box()["y"] < 844 and "python -m http.server" in page.inner_text(".story-loads")
    assert not page.get_by_role("button", name="Use your own photograph").is_visible(), "as a file it cannot"
    assert violations(page) == []
    box, next_one = None, page.get_by_role("button", name="Next")
    for scene in range(3 if width > 860 else 0):
        assert box in (None, next_one.bounding_box()), "a second press would miss it"
        box = next_one.bounding_box()
        next_one.click()
        arrived(page, scene + 1)
    page.get_by_role("link", name="Chapters", exact=True).click()
    page.wait_for_function("document.querySelector('#the-chapters').getBoundingClientRect().top < 100")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".chapters li").count() == 16 and page.outside == []
    page.evaluate("localStorage.setItem('mode', 'dark')")
    page.reload()
    arrived(page, 10)
    assert page.locator(".story").evaluate("e => getComputedStyle(e).colorScheme") == "dark", (
        "as chosen on another page"
    )
    page.close()


@pytest.mark.thorough
@NEEDS_CHROMIUM
def test_a_visitors_photograph_is_computed_in_the_browser_as_in_python(browser, live_folder, tmp_path):
    from served import served

    (tmp_path / "index.html").write_bytes(first_page((ROOT / "README.md").read_text(encoding="utf-8")))
    (tmp_path / "live").mkdir()
    worker = scripts.PACKAGE / "explorables" / "static" / "story_worker.js"
    for path in [worker, *(path for path in live_folder.iterdir() if path.name != worker.name)]:
        (tmp_path / "live" / path.name).symlink_to(path)
    with served(tmp_path) as server:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        note_outside(page)
        page.goto(server.address)
        arrived(page, 0)
        page.set_input_files("input[type=file]", data.photographs()["cat"].path)
        arrived(page, 1)
        at(page, 9)
        ours = f"{STORY}.story.values"
        page.wait_for_function(f"{ours}.own && !{ours}.waits && {ours}.shuffled.none[5] > 0")
        page.wait_for_function(f"{STORY}.story.values.changed[{STORY}.story.removed] >= 0")
        theirs = page.evaluate(f"""() => {{ const {{ values, removed }} = {STORY}.story, {{ query, partner }} = values;
            return {{ query, map: values.map, word: values.words[0], row: [...values.row(query)], removed,
                moves: values.changed[removed], none: [...values.shuffled.none], places: [...values.shuffled.places],
                words: {STORY}.innerText }}; }}""")
        assert page.outside == [] and "All numbers are now those of your photograph" in theirs["words"]
        assert [name for name in server.asked if "cat" in name] == [], "the photograph is not asked for, and not sent"
        page.close()
    found, query = values(), theirs["query"]
    assert theirs["map"] == {"layer": 8, "head": 3} and theirs["word"][0] == "cat"
    assert abs(theirs["word"][1] - found["shuffled"][0, 0, 3]) < 1e-3
    assert abs(theirs["places"][0] - found["shuffled"][0, 0, 3]) < 1e-3 and max(theirs["places"][1:]) < 0.95
    np.testing.assert_allclose(theirs["none"], found["shuffled"][1, :, 3], atol=2e-3)
    np.testing.assert_allclose(theirs["row"], found["rows"][query] / 255 * found["largest"][query], atol=0.003)
    assert theirs["removed"] == 8 * 6 + 3 and abs(theirs["moves"] - found["changed"][0, 51]) < 2e-3
