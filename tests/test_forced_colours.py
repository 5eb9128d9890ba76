"""In forced colours (Windows' high contrast) each figure still shows what is chosen, and its bars: screenshots."""

import io

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM, SCREENSHOTS, random_panel
from PIL import Image

from vit_course import explorables
from vit_course.explorer import AttentionExplorer

# The largest element of each class that is drawn by its background, the handles, the frame in the grid: -> the classes.
DRAWN = """() => {
    const play = document.querySelector(".vit-explorer");
    const probe = play.appendChild(Object.assign(document.createElement("i"), { style: "color: var(--vit-well)" }));
    const grounds = ["rgba(0, 0, 0, 0)", getComputedStyle(probe).color, getComputedStyle(play).backgroundColor];
    probe.remove();
    const area = (node) => {
        const { width, height } = node.getBoundingClientRect();
        return Math.min(width, height) < 2 ? 0 : width * height;
    };
    const empty = (node) => !node.children.length && !node.textContent.trim() && node.tagName !== "CANVAS";
    const found = {};
    for (const node of play.querySelectorAll("*")) {
        const [name, style] = [node.getAttribute("class"), getComputedStyle(node)];
        if (!name || !empty(node) || style.visibility !== "visible") continue;
        const ground = !grounds.includes(style.backgroundColor) || style.backgroundImage.startsWith("linear");
        const shown = ground || node.matches(".play-grip, .vit-chosen:not(.vit-pointed)");
        if (shown && area(node) > area(found[name] ?? probe)) found[name] = node;
    }
    Object.entries(found).forEach(([name, node], index) => (node.dataset.seen = index));
    return Object.keys(found); }"""


def screen(page) -> np.ndarray:
    """The whole page, (H, W, 3)."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB"), float)


def part(picture: np.ndarray, box: dict) -> np.ndarray:
    """What of a picture of the page lies in a box."""
    (top, left), (bottom, right) = (
        (round(box["y"]), round(box["x"])),
        (box["y"] + box["height"], box["x"] + box["width"]),
    )
    return picture[top : max(round(bottom), top + 1), left : max(round(right), left + 1)]


def ground(picture: np.ndarray, box: dict) -> np.ndarray:
    """The commonest colour in a box."""
    colours, counts = np.unique(part(picture, box).reshape(-1, 3), axis=0, return_counts=True)
    return colours[counts.argmax()]


@pytest.fixture
def forced(browser, tmp_path):
    """Opens a saved figure in forced colours, light or dark; the ones opened are closed at the end."""
    pages = []

    def opened(name: str, scheme: str):
        path = tmp_path / f"{name}.html"
        figure = AttentionExplorer(**random_panel()) if name == "explorer" else getattr(explorables, name)()
        figure.save_html(path, overwrite=True)
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme=scheme, reduced_motion="reduce")
        pages.append(page)
        page.goto(path.as_uri())
        page.wait_for_selector('.vit-explorer[data-drawn="true"]')
        return page

    yield opened
    for page in pages:
        page.close()


@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", ["explorer", *explorables.__all__])
def test_choices_and_bars_are_seen_in_forced_colours(forced, name, some):
    for scheme in some(("light", "dark"), daily=1):
        page = forced(name, scheme)
        drawn = page.evaluate(DRAWN)
        page.emulate_media(forced_colors="active", color_scheme=scheme)
        page.mouse.move(2, 2)
        shown, boxes = screen(page), [page.locator(f"[data-seen='{i}']").bounding_box() for i in range(len(drawn))]
        Image.fromarray(shown.astype(np.uint8)).save(SCREENSHOTS / f"forced_{name}_{scheme}.png")
        for strip in page.locator(".vit-strip:visible").all():
            choices = ("input:checked:enabled", "input:not(:checked):enabled")
            chosen, other = (strip.locator(f"{one} + :is(label, span)") for one in choices)
            if chosen.count() and other.count():
                one, two = (ground(shown, choice.first.bounding_box()) for choice in (chosen, other))
                assert np.abs(one - two).max() > 100, (name, scheme, strip.get_attribute("aria-label"))
        page.add_style_tag(content="[data-seen] { visibility: hidden !important; }")
        change = np.abs(shown - screen(page)).max(2)
        hidden = [one for one, box in zip(drawn, boxes, strict=True) if (part(change, box) > 50).mean() < 0.05]
        assert hidden == [], (name, scheme)
