"""The explorer's modules without a page of their own: what they compute, in Chromium, beside NumPy."""

import numpy as np
import pytest
import torch
from conftest import cases
from explored import NEEDS_CHROMIUM, maps_of, random_panel
from explorer_parts import module_page

from vit_course.explorer import AttentionExplorer, scripts
from vit_course.explorer.arguments import STATE
from vit_course.explorer.encoding import to_base64, to_text

pytestmark = NEEDS_CHROMIUM
NAMES = ("class token", "register 1")
OPEN = """async ([panels, text, layer]) => {
    const { fromBase64 } = await import("/bytes.js");
    const { openPanels } = await import("/data.js");
    const values = { _panels: panels, _data: fromBase64(text), layer };
    window.panels = await openPanels({ get: (name) => values[name] });
    for (const panel of window.panels)
        while (panel.decoded.includes(null) || (panel.featureWidth && !panel.features))
            await new Promise((done) => setTimeout(done, 5));
}"""


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    yield page
    page.close()


def call(page, module, expression, argument=None):
    """`expression` of the module `m` and the argument `a`."""
    return page.evaluate(f"async (a) => {{ const m = await import('/{module}.js'); return {expression}; }}", argument)


@pytest.fixture(scope="module")
def panel(page):
    """Queries, keys (L, h, T, d), the numbers in window.panels[0] of the page."""
    given = random_panel(names=NAMES)
    explorer = AttentionExplorer(**given)
    page.evaluate(OPEN, [explorer._panels, to_base64(explorer._data), 1])
    queries, keys = given["maps"]
    return {"queries": queries.numpy(), "keys": keys.numpy(), "features": given["features"].numpy()}


@cases("length", [0, 1, 6, 7, 8, 13, 700])
def test_bytes_survive_as_characters(page, length):
    content = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8).tobytes()
    content = bytes([0, 26, 26, 60, 0])[:length] + content[5:]  # with what is replaced: NUL, carriage return, <
    for text, way in ((to_text(content), "fromDense"), (to_base64(content), "fromBase64")):
        assert bytes(call(page, "bytes", f"Array.from(m.{way}(a))", text)) == content


def test_a_script_in_a_page_keeps_every_character(page):
    content = bytes(range(256)) * 9
    page.set_content(f'<meta charset="utf-8"><script type="text/plain">{to_text(content)}</script>')
    got = page.evaluate(
        "async () => Array.from((await import('http://explorer.test/bytes.js'))"
        ".fromDense(document.querySelector('script').textContent))"
    )
    page.goto("http://explorer.test/")
    assert bytes(got) == content


@cases("direction", ["from", "to"])
def test_a_row_and_a_column_are_those_of_the_softmax(page, panel, direction):
    maps = maps_of(panel["queries"], panel["keys"])  # (L, h, T, T)
    for layer, head, token in ((0, 0, 0), (1, 3, 7), (2, 2, 41)):
        wanted = maps[layer, head, token] if direction == "from" else maps[layer, head, :, token]
        where = [layer, head, token, direction]
        got = page.evaluate("a => Array.from(panels[0].map(...a))", where)
        # As the plan asks: to 2e-3 of the row's largest; a column is of many rows.
        most = maps[layer, head].max() if direction == "to" else wanted.max()
        np.testing.assert_allclose(got, wanted, atol=2e-3 * most)
        assert (
            page.evaluate("a => Array.from(panels[0][a[3] === 'to' ? 'column' : 'row'](...a.slice(0, 3)))", where)
            == got
        )
        mean = maps[layer].mean(axis=0)
        mean = mean[token] if direction == "from" else mean[:, token]
        got = page.evaluate("a => Array.from(panels[0].mean(a[0], a[2], a[3]))", where)
        np.testing.assert_allclose(got, mean, atol=2e-3 * mean.max())


