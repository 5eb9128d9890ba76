"""What the model says, the table, the link and the picture: what the explorer's parts compute."""

import csv
import io

import pytest
from conftest import cases
from explored import NEEDS_CHROMIUM
from explorer_parts import module_page, small_panel

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


def call(page, module, expression, argument=None):
    """`expression` of the module `m` and the argument `a`."""
    return page.evaluate(f"async (a) => {{ const m = await import('/{module}.js'); return {expression}; }}", argument)


def test_the_prediction_names_the_first_and_sums_the_rest(page):
    found = call(
        page,
        "says",
        "m.classes({ ...a, labels: a.labels.toReversed(), probabilities: a.probabilities.toReversed() }, 2)",
        SAYS,
    )
    assert [one["label"] for one in found["shown"]] == ["cat", "dog"]
    assert found["others"] == 2 and abs(found["rest"] - 0.1) < 1e-9


@cases(("rows", "said"), [
    (slice(None), "After layer 1 the head says “cat”, and keeps to it."),
    (slice(0, 3), "Only after the last layer does the head say “cat” for good."),
    (slice(2, 4), "The head says “cat” before the first layer already, and after every layer."),
])  # fmt: skip
def test_the_lens_in_words(page, rows, said):
    assert call(page, "says", "m.told(a)", {**SAYS, "lens": SAYS["lens"][rows]}) == said


def test_the_lens_at_one_layer(page):
    assert call(page, "says", "m.reading(a, 0, 2)", SAYS) == "before the first layer: frog 60\u00a0%, dog 20\u00a0%"
    assert call(page, "says", "m.reading(a, 2, 1)", SAYS) == "after layer 1: cat 50\u00a0%"
    # The class that comes first at the end, then those that rise highest on the way.
    assert call(page, "says", "m.drawnClasses(a)", SAYS) == [0, 1, 2]
    panel = {"says": SAYS, "layers": 3, "layer_numbers": [0, 1, 2]}
    assert call(page, "says", "m.reached(a, 2)", panel) == 3
    # A copy that keeps two of three layers, with the lens of all.
    assert call(page, "says", "m.reached(a, 1)", {**panel, "layers": 2, "layer_numbers": [0, 2]}) == 3


SHOWN = """({ panel: small, layer: 1, head: 2, fusion: "head", direction: "from", q: 0,
    map: Float32Array.from({ length: 17 }, (_, t) => t / 136),
    drawn: Float32Array.from({ length: 17 }, (_, t) => -t) })"""


def test_the_table_has_the_special_tokens_by_name_and_the_patches_by_place(page):
    found = call(page, "table", f"m.cells(small, {SHOWN}.map)")
    assert [name for name, _ in found["prefix"]] == ["class token", "register 1"]
    assert [[round(136 * w) for w in row] for row in found["rows"]] == [
        [2, 3, 4, 5, 6], [7, 8, 9, 10, 11], [12, 13, 14, 15, 16],
    ]  # fmt: skip


def test_a_file_for_a_spreadsheet_reads_back(page):
    text = call(page, "table", f"m.csv([{SHOWN}, {SHOWN}], 'attention')")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 34
    assert rows[0] == {
        "picture": 'Cat, "C"', "layer": "1", "head": "2", "query": "class token", "direction": "from",
        "token": "class token", "row": "", "column": "", "weight": "0",
    }  # fmt: skip
    last = rows[-1]
    assert (last["row"], last["column"], last["token"]) == ("2", "4", "row 2, column 4")
    assert abs(float(last["weight"]) - 16 / 136) < 1e-6
    similar = list(csv.DictReader(io.StringIO(call(page, "table", f"m.csv([{SHOWN}], 'similarity')"))))
    assert float(similar[3]["cosine"]) == -3 and similar[3]["view"] == "similarity"


def test_a_name_that_a_spreadsheet_would_run_is_made_plain(page):
    text = call(page, "table", f"m.csv([{{ ...{SHOWN}, panel: {{ ...small, title: '=1+1' }} }}], 'attention')")
    assert next(csv.DictReader(io.StringIO(text)))["picture"] == "'=1+1"


@cases(("view", "change", "name"), [
    ("attention", "{}", "attention-cat-c-layer-1-head-2-class-token.csv"),
    ("attention", "{ fusion: 'mean', q: 4 }", "attention-cat-c-layer-1-mean-row-0-column-2.csv"),
    ("similarity", "{}", "similarity-cat-c-class-token.csv"),
    ("colours", "{}", "colours-cat-c.csv"),
])  # fmt: skip
def test_files_have_speaking_names(page, view, change, name):
    assert call(page, "table", f"m.fileName({{ ...{SHOWN}, ...{change} }}, '{view}', 'csv')") == name


USUAL = {name: part["usual"] for name, part in STATE.items()} | {"layer": 11}
DECODE = """m.decode(a, { layers: 12, heads: 6, tokens: 257, choices: (name) => ({ fusion: ["head", "mean"],
    direction: ["from", "to"], view: ["attention"], overlay: ["spotlight", "heat"],
    scale: ["own", "layer"], tour: ["", "look"] })[name] })"""


def test_an_address_says_what_differs_and_reads_back(page):
    values = {**USUAL, "layer": 3, "query": 40, "pinned": True, "smooth": False, "fusion": "mean", "fixed": 0.25,
              "tour": "look"}  # fmt: skip
    text = call(page, "link", "m.encode(...a)", [values, USUAL])
    assert call(page, "link", "m.encode(...a)", [USUAL, USUAL]) == ""
    assert text == "layer=3&query=40&fixed=0.25&pinned=1&smooth=0&fusion=mean&tour=look"
    assert {**USUAL, **call(page, "link", DECODE, f"#{text}")} == values


@cases("text", [
    "#a-section", "#layer=12", "#layer=-1", "#layer=3.5", "#layer=", "#layer=1e1", "#head=6", "#query=257", "#key=-2",
    "#fixed=0", "#fixed=2", "#fixed=x", "#pinned=yes", "#fusion=rollout", "#view=<b>", "#tour=<script>", "#model=3",
])  # fmt: skip
def test_an_address_that_does_not_fit_changes_nothing(page, text):
    assert call(page, "link", DECODE, text) == {}


MEASURE = "(text, size) => text.length * size / 2"


def test_lines_are_as_wide_as_the_picture(page):
    lines = call(
        page, "picture", f"m.wrapped(a, 70, (text) => ({MEASURE})(text, 14))", "one two three incomprehensibility four"
    )
    assert lines == ["one two", "three", "incomprehensibility", "four"]


def test_panels_stand_beside_one_another_while_there_is_room(page):
    one = {"width": 600, "height": 400, "title": "Cat"}
    plan = "m.arrange(a, { caption: 'said of it', note: '', legend: true }, " + MEASURE + ")"
    beside, below = call(page, "picture", plan, [one, one]), call(page, "picture", plan, [one, one, one])
    assert [p["x"] for p in beside["panels"]] == [16, 632] and len({p["y"] for p in beside["panels"]}) == 1
    assert beside["width"] == 1248
    assert len({p["x"] for p in below["panels"]}) == 1 and below["width"] == 632
    assert below["legend"]["y"] > below["panels"][2]["y"] + 400
    assert below["height"] > below["lines"][-1]["y"] > below["legend"]["y"]
