"""The attention explorer on a page in a browser: pages with panels of our own, where patches lie, what it says."""

import io
import json
from pathlib import Path

import numpy as np
from conftest import ROOT
from lab import note_outside
from PIL import Image
from playwright.sync_api import Page

from vit_course.explorer.encoding import Sections, quantised, to_text

SCREENSHOTS = ROOT / "screenshots"
JS = ROOT / "vit_course" / "explorer" / "js"
DEFAULTS = dict(
    layer=0, head=0, fusion="head", query=0, pinned=False, key=-1, direction="from", view="attention",
    overlay="spotlight", scale="own", fixed=0.05, smooth=True, tour="",
)  # fmt: skip


class Described:
    """Panels as Python describes them to the browser, and their bytes."""

    def __init__(self):
        self.sections = Sections()
        self.panels: list[dict] = []

    def add(self, picture, queries, keys, grid, names=("class token",), title="", features=None, **more) -> None:
        """One panel of queries and keys (L, h, T, d), of a picture (H, W, 3) of bytes, with features (T, D)."""
        layers, heads, tokens, dim = queries.shape
        before = len(self.sections.described)
        self._picture(picture)
        means = keys.mean(axis=2, keepdims=True)
        scores = queries @ (keys - means).swapaxes(-1, -2) * dim**-0.5  # (L, h, T, T)
        most = scores.max(axis=-1, keepdims=True)
        lse = most[..., 0] + np.log(np.exp(scores - most).sum(axis=-1))
        for name, values in (("query_steps", queries), ("key_steps", keys - means)):
            self.sections.floats(name, quantised(values, 2)[1])
        self.sections.floats("key_means", means[:, :, 0])
        self.sections.floats("lse", lse)
        for layer in range(layers):
            for name, values in (("queries", queries), ("keys", keys - means)):
                self.sections.steps(name, quantised(values[layer], 1)[0], layer)
        self._rest(before, picture, features, grid, names, title, more, layers, heads, tokens, kind="qk", dim=dim,
                   scale=dim**-0.5)  # fmt: skip

    def add_maps(self, picture, maps, grid, names=("class token",), title="", features=None, **more) -> None:
        """One panel of maps (L, h, T, T)."""
        layers, heads, tokens, _ = maps.shape
        before = len(self.sections.described)
        self._picture(picture)
        tops = maps.max(axis=-1, keepdims=True)
        self.sections.floats("tops", tops[..., 0])
        for layer in range(layers):
            self.sections.bytes("weights", np.rint(maps[layer] / tops[layer] * 255).astype(np.uint8), layer)
        self._rest(before, picture, features, grid, names, title, more, layers, heads, tokens, kind="maps")

    def _picture(self, picture: np.ndarray) -> None:
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, format="png")
        self.sections.file("picture", buffer.getvalue(), "image/png")

    def _rest(self, before, picture, features, grid, names, title, more, layers, heads, tokens, **kind) -> None:
        if features is not None:
            whole, steps = quantised(features, 0)
            self.sections.steps("features", whole)
            self.sections.floats("feature_steps", steps)
        sizes = dict(layers=layers, heads=heads, tokens=tokens, prefix=len(names), names=list(names), rows=grid[0],
                     columns=grid[1], height=picture.shape[0], width=picture.shape[1], all_layers=layers,
                     layer_numbers=list(range(layers)), link=None, says=None)  # fmt: skip
        self.panels.append(dict(title=title, **(sizes | more), **kind, sections=self.sections.described[before:]))

    def write(self, path: Path, **state) -> Path:
        """Writes a page with one explorer."""
        state = dict(layer=self.panels[0]["layers"] - 1) | state
        values = json.dumps(DEFAULTS | state | {"_panels": self.panels}).replace("<", "\\u003c")
        script = (ROOT / "vit_course" / "explorer" / "static" / "page.js").read_text(encoding="utf-8")
        style = "".join((JS / f"{name}.css").read_text() for name in ("explorer", "page"))
        path.write_text(
            '<!doctype html><html lang="en" class="vit-auto"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Explorer</title><style>{style}</style></head><body><main><h1>Attention explorer</h1>"
            '<div class="vit-explorer-place"></div>'
            f'<script type="application/json" class="vit-explorer-state">{values}</script>'
            '<script type="application/octet-stream" class="vit-explorer-data" data-coding="dense">'
            f'{to_text(self.sections.data)}</script></main><script type="module">{script}</script></body></html>',
            encoding="utf-8",
        )
        return path


def random_panel(seed=0, layers=3, heads=4, grid=(5, 8), dim=6, names=("class token",), width=24, peaked=1.5) -> dict:
    """What `Described.add` takes, of numbers drawn at random; no two sizes are alike."""
    draw = np.random.default_rng(seed)
    tokens = len(names) + grid[0] * grid[1]
    shape = (layers, heads, tokens, dim)
    picture = np.kron(draw.integers(40, 256, (*grid, 3)), np.ones((9, 9, 1))).astype(np.uint8)
    queries, keys = (peaked * draw.standard_normal(shape).astype(np.float32) for _ in range(2))
    return dict(picture=picture, queries=queries, keys=keys + 2, grid=grid, names=names,
                features=draw.standard_normal((tokens, width)).astype(np.float32))  # fmt: skip


def maps_of(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The attention maps (L, h, T, T) of queries and keys (L, h, T, d)."""
    scores = queries.astype(np.float64) @ keys.astype(np.float64).swapaxes(-1, -2) * queries.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


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


def pixels(page: Page, selector: str) -> list[int]:
    script = "e => Array.from(e.getContext('2d').getImageData(0, 0, e.width, e.height).data)"
    return page.locator(selector).first.evaluate(script)


def words(page: Page) -> str:
    return page.locator(".vit-words").inner_text()


def drawn(page: Page) -> None:
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def modules_page(browser) -> Page:
    """A blank page that may import the explorer's modules, as `import("/rows.js")`; nothing listens anywhere."""
    page = browser.new_page(viewport={"width": 800, "height": 600})

    def answer(route):
        name = route.request.url.rpartition("/")[2]
        path = JS / name
        if path.is_file():
            kind = "text/css" if path.suffix == ".css" else "text/javascript"
            route.fulfill(body=path.read_text(encoding="utf-8"), content_type=kind)
        else:
            route.fulfill(body="<!doctype html><title>Modules</title>", content_type="text/html")

    page.route("http://explorer.test/**", answer)
    page.goto("http://explorer.test/")
    return page
