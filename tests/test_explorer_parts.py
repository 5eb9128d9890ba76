"""What the explorer's parts compute: what the model says, the table, the link, the picture, similarity, colours."""

import csv
import io

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM
from explorer_parts import arrays, call, module_page, put_real, small_panel
from sklearn.decomposition import PCA

from vit_course.explorer.arguments import STATE

pytestmark = NEEDS_CHROMIUM
SAYS = {
    "labels": ["cat", "dog", "frog", "ship"],
    "probabilities": [0.6, 0.3, 0.06, 0.04],
    "lens": [[0.1, 0.2, 0.6, 0.1], [0.2, 0.7, 0.05, 0.05], [0.5, 0.4, 0.05, 0.05], [0.6, 0.3, 0.06, 0.04]],
    "about": "a head",
}


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    page.evaluate("(values) => { window.small = panelOf(typed(values)); }", small_panel(prefix=2, title='Cat, "C"'))
    yield page
    page.close()


PANEL = {"says": SAYS, "layers": 3, "layer_numbers": [0, 1, 2]}


@pytest.mark.parametrize(
    ("expression", "given", "said"),
    [
        ("told(a)", SAYS, "After layer 1 the head says “cat” and does not change any more."),
        ("told(a)", SAYS | {"lens": SAYS["lens"][:3]}, "The head settles on “cat” only after the last layer."),
        (
            "told(a)",
            SAYS | {"lens": SAYS["lens"][2:]},
            "The head already says “cat” before the first layer, and after every layer.",
        ),
        ("reading(a, 0, 2)", SAYS, "before the first layer: frog 60\u00a0%, dog 20\u00a0%"),
        ("reading(a, 2, 1)", SAYS, "after layer 1: cat 50\u00a0%"),
        # The class that comes first at the end, then those that rise highest on the way.
        ("drawnClasses(a)", SAYS, [0, 1, 2]),
        ("reached(a, 2)", PANEL, 3),
        # A copy that keeps two of three layers, with the lens of all.
        ("reached(a, 1)", PANEL | {"layers": 2, "layer_numbers": [0, 2]}, 3),
    ],
)
def test_the_lens_in_words(page, expression, given, said):
    assert call(page, "says", f"m.{expression}", given) == said


SHOWN = """({ panel: small, layer: 1, head: 2, fusion: "head", direction: "from", q: 0,
    map: Float32Array.from({ length: 17 }, (_, t) => t / 136),
    drawn: Float32Array.from({ length: 17 }, (_, t) => -t) })"""


def rows_of(page, expression):
    return list(csv.DictReader(io.StringIO(call(page, "table", expression))))


def test_the_table_and_its_file_have_every_token_in_its_place(page):
    found = call(page, "table", f"m.cells(small, {SHOWN}.map)")
    assert [name for name, _ in found["prefix"]] == ["class token", "register 1"]
    np.testing.assert_allclose(found["rows"], np.arange(2, 17).reshape(3, 5) / 136, rtol=1e-6)
    rows = rows_of(page, f"m.csv([{SHOWN}, {SHOWN}], 'attention')")
    assert len(rows) == 34
    assert rows[0] == {
        "picture": 'Cat, "C"', "layer": "1", "head": "2", "query": "class token", "direction": "from",
        "token": "class token", "row": "", "column": "", "weight": "0",
    }  # fmt: skip
    assert (rows[-1]["row"], rows[-1]["column"], rows[-1]["token"]) == ("2", "4", "row 2, column 4")
    assert float(rows[-1]["weight"]) == pytest.approx(16 / 136, abs=1e-6)
    similar = rows_of(page, f"m.csv([{SHOWN}], 'similarity')")
    assert float(similar[3]["cosine"]) == -3 and similar[3]["view"] == "similarity"
    formula = rows_of(page, f"m.csv([{{ ...{SHOWN}, panel: {{ ...small, title: '=1+1' }} }}], 'attention')")
    assert formula[0]["picture"] == "'=1+1", "what a spreadsheet would run is made plain"
    name = f"m.fileName({{ ...{SHOWN}, fusion: 'mean', q: 4 }}, 'attention', 'csv')"
    assert call(page, "table", name) == "attention-cat-c-layer-1-mean-row-0-column-2.csv"
    assert call(page, "table", f"m.fileName({SHOWN}, 'colours', 'csv')") == "colours-cat-c.csv"


USUAL = {name: part["usual"] for name, part in STATE.items()} | {"layer": 11}
DECODE = """m.decode(a, new (await import("/state.js")).State({},
    [{ layers: 12, heads: 6, tokens: 257, rollsOut: false, featureWidth: 0 }]))"""


def test_an_address_says_what_differs_and_reads_back(page):
    values = {**USUAL, "layer": 3, "query": 40, "pinned": True, "smooth": False, "fusion": "mean", "fixed": 0.25,
              "tour": "look"}  # fmt: skip
    text = call(page, "link", "m.encode(...a)", [values, USUAL])
    assert call(page, "link", "m.encode(...a)", [USUAL, USUAL]) == ""
    assert text == "layer=3&query=40&fixed=0.25&pinned=1&smooth=0&fusion=mean&tour=look"
    assert {**USUAL, **call(page, "link", DECODE, f"#{text}")} == values
    misfits = "a-section layer=12 layer=3.5 layer= query=257 key=-2 fixed=2 pinned=yes tour=<script> model=3 "
    misfits += "fusion=rollout view=colours fixed=0 toString=1 layer=true"
    for misfit in misfits.split():
        assert call(page, "link", DECODE, f"#{misfit}") == {}, misfit


