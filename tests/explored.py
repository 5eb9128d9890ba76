"""Helpers for pages in a browser: accessibility violations, explorers with random numbers, and what they show."""

import base64
import io
import os
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT
from lab import PATIENCE, chromium, note_outside
from PIL import Image
from playwright.sync_api import Page, TimeoutError

from vit_course.attention import attention_weights

FIELD = ".jp-OutputArea .vit-upload"
SCREENSHOTS = ROOT / "screenshots"
# In CI a missing browser is a failure; a learner's machine may have none.
NEEDS_CHROMIUM = pytest.mark.skipif(
    chromium() is None and not os.environ.get("CI"),
    reason="no Chromium or Chrome on this machine: what is tested without a browser is not looked at in one",
)


# During a transition, a colour is neither the old nor the new one.
AT_REST = """() => document.fonts.status === "loaded" && document.getAnimations().every((one) =>
    !(one instanceof CSSTransition) || one.playState !== "running")"""


def at_rest(page) -> None:
    """Waits until every font is there and every transition has ended."""
    page.wait_for_function(AT_REST)


def violations(page, context: str | None = None) -> list[tuple[str, list[str]]]:
    """The accessibility violations (rule, elements) in the page at rest, or in the part that a selector names."""
    at_rest(page)
    # A page opened from a file may not fetch others, so axe must not preload the style sheets.
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [(rule["id"], [node["html"][:300] for node in rule["nodes"]]) for rule in found]


def random_panel(seed=0, layers=3, heads=4, grid=(5, 8), dim=6, names=("class token",), width=24) -> dict:
    """The arguments of an `AttentionExplorer` with random numbers; no two sizes are alike."""
    draw = np.random.default_rng(seed)
    tokens = len(names) + grid[0] * grid[1]
    shape = (layers, heads, tokens, dim)
    picture = np.kron(draw.integers(40, 256, (3, *grid)), np.ones((1, 9, 9))).astype(np.uint8)
    queries, keys = (torch.from_numpy(1.5 * draw.standard_normal(shape).astype(np.float32)) for _ in range(2))
    features = torch.from_numpy(draw.standard_normal((tokens, width)).astype(np.float32))
    return dict(maps=(queries, keys + 2), image=torch.from_numpy(picture), grid=grid, prefix=list(names),
                features=features)  # fmt: skip


def maps_of(queries, keys) -> np.ndarray:
    """The attention maps (L, h, T, T) of queries and keys (L, h, T, d)."""
    return attention_weights(*(torch.as_tensor(one).double() for one in (queries, keys))).numpy()


def watch(page: Page) -> None:
    note_outside(page)
    page.frames_sent, page.errors = 0, []
    page.on("pageerror", lambda error: page.errors.append(str(error)))

    def count(_):
        page.frames_sent += 1

    page.on("websocket", lambda socket: socket.on("framesent", count))


def patch(page: Page, row: int, column: int, rows: int = 8, columns: int = 8, panel: int = 0) -> tuple[float, float]:
    box = page.locator(".vit-main").nth(panel).bounding_box()
    return box["x"] + (column + 0.5) / columns * box["width"], box["y"] + (row + 0.5) / rows * box["height"]


def point(page: Page, row: int, column: int, rows: int, columns: int, prefix: int = 1) -> None:
    """Points at a patch of the first panel, and waits until it is the query that is drawn.

    Points again after a while, because the panel may have moved in the meantime, as where an output above it grows.
    """
    token = prefix + row * columns + column
    for _ in range(PATIENCE // 10):
        page.mouse.move(*patch(page, row, column, rows, columns))
        with suppress(TimeoutError):
            page.wait_for_selector(f".vit-explorer[data-query='{token}']", state="attached", timeout=10_000)
            return
    raise AssertionError(f"token {token} was pointed at, and did not become the query")


def decoded(address: str) -> np.ndarray:
    """What a canvas shows, (H, W, 4), from its `toDataURL()`; a million numbers one by one would take seconds."""
    picture = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    return np.asarray(picture.convert("RGBA"), float)


def pixels(page: Page, selector: str) -> np.ndarray:
    """What a canvas shows, (H, W, 3)."""
    return decoded(page.locator(selector).first.evaluate("e => e.toDataURL()"))[..., :3]


def words(page: Page) -> str:
    return page.locator(".vit-words").inner_text().replace("\u00a0", " ")


def drawn(page: Page) -> None:
    """Waits until all requested changes have been handled and drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    every = "() => [...document.querySelectorAll('.vit-explorer[data-ready]')].every(e => e.dataset.drawn === 'true')"
    page.wait_for_function(every)


def opened_page(browser, explorer, path, width=1280, height=900, hash="", **context) -> Page:
    """A page with a saved explorer, all of its maps drawn; `watch` sets `page.errors` and `page.outside`."""
    explorer.save_html(path, title="Explorer", overwrite=True)
    page = browser.new_page(viewport={"width": width, "height": height}, **context)
    watch(page)
    page.goto(path.as_uri() + hash)
    page.wait_for_selector(".vit-explorer[data-ready]")
    page.wait_for_selector(".vit-grid[data-complete=true]")
    drawn(page)
    return page


@contextmanager
def opening(browser, path):
    """A function that opens explorers from this path; at the end, asserts that none had an error or outside request."""
    pages = []

    def opened(explorer, **options):
        pages.append(opened_page(browser, explorer, path, **options))
        return pages[-1]

    yield opened
    for page in pages:
        assert page.errors == [] and page.outside == []
        page.close()


def says(page: Page, *parts: str) -> str:
    """Waits until the explorer's sentence contains all parts; returns the sentence."""
    text = "document.querySelector('.vit-words').textContent.replaceAll('\\u00a0', ' ')"
    page.wait_for_function(f"parts => parts.every(part => {text}.includes(part))", arg=list(parts))
    return words(page)


def choose(page: Page, label: str) -> None:
    """Clicks the choice with this label in one of the strips, after unfolding the drawing options."""
    page.evaluate("document.querySelectorAll('.vit-drawing').forEach(e => (e.open = true))")
    page.mouse.move(2, 2)  # the words change when the pointer leaves a picture, and may move what is under them
    drawn(page)
    page.locator(f".vit-strip label:text-is('{label}')").click()
    drawn(page)


def photograph(page: Page) -> np.ndarray:
    """What is drawn of the first panel, (H, W, 3)."""
    drawn(page)
    return pixels(page, ".vit-main canvas")


def hears(page, words: str) -> str:
    """Waits until the line beside the upload button contains `words`, and returns the whole line."""
    line = page.locator(f"{FIELD} .vit-upload-words")
    said = "([e, words]) => e.textContent.includes(words) && e.textContent"
    return page.wait_for_function(said, arg=[line.element_handle(), words]).json_value()
