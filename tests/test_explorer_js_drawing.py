"""What the explorer draws, pixel by pixel: compositing, smoothing, outlines, words. In Chromium, beside NumPy."""

import re

import numpy as np
import pytest
import torch
from conftest import cases
from explored import NEEDS_CHROMIUM, maps_of, random_panel
from explorer_parts import module_page

from vit_course.explorer import AttentionExplorer
from vit_course.explorer.encoding import to_base64

pytestmark = NEEDS_CHROMIUM
ROWS, COLUMNS, TIMES = 5, 8, 18  # 18: so many pixels of a mask each side of a patch, see FINE in photo.js
HEIGHT, WIDTH = ROWS * TIMES, COLUMNS * TIMES
PAINT = """async ([panels, text, values, style, extra]) => {
    const { fromBase64 } = await import("/bytes.js");
    const { openPanels } = await import("/data.js");
    const { canvasOf, scaled } = await import("/compose.js");
    const { Mask, paintPanel } = await import("/photo.js");
    const state = { _panels: panels, _data: fromBase64(text), layer: 0 };
    const [panel] = await openPanels({ get: (name) => state[name] });
    const [width, height] = [panel.columns * 18, panel.rows * 18];
    const bright = scaled(panel.picture, width, height);
    const canvas = canvasOf(width, height);
    const drawn = new Float32Array(values);
    const one = { panel, drawn, map: drawn, low: 0, high: 1, ready: true, nearest: -1, key: -1, q: -1, framed: true };
    const context = canvas.getContext("2d");
    if (extra.colours) extra.colours = Uint8ClampedArray.from(extra.colours);
    paintPanel(context, { bright, mask: new Mask(panel) }, { ...one, ...extra }, style);
    const pixels = (from) => Array.from(from.getContext("2d").getImageData(0, 0, width, height).data);
    return [pixels(bright), pixels(canvas)];
}"""


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    yield page
    page.close()


@pytest.fixture(scope="module")
def explorer():
    return AttentionExplorer(**random_panel(layers=1, heads=2))


@pytest.fixture(scope="module")
def strength():
    """(1 + N): how strongly each token is drawn, some beyond full strength."""
    return np.random.default_rng(3).uniform(-0.1, 1.3, 1 + ROWS * COLUMNS).astype(np.float32)


def painted(page, explorer, values, style, **extra):
    """-> the picture and what was painted over it, (H, W, 3) each."""
    given = [explorer._panels, to_base64(explorer._data), values.tolist(), {"ratio": 1, **style}, extra]
    pictures = [np.array(one, float).reshape(HEIGHT, WIDTH, 4) for one in page.evaluate(PAINT, given)]
    assert all((picture[..., 3] == 255).all() for picture in pictures), "nothing shines through"
    return [picture[..., :3] for picture in pictures]


def enlarged(strength, smooth):
    """-> (H, W, 1), from 0 to 1"""
    cut = torch.tensor(strength[1:]).clamp(0, 1).view(1, 1, ROWS, COLUMNS)
    way = dict(mode="bilinear", align_corners=False) if smooth else dict(mode="nearest")
    return torch.nn.functional.interpolate(cut, (HEIGHT, WIDTH), **way)[0, 0, ..., None].numpy()


@cases("smooth", [True, False])
def test_a_spotlight_is_15_to_100_percent_of_the_picture_and_heat_one_hue_over_it(page, explorer, strength, smooth):
    picture, got = painted(page, explorer, strength, {"overlay": "spotlight", "smooth": smooth})
    np.testing.assert_allclose(got, picture * (0.15 + 0.85 * enlarged(strength, smooth)), atol=3)
    assert got.min() < 0.3 * picture.min() + 20 and (got == picture).any(), "from the dark to the picture itself"
    picture, got = painted(page, explorer, strength, {"overlay": "heat", "smooth": smooth})
    opacity = 0.7 * enlarged(strength, smooth)
    np.testing.assert_allclose(got, picture * (1 - opacity) + np.array([204, 0, 255]) * opacity, atol=3)


def test_off_and_not_ready_are_the_picture_and_colours_take_its_place(page, explorer, strength):
    for style, extra in (({"overlay": "off"}, {}), ({"overlay": "spotlight"}, {"ready": False})):
        picture, got = painted(page, explorer, strength, {"smooth": True, **style}, **extra)
        assert (got == picture).all()
    colours = np.random.default_rng(4).integers(0, 256, (ROWS, COLUMNS, 3))
    _, got = painted(page, explorer, strength, {"overlay": "spotlight"}, colours=colours.flatten().tolist())
    np.testing.assert_array_equal(got, np.kron(colours, np.ones((TIMES, TIMES, 1))))


def test_the_query_has_a_frame_of_black_inside_white(page, explorer, strength):
    picture, got = painted(page, explorer, strength, {"overlay": "off", "smooth": True}, q=1 + 2 * COLUMNS + 3)
    top, left = 2 * TIMES - 2, 3 * TIMES - 2  # around the patch
    assert (got[top : top + 2, left : left + TIMES + 4] == 255).all()
    assert (got[top + 2 : top + 4, left + 4 : left + TIMES] == 0).all()
    inside = np.s_[top + 4 : top + TIMES, left + 4 : left + TIMES]
    assert (got[inside] == picture[inside]).all(), "and the patch itself is seen"