def test_an_address_holds_lists_and_texts_that_look_like_numbers(page):
    table = {
        "axes": {"usual": "2345", "choices": ["2345", "2435"]},
        "heads": {"usual": 1, "choices": [1, 2]},
        "valves": {"usual": ["open", "open"], "shape": [2], "choices": ["open", "closed"]},
        "divided": {"usual": True, "flag": True},
    }
    usual = {name: part["usual"] for name, part in table.items()}
    values = {"axes": "2435", "heads": 2, "valves": ["open", "closed"], "divided": False}
    module = "_support/widgets/js/state_table"
    text = call(page, module, "m.toAddress(...a)", [table, values, usual])
    assert text.startswith("axes=2435&heads=2&") and text.endswith("&divided=0")
    for address in (text, 'axes="2435"&heads=2&valves=["open","closed"]&divided=0'):
        assert dict(call(page, module, "m.fromAddress(...a)", [table, address])) == values


def test_the_picture_has_lines_as_wide_and_panels_side_by_side_while_there_is_room(page):
    text = "one two three incomprehensibility four"
    lines = call(page, "picture", "m.wrapped(a, 70, (text) => text.length * 7)", text)
    assert lines == ["one two", "three", "incomprehensibility", "four"]
    one = {"width": 600, "height": 400, "title": "Cat"}
    plan = "m.arrange(a, { caption: 'said of it', note: '', legend: true }, (text, size) => text.length * size / 2)"
    beside, below = call(page, "picture", plan, [one, one]), call(page, "picture", plan, [one, one, one])
    assert [p["x"] for p in beside["panels"]] == [16, 632] and len({p["y"] for p in beside["panels"]}) == 1
    assert beside["width"] == 1248
    assert len({p["x"] for p in below["panels"]}) == 1 and below["width"] == 632
    assert below["legend"]["y"] > below["panels"][2]["y"] + 400
    assert below["height"] > below["lines"][-1]["y"] > below["legend"]["y"]


# ---- similarity and colours: of the tokens after the last norm


def test_the_nearest_is_that_of_numpy_and_never_the_token_itself(page):
    panel = small_panel()
    nearest = "[...Array(16).keys()].map((t) => m.correspondence([panelOf(typed(a))], t)[0])"
    found = call(page, "similarity", nearest + ".map(({ values, best }) => [Array.from(values), best])", panel)
    features = arrays(panel)[2]
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.testing.assert_allclose([values for values, _ in found], cosines, atol=1e-6)
    np.fill_diagonal(cosines, -2)
    assert [best for _, best in found] == (1 + cosines[:, 1:].argmax(1)).tolist()
    nothing = panel | {"features": [0.0] * 6 + panel["features"][6:]}
    assert call(page, "similarity", "Array.from(m.cosines(panelOf(typed(a)), 0))", nothing) == [0] * 16


def test_a_token_finds_its_own_content_in_a_second_panel_and_other_widths_are_not_compared(page):
    panel, order = small_panel(), np.random.default_rng(1).permutation(15) + 1
    shuffled = panel | {"features": arrays(panel)[2][np.r_[0, order]].ravel().tolist()}
    best, none = page.evaluate(
        """async (given) => {
            const { correspondence } = await import("/similarity.js");
            const panels = given.map((values) => panelOf(typed(values)));
            const of = Array.from({ length: 15 }, (_, i) => correspondence(panels, i + 1));
            return [of.map(([, second]) => second.best), of.every(([, , third]) => third === null)];
        }""",
        [panel, shuffled, small_panel(width=7)],
    )
    assert [order[b - 1] for b in best] == list(range(1, 16)) and none


def painted(*features):
    """The colours by scikit-learn's components."""
    patches = np.concatenate([one[1:] for one in features]).astype(np.float64)
    along = PCA(3, svd_solver="full").fit_transform(patches)
    low, high = np.percentile(along, [2, 98], axis=0)
    return np.clip(255 * (along - low) / (high - low), 0, 255)


def colours(page, panels, argument=None):
    return call(page, "colours", f"m.colours({panels}).map((found) => found && Array.from(found))", argument)


def test_the_colours_are_those_of_scikit_learn_for_panels_of_one_width_together(page):
    features = put_real(page, "cat")["features"]
    (found,) = colours(page, "[real]")
    assert np.abs(np.reshape(found, (-1, 3)) - painted(features)).max() < 1
    panels = [small_panel(0), small_panel(1, rows=2, columns=7), small_panel(2, width=9), small_panel(3)]
    panels[3]["features"] = None
    found = colours(page, "a.map((v) => panelOf(typed(v)))", panels)
    first, second, third = (arrays(one)[2] for one in panels[:3])
    assert np.abs(np.reshape(found[0] + found[1], (-1, 3)) - painted(first, second)).max() < 1
    assert np.abs(np.reshape(found[2], (-1, 3)) - painted(third)).max() < 1
    assert found[3] is None
    (alike,) = colours(page, "[panelOf(typed(a))]", small_panel(features=[1.0] * 96))
    assert len(set(alike)) == 1


def test_colours_are_computed_once_for_the_same_tokens_and_anew_for_others(page):
    same, anew = page.evaluate(
        """async (values) => {
            const { paintColours } = await import("/colours.js");
            const panels = [panelOf({ ...typed(values), features: null })];
            const none = paintColours(panels);
            panels[0].features = typed(values).features;
            const first = paintColours(panels);
            return [first === paintColours(panels), none[0] === null && first[0].length === 45];
        }""",
        small_panel(),
    )
    assert same and anew
