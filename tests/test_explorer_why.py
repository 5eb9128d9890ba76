"""Why one token looks at another: the numbers behind one weight, and the words for them."""

import re

import numpy as np
import pytest
from conftest import cases
from explored import NEEDS_CHROMIUM
from explorer_parts import arrays, module_page, put_real, small_panel

pytestmark = NEEDS_CHROMIUM
EXPLAIN = """async ([layer, head, query, key]) => {
    const { added, because, cause, explain } = await import("/why.js");
    const found = explain(PANEL, layer, head, query, key);
    const listed = ([name, value]) => [name, value.length ? Array.from(value) : value];
    const plain = Object.fromEntries(Object.entries(found).map(listed));
    return { ...plain, on: added(found), said: because(found, PANEL), cause: cause(found.own) };
}"""


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    page.arrays = put_real(page, "cat")
    page.small = small_panel(prefix=2, rows=3, columns=5, dim=4, scale=0.3)
    page.evaluate("(values) => { window.small = panelOf(typed(values)); }", page.small)
    yield page
    page.close()


def explain(page, which, *place):
    return page.evaluate(EXPLAIN.replace("PANEL", which), list(place))


def softmax(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


@cases(("layer", "head", "query", "key"), [(0, 2, 5, 16), (1, 0, 0, 1), (1, 1, 7, 7)])
def test_the_numbers_are_those_of_numpy(page, layer, head, query, key):
    found = explain(page, "small", layer, head, query, key)
    q, k, _ = arrays(page.small)
    q, k = q[layer, head, query], k[layer, head]
    scores = 0.3 * k @ q
    np.testing.assert_allclose(found["product"], q * k[key], atol=1e-5)
    np.testing.assert_allclose(found["own"], q * (k[key] - k.mean(axis=0)), atol=1e-5)
    np.testing.assert_allclose([found["score"], found["average"]], [scores[key], scores.mean()], atol=1e-5)
    weights = softmax(scores)
    np.testing.assert_allclose([found["weight"], found["times"]], [weights[key], 17 * weights[key]], rtol=1e-4)
    assert found["rank"] == (scores > scores[key]).sum() + 1


def test_the_histograms_hold_all_keys_and_all_attention(page):
    found = explain(page, "real", 11, 0, 0, 70)
    scores = page.arrays["k"][11, 0] @ page.arrays["q"][11, 0, 0] / 8
    counts, edges = np.histogram(scores, bins=40)
    shares = np.histogram(scores, bins=40, weights=softmax(scores))[0]
    assert np.abs(np.array(found["counts"]) - counts).sum() <= 2  # a score on the edge of two bins
    assert sum(found["counts"]) == 257
    np.testing.assert_allclose(sum(found["shares"]), 1, atol=1e-5)
    np.testing.assert_allclose(found["shares"], shares, atol=2e-3)
    np.testing.assert_allclose([found["low"], found["high"]], edges[[0, -1]], atol=1e-4)


def value(text):
    return float(text.strip("() ").replace("−", "-"))


@cases("place", [(11, 0, 0, 70), (3, 4, 100, 84), (11, 3, 0, 0), (11, 2, 137, 20), (0, 1, 9, 200)])
def test_the_figures_add_up_as_they_are_written(page, place):
    found = explain(page, "real", *place)
    plus, minus, total = map(value, re.fullmatch(r"(.+?) − (.+) = (.+)", found["on"]["parts"]).groups())
    assert round(plus - minus, 2) == total == round(found["sum"], 2)
    shared, own = map(value, found["on"]["shared"].split(" + "))
    assert round(shared + own, 2) == total
    before, score = map(value, re.fullmatch(r"(.+) / √64 = (.+)", found["on"]["scaled"]).groups())
    assert before == total and abs(before / 8 - score) < 0.006


def test_a_scale_that_is_no_root_is_written_as_it_is(page):
    assert "× 0.3 =" in explain(page, "small", 0, 0, 3, 4)["on"]["scaled"]


def test_the_words_are_true_of_a_key_far_up_and_of_one_far_down(page):
    up, down = explain(page, "real", 3, 4, 100, 84), explain(page, "real", 11, 0, 0, 70)
    assert up["rank"] == 1 and "the largest of 257" in up["said"][2]
    assert "more than 1,000 times as much as a key of average score" in up["said"][2]
    assert "to the patch in row 5, column 3," in up["said"][0] and "better than the average key" in up["said"][1]
    assert "The class token gives" in down["said"][0] and "less well than the average key" in down["said"][1]
    scores = page.arrays["k"][11, 0] @ page.arrays["q"][11, 0, 0] / 8
    below = (scores < scores[70]).sum() + 1
    assert below == 2 and "the 2nd smallest of 257" in down["said"][2]
    ratio = np.exp(scores.mean() - scores[70])
    assert f"gives a key of average score {ratio:.0f} times as much" in down["said"][2]
    three = np.argsort(down["own"])[:3].tolist()
    assert down["cause"]["dimensions"] == three
    assert [int(n) for n in re.findall(r"\d+", down["said"][1])[:3]] == three


def test_what_cannot_be_explained_says_why(page):
    texts = page.evaluate(
        """async () => {
            const { cannot, explain } = await import("/why.js");
            const maps = { ...small, kind: "maps" };
            return [cannot(maps, "head"), cannot(small, "mean"), cannot(small, "rollout"), cannot(small, "head"),
              explain(maps, 0, 0, 0, 1)];
        }"""
    )
    assert "not its queries and keys" in texts[0]
    assert "mean of heads" in texts[1] and "Rollout" in texts[2]
    assert texts[3:] == ["", None]


@cases(
    ("rank", "count", "words"),
    [
        (1, 257, "the largest of 257"), (2, 257, "the 2nd largest of 257"), (3, 257, "the 3rd largest of 257"),
        (11, 257, "the 11th largest of 257"), (112, 257, "the 112th largest of 257"), (257, 257, "the smallest of 257"),
        (256, 257, "the 2nd smallest of 257"), (237, 257, "the 21st smallest of 257"),
    ],
)  # fmt: skip
def test_a_place_in_words(page, rank, count, words):
    assert page.evaluate("async (a) => (await import('/ranks.js')).place(...a)", [rank, count]) == words


def test_figures_have_as_many_digits_as_they_deserve(page):
    said = page.evaluate(
        """async () => {
            const { share, signed, times } = await import("/ranks.js");
            return [[0, 0.004, 0.31, 1.44, 12.6].map(times), [0, 0.00001, 0.0031, 0.0312, 0.31].map(share),
              [-0.001, -2.345, 2].map((x) => signed(x))];
        }"""
    )
    nbsp = "\u00a0%"
    assert said[0] == ["almost 0", "almost 0", "0.31", "1.4", "13"]
    assert said[1] == [f"0.00{nbsp}", f"under 0.01{nbsp}", f"0.31{nbsp}", f"3.1{nbsp}", f"31{nbsp}"]
    assert said[2] == ["0.00", "−2.35", "2.00"]


def test_bars_stand_on_both_sides_of_zero(page):
    up, down = page.evaluate("async () => (await import('/charts.js')).bars([2, -4, 0, 0.001], 4)")
    assert up.count("M") == 2 and "M0.08 0h.84v-0.500" in up and "v-0.030" in up  # what is there at all is seen
    assert down == "M1.08 0h.84v1.000h-.84z"