def test_the_vectors_are_the_true_ones_and_so_are_the_scores(page, panel):
    queries, keys = panel["queries"], panel["keys"]
    for name, values in (("query", queries), ("key", keys)):
        got = page.evaluate("name => Array.from(panels[0][name](2, 1, 9))", name)
        np.testing.assert_allclose(got, values[2, 1, 9], atol=1e-3)
    got = page.evaluate("() => Array.from(panels[0].scores(2, 1, 9))")
    np.testing.assert_allclose(got, keys[2, 1] @ queries[2, 1, 9] * 6**-0.5, atol=5e-3)
    features = page.evaluate("() => [panels[0].featureWidth, Array.from(panels[0].features)]")
    np.testing.assert_allclose(features[1], panel["features"].ravel(), atol=1e-3)
    assert features[0] == 24


def test_names_and_places(page, panel):
    got = page.evaluate("() => [0, 1, 2, 41].map(t => [panels[0].name(t), panels[0].place(t)])")
    assert got == [
        ["class token", None], ["register 1", None], ["row 0, column 0", [0, 0]], ["row 4, column 7", [4, 7]]
    ]  # fmt: skip


def test_maps_that_were_sent_whole(page):
    given = random_panel(seed=1, layers=2, heads=3, grid=(3, 5))
    maps = maps_of(*given["maps"])
    explorer = AttentionExplorer(torch.from_numpy(maps), given["image"], grid=(3, 5))
    script = OPEN.replace("window.panels", "window.whole")
    page.evaluate(script, [explorer._panels, to_base64(explorer._data), 0])
    for way, wanted in (("row", maps[1, 2, 4]), ("column", maps[1, 2, :, 4])):
        got = page.evaluate("way => Array.from(whole[0][way](1, 2, 4))", way)
        np.testing.assert_allclose(got, wanted, atol=0.5 / 255 * maps[1, 2].max() + 1e-7)
    assert (
        page.evaluate("() => [whole[0].query(1, 2, 4), whole[0].key(1, 2, 4), whole[0].scores(1, 2, 4)]") == [None] * 3
    )


@cases("length", [2, 9, 50, 256])
def test_percentiles_are_those_of_numpy(page, length):
    values = np.random.default_rng(length).standard_gamma(0.4, length + 3).astype(np.float32)
    values[4 % length] = values[1]  # twice the same
    for share in (0, 0.37, 0.98, 1):
        got = call(
            page, "scales", "m.percentile(new Float32Array(a[0]), 3, a[1], a[2])", [values.tolist(), length, share]
        )
        assert got == pytest.approx(np.percentile(values[3:], 100 * share), rel=1e-6)


def test_the_own_top_is_the_98th_percentile_but_not_of_noise(page):
    values = np.random.default_rng(0).random(100).astype(np.float32)
    own = "m.ownTop(new Float32Array(a), 1, a.length - 1)"
    assert call(page, "scales", own, [9.0, *values.tolist()]) == pytest.approx(np.percentile(values, 98), rel=1e-6)
    one = [0.0] * 100
    one[50] = 1.0
    assert call(page, "scales", own, one) == pytest.approx(0.05), "one patch alone stays one patch"
    assert call(page, "scales", own, [0.0] * 100) > 0, "and nothing is divided by"


def test_the_sample_has_the_special_tokens_and_the_whole_picture(page):
    assert call(page, "scales", "m.sampleQueries(2, 40)") == [0, 1, 4, 8, 13, 17, 22, 26, 30, 35, 39]
    assert call(page, "scales", "m.sampleQueries(0, 4)") == [0, 1, 2, 3]


def test_the_fixed_scale_goes_in_multiples_of_an_even_share(page):
    assert call(page, "scales", "m.multiples(17)") == [1, 2, 3, 4, 6, 8, 12, 16]
    assert call(page, "scales", "[0.001, 1/17, 0.5, 1].map(w => m.multiples(17)[m.nearestMultiple(w, 17)])") == [
        1,
        1,
        8,
        16,
    ]


# A panel's sizes and places alone.
GRID = """(names, rows, columns) => ({
    names, prefix: names.length, rows, columns,
    place: (t) => t < names.length ? null : [Math.floor((t - names.length) / columns), (t - names.length) % columns],
})"""


