"""The explorer's modules without a page of their own: what they compute and draw, in Chromium, beside NumPy."""

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM, decoded, maps_of, random_panel
from explorer_parts import call, module_page

from vit_course._support.widgets import scripts
from vit_course._support.widgets.encoding import to_base64
from vit_course.explorer import AttentionExplorer
from vit_course.explorer.arguments import STATE
from vit_course.maps.interpret import rollout

pytestmark = NEEDS_CHROMIUM
NAMES = ("class token", "register 1")
OPEN = """async ([panels, text, layer, name]) => {
    const { fromBase64 } = await import("/_support/widgets/js/bytes.js");
    const { openPanels } = await import("/data.js");
    const values = { _panels: panels, _data: fromBase64(text), layer };
    [window[name]] = await openPanels({ get: (name) => values[name] });
    while (window[name].decoded.includes(null) || (window[name].featureWidth && !window[name].features))
        await new Promise((done) => setTimeout(done, 5));
}"""
# A panel's sizes and places alone.
GRID = """(names, rows, columns) => ({
    names, prefix: names.length, rows, columns,
    place: (t) => t < names.length ? null : [Math.floor((t - names.length) / columns), (t - names.length) % columns],
})"""


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    yield page
    page.close()


@pytest.fixture(scope="module")
def panel(page):
    """Queries, keys (L, h, T, d) and features (T, D): the numbers of window.panel of the page."""
    given = random_panel(names=NAMES)
    explorer = AttentionExplorer(**given)
    page.evaluate(OPEN, [explorer._panels, to_base64(explorer._data), 1, "panel"])
    queries, keys = given["maps"]
    return {"queries": queries.numpy(), "keys": keys.numpy(), "features": given["features"].numpy()}


@pytest.mark.parametrize("direction", ["from", "to"])
def test_a_row_and_a_column_are_those_of_the_softmax(page, panel, direction):
    maps = maps_of(panel["queries"], panel["keys"])  # (L, h, T, T)
    for layer, head, token in ((0, 0, 0), (1, 3, 7), (2, 2, 41)):
        wanted = maps[layer, head, token] if direction == "from" else maps[layer, head, :, token]
        where = [layer, head, token, direction]
        got = page.evaluate("a => Array.from(panel.map(...a))", where)
        # As the plan asks: to 2e-3 of the row's largest; a column is of many rows.
        most = maps[layer, head].max() if direction == "to" else wanted.max()
        np.testing.assert_allclose(got, wanted, atol=2e-3 * most)
        mean = maps[layer].mean(axis=0)
        mean = mean[token] if direction == "from" else mean[:, token]
        got = page.evaluate("a => Array.from(panel.mean(a[0], a[2], a[3]))", where)
        np.testing.assert_allclose(got, mean, atol=2e-3 * mean.max())


def test_the_vectors_are_the_true_ones_and_so_are_scores_names_and_places(page, panel):
    queries, keys = panel["queries"], panel["keys"]
    for expression, wanted, apart in (
        ("panel.query(2, 1, 9)", queries[2, 1, 9], 1e-3),
        ("panel.key(2, 1, 9)", keys[2, 1, 9], 1e-3),
        ("panel.scores(2, 1, 9)", keys[2, 1] @ queries[2, 1, 9] * 6**-0.5, 5e-3),
        ("panel.features", panel["features"].ravel(), 1e-3),
    ):
        np.testing.assert_allclose(page.evaluate(f"() => Array.from({expression})"), wanted, atol=apart)
    assert page.evaluate("() => panel.featureWidth") == 24
    found = page.evaluate("() => [0, 1, 2, 41].map(t => [panel.name(t), panel.place(t)])")
    patches = [["row 0, column 0", [0, 0]], ["row 4, column 7", [4, 7]]]
    assert found == [*([name, None] for name in NAMES), *patches]


def test_maps_that_were_sent_whole(page):
    given = random_panel(seed=1, layers=2, heads=3, grid=(3, 5))
    maps = maps_of(*given["maps"])
    explorer = AttentionExplorer(torch.from_numpy(maps), given["image"], grid=(3, 5))
    page.evaluate(OPEN, [explorer._panels, to_base64(explorer._data), 0, "whole"])
    for way, wanted in (("row", maps[1, 2, 4]), ("column", maps[1, 2, :, 4])):
        got = page.evaluate("way => Array.from(whole[way](1, 2, 4))", way)
        np.testing.assert_allclose(got, wanted, atol=0.5 / 255 * maps[1, 2].max() + 1e-7)
    assert page.evaluate("() => ['query', 'key', 'scores'].map((name) => whole[name](1, 2, 4))") == [None] * 3


