"""The kit's pages in a browser, opened from the disk: they ask for their own files alone, and all is to be seen."""

import pytest
from conftest import opening
from explored import NEEDS_CHROMIUM, SCREENSHOTS, violations

from vit_course.teaching.kit.decks import DECKS

READY = "() => window.Reveal && Reveal.isReady()"
# Of the slide that is shown, on the screen: what sticks out, and how large its pictures are.
LOOK = """() => {
  const slide = Reveal.getCurrentSlide(), scale = Reveal.getScale();
  const parts = [...slide.querySelectorAll("h1, h2, p, li, img, table, math")].filter(e => !e.closest("aside"));
  const boxes = parts.map(e => e.getBoundingClientRect());
  const images = [...slide.querySelectorAll("img")];
  return {
    left: Math.min(...boxes.map(b => b.left)), right: Math.max(...boxes.map(b => b.right)),
    top: Math.min(...boxes.map(b => b.top)), bottom: Math.max(...boxes.map(b => b.bottom)),
    images: images.map(e => [e.naturalWidth, e.alt.length, e.clientWidth, e.clientHeight]),
    small: parts.filter(e => e.innerText && parseFloat(getComputedStyle(e).fontSize) < 24).length,
  };
}"""
pytestmark = [pytest.mark.thorough, NEEDS_CHROMIUM]


@pytest.fixture
def shown(browser, kit):
    """A function that opens a page of the kit."""
    with opening(browser, kit) as open_page:
        yield open_page


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("deck", DECKS)
def test_every_slide_is_seen_whole_with_its_picture(shown, deck, width):
    height = 720 if width == 1280 else 844
    page = shown(f"slides/{deck}.html", viewport={"width": width, "height": height})
    page.wait_for_function(READY)
    SCREENSHOTS.mkdir(exist_ok=True)
    for number in range(page.evaluate("Reveal.getTotalSlides()")):
        page.wait_for_function("number => Reveal.getSlidePastCount() === number", arg=number)
        page.wait_for_function("() => [...Reveal.getCurrentSlide().querySelectorAll('img')].every(e => e.complete)")
        found = page.evaluate(LOOK)
        assert found["left"] >= 0 and found["right"] <= width, number
        assert found["top"] >= 0 and found["bottom"] <= height - (30 if width == 1280 else 0), number
        assert found["small"] == 0
        for natural, words, wide, high in found["images"]:
            assert natural > 0 and words > 15
            assert wide > 1000 or high > 400, "as large as the slide allows"
        if number in (0, 4):
            page.screenshot(path=SCREENSHOTS / f"kit-{deck}-{number}-{width}.png")
        page.evaluate("Reveal.next()")
    assert violations(page) == []


def test_the_notes_open_beside_the_slides(shown):
    page = shown("slides/lab.html", viewport={"width": 1280, "height": 720})
    page.wait_for_function(READY)
    with page.context.expect_page() as opened:
        page.keyboard.press("s")
    notes = opened.value
    notes.wait_for_function("() => document.querySelector('.speaker-controls-notes .value')?.innerText.includes('Min')")
    page.keyboard.press("ArrowRight")
    notes.wait_for_function("() => document.body.innerText.includes('Minutes 1 to 4')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "install.html"])
def test_the_pages_are_accessible_and_fit_a_telephone(shown, name, scheme):
    page = shown(name, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"kit-{name}-{scheme}.png", full_page=True)