def test_the_outline_is_bright_where_half_of_the_weight_is(page, explorer):
    values = np.zeros(1 + ROWS * COLUMNS, np.float32)
    values[[1, 2, 9, 40]] = [0.3, 0.25, 0.3, 0.15]  # two of them hold 60 %, three 85 %, four all
    picture, got = painted(page, explorer, values, {"overlay": "outline", "smooth": True})
    middle = np.s_[TIMES // 2 :: TIMES]
    share = (got[middle, middle].sum(axis=-1) / picture[middle, middle].sum(axis=-1))[:ROWS, :COLUMNS]
    wanted = np.full((ROWS, COLUMNS), 0.4)
    wanted[0, 0] = wanted[1, 0] = 1
    wanted[0, 1], wanted[4, 7] = 0.75, 0.55
    np.testing.assert_allclose(share, wanted, atol=0.02)


def test_the_sets_are_the_smallest(page):
    weights = np.random.default_rng(5).standard_gamma(0.3, 42).astype(np.float32)
    script = "async (w) => Array.from((await import('/outline.js')).smallestSets(new Float32Array(w), 2, 40))"
    got = np.array(page.evaluate(script, weights.tolist()))
    order = np.argsort(-weights[2:], kind="stable")
    running = np.cumsum(weights[2:][order].astype(float)) / weights[2:].sum()
    for level, share in ((3, 0.5), (2, 0.8), (1, 0.95)):
        wanted = set(order[: np.searchsorted(running, share) + 1].tolist())
        assert set(np.flatnonzero(got >= level).tolist()) == wanted


def test_borders_run_between_in_and_out_and_not_along_the_edge_of_the_picture(page):
    inside = np.random.default_rng(6).integers(0, 4, (ROWS, COLUMNS))
    script = "async ([i, level]) => (await import('/outline.js')).borders(Uint8Array.from(i), 5, 8, level)"
    for level in (1, 2, 3):
        lines = page.evaluate(script, [inside.flatten().tolist(), level])
        units = set()
        for x0, y0, x1, y1 in lines:
            steps = max(x1 - x0, y1 - y0)
            for step in range(steps):
                across = x1 > x0
                units.add((x0 + step * across, y0 + step * (not across), across))
        held = inside >= level
        wanted = {(c, r, True) for r in range(1, ROWS) for c in range(COLUMNS) if held[r, c] != held[r - 1, c]}
        wanted |= {(c, r, False) for r in range(ROWS) for c in range(1, COLUMNS) if held[r, c] != held[r, c - 1]}
        assert units == wanted and len(lines) < len(units), "and neighbours in a line are joined"


SAY = """async ([panels, text, values, state]) => {
    const { fromBase64 } = await import("/bytes.js");
    const { openPanels } = await import("/data.js");
    const { State } = await import("/state.js");
    const { show } = await import("/shown.js");
    const { describe } = await import("/words.js");
    const all = { _panels: panels, _data: fromBase64(text), layer: 0, ...state };
    const model = { get: (name) => all[name], set: (name, value) => (all[name] = value), save_changes() {} };
    const opened = await openPanels(model);
    while (opened.some((panel) => !panel.features)) await new Promise((done) => setTimeout(done, 5));
    const shown = show(new State(model, opened));
    return [describe(shown, all.view, all.pinned).replaceAll("\\u00a0", " "), shown.map((one) => [one.q, one.top])];
}"""


def called(token: int) -> str:
    """A token of 5 x 8 patches behind a class token."""
    return f"the patch in row {(token - 1) // 8}, column {(token - 1) % 8}" if token else "the class token"


def said(page, explorer, **state):
    return page.evaluate(SAY, [explorer._panels, to_base64(explorer._data), [], state])


def test_the_sentence_says_what_the_map_shows(page):
    given = random_panel(layers=2)
    explorer, maps = AttentionExplorer(**given), maps_of(*given["maps"])
    for layer, query in ((1, 0), (0, 17)):
        for direction, seen, verb in (
            ("from", maps[layer, 2, query], "looks most at"),
            ("to", maps[layer, 2, :, query], "is looked at most by"),
        ):
            state = dict(layer=layer, head=2, query=query, direction=direction)
            text, [[q, top]] = said(page, explorer, **state)
            best = "itself" if seen.argmax() == query else called(seen.argmax())
            assert text.startswith(f"In layer {layer}, head 2, {called(query)} {verb} {best}, with")
            assert float(re.search(r"([\d.]+) %", text)[1]) == pytest.approx(100 * seen.max(), abs=0.02)
            assert q == query and top == pytest.approx(max(np.percentile(seen[1:], 98), seen[1:].max() / 20), rel=1e-2)
            assert said(page, explorer, pinned=True, **state)[0] == f"Pinned: i{text[1:]}"
    mean = maps[1].mean(axis=0)[3]
    text, _ = said(page, explorer, layer=1, query=3, fusion="mean")
    assert text.startswith("In the mean of the heads of layer 1, the patch in row 0, column 2 looks most at")
    assert float(text.split()[-5]) == pytest.approx(100 * mean.max(), abs=0.02)


def test_two_pictures_have_one_query(page):
    first, second = random_panel(seed=1, layers=2), random_panel(seed=2, layers=1, grid=(3, 4), dim=10)
    both = {name: [first[name], second[name]] for name in ("maps", "image", "grid", "features")}
    explorer = AttentionExplorer(**both, titles=["one", "two"], prefix=["class token"])
    text, shown = said(page, explorer, layer=1, query=1 + 8 * 4 + 7)
    assert [q for q, _ in shown] == [40, 12] and text.count("looks most at") == 2
    assert text.startswith("In layer 1, head 0: one, the patch in row 4, column 7")
    assert "; two, the patch in row 2, column 3" in text
    # The nearest patch of the second picture, by the cosine of the tokens.
    text, _ = said(page, explorer, query=5, view="similarity")
    a, b = (torch.nn.functional.normalize(panel["features"], dim=1) for panel in (first, second))
    cosines = b[1:] @ a[5]
    row, column = divmod(int(cosines.argmax()), 4)
    assert f"in two the patch in row {row}, column {column} comes nearest, with {cosines.max():.2f}" in text