def test_the_own_top_is_the_98th_percentile_but_not_of_noise(page):
    values = np.random.default_rng(0).random(100).astype(np.float32)
    own = "m.ownTop(new Float32Array(a), 1, a.length - 1)"
    assert call(page, "scales", own, [9.0, *values.tolist()]) == pytest.approx(np.percentile(values, 98), rel=1e-6)
    one = [0.0] * 50 + [1.0] + [0.0] * 49
    assert call(page, "scales", own, one) == pytest.approx(0.05), "one patch alone stays one patch"
    assert call(page, "scales", own, [0.0] * 100) > 0, "and nothing is divided by"


@pytest.mark.parametrize(
    ("module", "expression", "wanted"),
    [
        ("scales", "m.sampleQueries(2, 40)", [0, 1, 4, 8, 13, 17, 22, 26, 30, 35, 39]),
        ("scales", "m.sampleQueries(0, 4)", [0, 1, 2, 3]),
        # The fixed scale goes in multiples of an even share.
        ("scales", "m.multiples(17)", [1, 2, 3, 4, 6, 8, 12, 16]),
        ("scales", "[0.001, 1/17, 0.5, 1].map(w => m.multiples(17)[m.nearestMultiple(w, 17)])", [1, 1, 8, 16]),
        # The class token has no fellow in the other: the first. (3, 5) of 4 x 6 is (1, 2) of 2 x 3, which is (3, 5).
        ("places", "[0, 1, 2, 25].map((t) => m.elsewhere(t, one, other, one))", [0, 0, 1, 6]),
        ("places", "m.elsewhere(6, other, one, one)", 2 + 3 * 6 + 5),
        # A linked picture says where the same is.
        ("places", "[m.elsewhere(3, one, flipped, one), m.elsewhere(5, flipped, one, one)]", [24, 22]),
        # Arrows stop at the edge.
        (
            "places",
            "[[0, 1, 0], [1, -1, 0], [1, 0, 1], [15, 1, 1], [8, 1, -1]]"
            ".map(([t, down, right]) => m.moved(t, small, down, right))",
            [1, 1, 2, 15, 12],
        ),
    ],
)
def test_scales_and_places(page, module, expression, wanted):
    page.evaluate(
        f"""() => {{
            window.one = ({GRID})(["class token", "register 1"], 4, 6);
            window.other = ({GRID})(["register 1"], 2, 3);
            window.small = ({GRID})(["class token"], 3, 5);
            window.flipped = {{ ...one, link: [0, 1, ...Array.from({{ length: 24 }}, (_, i) => 25 - i)] }};
        }}"""
    )
    assert call(page, module, expression) == wanted


def test_rollout_is_that_of_the_matrices(page, panel):
    maps = torch.from_numpy(maps_of(panel["queries"], panel["keys"]))  # (L, h, T, T)
    page.evaluate(
        """async () => {
            const { Rollout } = await import("/rollout.js");
            window.rollout = new Rollout(panel);
            while (!rollout.ready) await new Promise((done) => setTimeout(done, 5));
        }"""
    )
    for layer in range(len(maps)):
        through = rollout(maps[None, : layer + 1])[0]
        for direction, wanted in (("from", through[7]), ("to", through[:, 7])):
            got = page.evaluate("a => Array.from(rollout.flow(...a))", [layer, 7, direction])
            np.testing.assert_allclose(got, wanted, atol=2e-4)


# ---- what is drawn, pixel by pixel
ROWS, COLUMNS, TIMES = 5, 8, 18  # 18: so many pixels of a mask each side of a patch, see FINE in photo.js
HEIGHT, WIDTH = ROWS * TIMES, COLUMNS * TIMES
PAINT = """async ([values, style, extra]) => {
    const { canvasOf, scaled } = await import("/compose.js");
    const { Mask, paintPanel } = await import("/photo.js");
    const [width, height] = [panel.columns * 18, panel.rows * 18];
    const bright = scaled(panel.picture, width, height);
    const canvas = canvasOf(width, height);
    const drawn = new Float32Array(values);
    const one = { panel, drawn, map: drawn, low: 0, high: 1, ready: true, nearest: -1, key: -1, q: -1, framed: true };
    const context = canvas.getContext("2d");
    if (extra.colours) extra.colours = Uint8ClampedArray.from(extra.colours);
    paintPanel(context, { bright, mask: new Mask(panel) }, { ...one, ...extra }, style);
    return [bright.toDataURL(), canvas.toDataURL()];
}"""


@pytest.fixture(scope="module")
def strength():
    """(2 + N): how strongly each token is drawn, some beyond full strength."""
    return np.random.default_rng(3).uniform(-0.1, 1.3, 2 + ROWS * COLUMNS).astype(np.float32)


def painted(page, values, style, **extra):
    """-> the picture and what was painted over it, (H, W, 3) each."""
    given = [values.tolist(), {"ratio": 1, **style}, extra]
    pictures = [decoded(address) for address in page.evaluate(PAINT, given)]
    assert all((picture[..., 3] == 255).all() for picture in pictures), "nothing shines through"
    return [picture[..., :3] for picture in pictures]