def test_the_same_token_elsewhere(page):
    first, other = f"({GRID})(['class token', 'register 1'], 4, 6)", f"({GRID})(['register 1'], 2, 3)"
    asked = "[0, f, o], [1, f, o], [2, f, o], [25, f, o], [6, o, f]"
    elsewhere = f"[{asked}].map(([t, from, to]) => m.elsewhere(t, from, to, f))"
    got = call(page, "places", f"(([f, o]) => {elsewhere})([{first}, {other}])")
    # The class token has no fellow there: the first. (3, 5) of 4 x 6 is (1, 2) of 2 x 3, whose middle is (3, 5) again.
    assert got == [0, 0, 1, 6, 2 + 3 * 6 + 5]


def test_a_linked_picture_says_where_the_same_is(page):
    first = f"({GRID})(['class token', 'register 1'], 4, 6)"
    linked = "((f, o) => [m.elsewhere(3, f, o, f), m.elsewhere(5, o, f, f)])"
    flipped = [0, 1, *range(25, 1, -1)]
    assert call(page, "places", f"{linked}({first}, {{ ...{first}, link: a }})", flipped) == [24, 22]


def test_arrows_stop_at_the_edge(page):
    moves = [[0, 1, 0], [1, -1, 0], [1, 0, 1], [15, 1, 1], [8, 1, -1]]
    moved = f"((panel) => a.map(([t, down, right]) => m.moved(t, panel, down, right)))(({GRID})(['class token'], 3, 5))"
    assert call(page, "places", moved, moves) == [1, 1, 2, 15, 12]


def test_rollout_is_that_of_the_matrices(page, panel):
    means = maps_of(panel["queries"], panel["keys"]).mean(axis=1)  # (L, T, T)
    page.evaluate(
        """async () => {
            const { Rollout } = await import("/rollout.js");
            window.rollout = new Rollout(panels[0]);
            while (!rollout.ready) await new Promise((done) => setTimeout(done, 5));
        }"""
    )
    through = np.eye(42)
    for layer, mean in enumerate(means):
        through = (0.5 * np.eye(42) + 0.5 * mean) @ through
        for direction, wanted in (("from", through[7]), ("to", through[:, 7])):
            got = page.evaluate("a => Array.from(rollout.flow(...a))", [layer, 7, direction])
            np.testing.assert_allclose(got, wanted, atol=2e-4)


def test_two_widgets_of_a_notebook_keep_their_controls_apart(page):
    # Each widget loads the module for itself, as a query makes the browser do here.
    explorer = AttentionExplorer(**random_panel(layers=2, heads=2))
    state = {name: getattr(explorer, name) for name in STATE} | {"_panels": explorer._panels}
    script = """async ([state, text]) => {
        const { fromBase64 } = await import("/bytes.js");
        const model = (values) => ({ get: (name) => values[name], set: (name, value) => (values[name] = value),
                                     save_changes: () => {}, on: () => {}, off: () => {}, send: () => {} });
        for (const copy of [1, 2]) {
            const { default: widget } = await import(URL.createObjectURL(
                new Blob([window.bundle + `\\n// ${copy}`], { type: "text/javascript" })));
            const el = document.body.appendChild(document.createElement("div"));
            widget.render({ model: model({ ...state, _data: fromBase64(text) }), el });
        }
    }"""
    page.evaluate("source => (window.bundle = source)", scripts.module("widget"))
    page.evaluate(script, [state, to_base64(explorer._data)])
    page.wait_for_function("() => document.querySelectorAll('.vit-explorer[data-ready]').length === 2")
    chosen = "all => all.map(e => e.querySelectorAll('.vit-strip input:checked').length)"
    first, second = page.locator(".vit-explorer").evaluate_all(chosen)
    assert first == second > 2
    ids = page.locator(".vit-explorer [id]").evaluate_all("all => all.map(e => e.id)")
    assert len(set(ids)) == len(ids) > 10