def enlarged(strength, smooth):
    """-> (H, W, 1), from 0 to 1"""
    cut = torch.tensor(strength[2:]).clamp(0, 1).view(1, 1, ROWS, COLUMNS)
    way = dict(mode="bilinear", align_corners=False) if smooth else dict(mode="nearest")
    return torch.nn.functional.interpolate(cut, (HEIGHT, WIDTH), **way)[0, 0, ..., None].numpy()


@pytest.mark.parametrize("smooth", [True, False])
def test_a_spotlight_is_15_to_100_percent_of_a_pale_picture_and_heat_one_hue_over_it(page, panel, strength, smooth):
    picture, got = painted(page, strength, {"overlay": "spotlight", "smooth": smooth})
    pale = 255 * 0.18 + 0.82 * picture  # where black can light up
    np.testing.assert_allclose(got, pale * (0.15 + 0.85 * enlarged(strength, smooth)), atol=3)
    assert got.min() < 0.3 * picture.min() + 20 and (abs(got - pale) < 2).any(), "from the dark to the picture"
    picture, got = painted(page, strength, {"overlay": "heat", "smooth": smooth})
    opacity = 0.7 * enlarged(strength, smooth)
    np.testing.assert_allclose(got, picture * (1 - opacity) + np.array([204, 0, 255]) * opacity, atol=3)


def test_off_and_not_ready_are_the_picture_and_colours_take_its_place(page, panel, strength):
    for style, extra in (({"overlay": "off"}, {}), ({"overlay": "spotlight"}, {"ready": False})):
        picture, got = painted(page, strength, {"smooth": True, **style}, **extra)
        assert (got == picture).all()
    middles, sent = np.s_[TIMES // 2 :: TIMES, TIMES // 2 :: TIMES], random_panel()["image"].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(picture[middles], sent[4::9, 4::9], atol=6, err_msg="and the picture is what was sent")
    colours = np.random.default_rng(4).integers(0, 256, (ROWS, COLUMNS, 3))
    _, got = painted(page, strength, {"overlay": "spotlight"}, colours=colours.flatten().tolist())
    np.testing.assert_array_equal(got, np.kron(colours, np.ones((TIMES, TIMES, 1))))


def test_the_query_has_a_frame_of_black_inside_white(page, panel, strength):
    picture, got = painted(page, strength, {"overlay": "off", "smooth": True}, q=2 + 2 * COLUMNS + 3)
    top, left = 2 * TIMES - 2, 3 * TIMES - 2  # around the patch
    assert (got[top : top + 2, left : left + TIMES + 4] == 255).all()
    assert (got[top + 2 : top + 4, left + 4 : left + TIMES] == 0).all()
    inside = np.s_[top + 4 : top + TIMES, left + 4 : left + TIMES]
    assert (got[inside] == picture[inside]).all(), "and the patch itself is seen"


def test_the_outline_is_bright_where_half_of_the_weight_is(page, panel):
    values = np.zeros(2 + ROWS * COLUMNS, np.float32)
    values[[2, 3, 10, 41]] = [0.3, 0.25, 0.3, 0.15]  # two of them hold 60 %, three 85 %, four all
    picture, got = painted(page, values, {"overlay": "outline", "smooth": True})
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


def test_two_widgets_of_a_notebook_keep_their_controls_apart(page):
    # Each widget loads the module for itself, as a query makes the browser do here.
    explorer = AttentionExplorer(**random_panel(layers=2, heads=2))
    state = {name: getattr(explorer, name) for name in STATE} | {"_panels": explorer._panels}
    script = """async ([bundle, state, text]) => {
        const { fromBase64 } = await import("/_support/widgets/js/bytes.js");
        const model = (values) => ({ get: (name) => values[name], set: (name, value) => (values[name] = value),
                                     save_changes: () => {}, on: () => {}, off: () => {}, send: () => {} });
        for (const copy of [1, 2]) {
            const source = new Blob([bundle + `\\n// ${copy}`], { type: "text/javascript" });
            const { default: widget } = await import(URL.createObjectURL(source));
            const el = document.body.appendChild(document.createElement("div"));
            widget.render({ model: model({ ...state, _data: fromBase64(text) }), el });
        }
    }"""
    page.evaluate(script, [scripts.module("explorer"), state, to_base64(explorer._data)])
    page.wait_for_function("() => document.querySelectorAll('.vit-explorer[data-ready]').length === 2")
    chosen = "all => all.map(e => e.querySelectorAll('.vit-strip input:checked').length)"
    first, second = page.locator(".vit-explorer").evaluate_all(chosen)
    assert first == second > 2
    ids = page.locator(".vit-explorer [id]").evaluate_all("all => all.map(e => e.id)")
    assert len(set(ids)) == len(ids) > 10
