"""Why one token looks at another, and the guided tour: what they say of the real model's data, beside NumPy."""

import re

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM
from explorer_parts import arrays, call, module_page, put_real, small_panel

pytestmark = NEEDS_CHROMIUM
EXPLAIN = """async ([name, layer, head, query, key]) => {
    const { added, because, cause, explain } = await import("/why.js");
    const found = explain(window[name], layer, head, query, key);
    const listed = ([name, value]) => [name, value.length ? Array.from(value) : value];
    const plain = Object.fromEntries(Object.entries(found).map(listed));
    return { ...plain, on: added(found), said: because(found, window[name]), cause: cause(found.own) };
}"""
RUN = """async ({ step, values, solve }) => {
    const [{ TOURS }, { reading }] = [await import("/tours.js"), await import("/tour_facts.js")];
    const one = TOURS.look.steps[step];
    const state = stateOf([real], values);
    let found = null;
    if (solve) {
      const going = one.solve(reading(state));
      for (let next = going.next(); ; next = going.next()) if (next.done) { found = next.value; break; }
      if (found) state.set(found);
    }
    const now = reading(state);
    return { said: one.check(now), found, question: one.question(now), hint: one.hint, needs: one.needs(real),
      all: state.all };
}"""


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    page.arrays = put_real(page, "cat")
    page.small = small_panel(prefix=2, rows=3, columns=5, dim=4, scale=0.3)
    page.evaluate("(values) => { window.small = panelOf(typed(values)); }", page.small)
    yield page
    page.close()


@pytest.fixture(scope="module")
def maps(page):
    return softmax(np.einsum("lhqd,lhkd->lhqk", page.arrays["q"], page.arrays["k"]) / 8)  # (L, h, T, T)


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def explain(page, which, *place):
    return page.evaluate(EXPLAIN, [which, *place])


@pytest.mark.parametrize(("layer", "head", "query", "key"), [(0, 2, 5, 16), (1, 1, 7, 7)])
def test_the_numbers_are_those_of_numpy(page, layer, head, query, key):
    found = explain(page, "small", layer, head, query, key)
    q, k, _ = arrays(page.small)
    q, k = q[layer, head, query], k[layer, head]
    scores = 0.3 * k @ q
    np.testing.assert_allclose(found["product"], q * k[key], atol=1e-5)
    np.testing.assert_allclose(found["own"], q * (k[key] - k.mean(axis=0)), atol=1e-5)
    np.testing.assert_allclose([found["score"], found["average"]], [scores[key], scores.mean()], atol=1e-5)
    weight = softmax(scores)[key]
    np.testing.assert_allclose([found["weight"], found["times"]], [weight, 17 * weight], rtol=1e-4)
    assert found["rank"] == (scores > scores[key]).sum() + 1
    assert "× 0.3 =" in found["on"]["scaled"], "a scale that is no root is written as it is"


def test_the_histograms_hold_all_keys_and_all_attention(page):
    found = explain(page, "real", 11, 0, 0, 70)
    scores = page.arrays["k"][11, 0] @ page.arrays["q"][11, 0, 0] / 8
    counts, edges = np.histogram(scores, bins=40)
    assert np.abs(np.array(found["counts"]) - counts).sum() <= 2  # a score on the edge of two bins
    assert sum(found["counts"]) == 257
    np.testing.assert_allclose(sum(found["shares"]), 1, atol=1e-5)
    shares = np.histogram(scores, bins=40, weights=softmax(scores))[0]
    np.testing.assert_allclose(found["shares"], shares, atol=2e-3)
    np.testing.assert_allclose([found["low"], found["high"]], edges[[0, -1]], atol=1e-4)


@pytest.mark.parametrize("place", [(11, 0, 0, 70), (3, 4, 100, 84), (0, 1, 9, 200)])
def test_the_figures_add_up_as_they_are_written(page, place):
    def figures(text):
        return [float(figure.strip("() ").replace("−", "-")) for figure in re.split(r" − | = | \+ | / √64 = ", text)]

    found = explain(page, "real", *place)
    plus, minus, total = figures(found["on"]["parts"])
    assert round(plus - minus, 2) == total == round(found["sum"], 2) == round(sum(figures(found["on"]["shared"])), 2)
    before, score = figures(found["on"]["scaled"])
    assert before == total and abs(before / 8 - score) < 0.006


def test_the_words_are_true_of_a_key_far_up_and_of_one_far_down(page):
    up, down = explain(page, "real", 3, 4, 100, 84), explain(page, "real", 11, 0, 0, 70)
    assert up["rank"] == 1 and "the largest of 257" in up["said"][2]
    assert "more than 1,000 times as much as a key of average score" in up["said"][2]
    assert (
        "to the patch in row 5, column 3," in up["said"][0]
        and "With this key the sum is" in up["said"][1]
        and " larger" in up["said"][1]
    )
    assert "The class token gives" in down["said"][0] and " smaller, most of all because" in down["said"][1]
    scores = page.arrays["k"][11, 0] @ page.arrays["q"][11, 0, 0] / 8
    assert (scores < scores[70]).sum() + 1 == 2 and "the 2nd smallest of 257" in down["said"][2]
    ratio = np.exp(scores.mean() - scores[70])
    assert f"gives a key of average score {ratio:.0f} times as much" in down["said"][2]
    three = np.argsort(down["own"])[:3].tolist()
    assert (
        down["cause"]["dimensions"]
        == three
        == [int(n) for n in re.findall(r"\d+", down["said"][1].split("dimensions ")[-1])[:3]]
    )


def test_what_cannot_be_explained_says_why(page):
    cannot = "[{ ...small, kind: 'maps' }, small].flatMap((one) => a.map((fusion) => m.cannot(one, fusion)))"
    whole, *_, one_head, mean, rollout = call(page, "why", cannot, ["head", "mean", "rollout"])
    assert "not its queries and keys" in whole and one_head == ""
    assert "mean of heads" in mean and "Rollout" in rollout
    assert call(page, "why", "m.explain({ ...small, kind: 'maps' }, 0, 0, 0, 1)") is None


def test_ranks_figures_and_bars(page):
    places = call(page, "ranks", "[1, 2, 3, 11, 112, 237, 256, 257].map((rank) => m.place(rank, 257))")
    words = "largest, 2nd largest, 3rd largest, 11th largest, 112th largest, 21st smallest, 2nd smallest, smallest"
    assert places == [f"the {word} of 257" for word in words.split(", ")]
    times = call(page, "ranks", "[0, 0.004, 0.31, 1.44, 12.6].map(m.times)")
    assert times == ["almost 0", "almost 0", "0.31", "1.4", "13"]
    shares = call(page, "ranks", "[0, 0.00001, 0.0031, 0.0312, 0.31].map(m.share)")
    assert shares == [f"{figure}\u00a0%" for figure in ("0.00", "under 0.01", "0.31", "3.1", "31")]
    assert call(page, "ranks", "[-0.001, -2.345, 2].map((x) => m.signed(x))") == ["0.00", "−2.35", "2.00"]
    up, down = call(page, "charts", "m.bars([2, -4, 0, 0.001], 4)")
    assert up.count("M") == 2 and "M0.08 0h.84v-0.500" in up and "v-0.030" in up  # what is there at all is seen
    assert down == "M1.08 0h.84v1.000h-.84z"


# ---- the tour

# What breaks each step's condition, and nothing else of it.
SPOILT = [
    [{"layer": 10}, {"head": 0}, {"query": 5}, {"view": "colours"}, {"fusion": "mean"}],
    [{"pinned": False}, {"key": -1}, {"key": 0}],
    [{"head": 0}, {"layer": 11}, {"direction": "to"}, {"fusion": "mean"}],
    [{"direction": "from"}, {"pinned": False}, {"query": 0}, {"fusion": "rollout"}],
    [{"scale": "own"}, {"head": 0}, {"view": "similarity"}],
    [{"pinned": False}, {"view": "attention"}, {"key": -1}, {"fusion": "rollout"}],
    [{"view": "attention"}, {"pinned": False}, {"key": -1}],
    [{"pinned": False}, {"fusion": "mean"}, {"key": -1}, {"direction": "to"}],
]


def run(page, step, values=None, solve=False):
    return page.evaluate(RUN, {"step": step, "values": values or {}, "solve": solve})


def solved(page, step, values=None):
    """-> the state that was found, and the numbers in what is said of it."""
    done = run(page, step, values, solve=True)
    return done["found"], [float(n.replace("−", "-")) for n in re.findall(r"−?\d+(?:\.\d+)?", done["said"])]


@pytest.mark.thorough
@pytest.mark.parametrize("step", range(8))
def test_each_step_can_be_done_on_the_photograph_and_not_with_one_thing_missing(page, step):
    start, done = run(page, step), run(page, step, solve=True)
    assert start["said"] == "" and start["needs"] == "" and start["question"] and start["hint"]
    assert done["found"] and done["said"].endswith(".")
    for change in SPOILT[step]:
        assert run(page, step, {**done["all"], **change})["said"] == "", change
    if step in (1, 3, 5, 6, 7):
        name = "query" if step == 3 else "key"
        passed = [bool(run(page, step, {**done["all"], name: token})["said"]) for token in range(1, 257, 8)]
        assert not all(passed), "a patch that does not fit"


def test_the_heads_and_layers_that_are_asked_for_are_those_of_numpy(page, maps):
    def half(row):
        ordered = np.sort(row)[::-1]
        return int(np.searchsorted(np.cumsum(ordered), ordered.sum() / 2)) + 1

    found, numbers = solved(page, 0)  # the fewest patches
    counts = [half(row) for row in maps[-1, :, 0, 1:]]
    assert found["head"] == np.argmin(counts)
    assert numbers == [found["head"], min(counts), 256, np.argmax(counts), max(counts)]

    done = run(page, 1, solve=True)  # the first layer beside the last, by the mean of the heads
    first, last = 257 * maps[[0, -1], :, 0].mean(axis=1)  # (T,) each
    for key in range(1, 257, 3):
        fits = last[key] >= 2 and first[key] <= 0.5
        assert bool(run(page, 1, {**done["all"], "key": key})["said"]) == fits, key
    found, numbers = solved(page, 1)
    np.testing.assert_allclose([numbers[1], numbers[3]], [last[found["key"]], first[found["key"]]], atol=0.06)

    found, numbers = solved(page, 2)  # one patch up
    layer, head = found["layer"], found["head"]
    hits = (maps[:, :, 17:, 1:].argmax(axis=-1) == np.arange(240)).sum(axis=-1)  # (L, h)
    assert numbers[:4] == [layer, head, hits[layer, head], 240]
    passed = [[bool(run(page, 2, {"layer": i, "head": j, "query": 100})["said"]) for j in range(6)] for i in range(12)]
    assert (np.array(passed) == (2 * hits >= 240)).all()

    found, numbers = solved(page, 3)  # who looks here
    column = maps[found["layer"], found["head"], :, found["query"]]
    assert column.sum() >= 3 and numbers[1] == (column * 257 >= 2).sum()
    np.testing.assert_allclose(numbers[0], column.sum(), atol=0.06)

    found, numbers = solved(page, 4, {"query": 100})  # the largest weight of the layer
    tops = maps[-1, :, 100, 1:].max(axis=-1)
    assert found["head"] == tops.argmax()
    np.testing.assert_allclose(numbers[1], 100 * tops.max(), rtol=0.02)


def test_the_pairs_that_are_asked_for_are_those_of_numpy(page, maps):
    found, numbers = solved(page, 5)  # alike, and not looked at
    unit = page.arrays["features"] / np.linalg.norm(page.arrays["features"], axis=1, keepdims=True)
    cosines = unit[1:] @ unit[found["query"]]
    cosine = cosines[found["key"] - 1]
    assert (cosines > cosine).sum() <= 26  # the token itself, and a tenth of 255
    assert maps[found["layer"], found["head"], found["query"], found["key"]] * 257 <= 0.5
    np.testing.assert_allclose(numbers[0], cosine, atol=0.006)

    found, numbers = solved(page, 6)  # like colours, far apart
    one, other = (np.array(divmod(found[name] - 1, 16)) for name in ("query", "key"))
    apart = np.linalg.norm(one - other)
    assert apart >= 8 and numbers[0] == round(apart) and numbers[1] <= 10

    found, numbers = solved(page, 7, {"query": 40})  # above the average, below an even share
    head, key = found["head"], found["key"]
    scores = page.arrays["k"][-1, head] @ page.arrays["q"][-1, head, 40] / 8
    assert scores[key] > scores.mean() and maps[-1, head, 40, key] * 257 < 1
    np.testing.assert_allclose(numbers[:2], [scores[key], scores.mean()], atol=0.006)


def test_what_no_data_can_answer_says_so_and_what_nothing_fulfils_finds_nothing(page):
    poor = small_panel(prefix=0, layers=1, heads=1, rows=1, columns=5)
    panel = "{ ...panelOf(typed(a)), kind: 'maps', features: null, names: [] }"
    needs = call(page, "tours", f"m.TOURS.look.steps.map((step) => step.needs({panel}))", poor)
    assert [bool(text) for text in needs] == [True, True, True, False, *[True] * 4]
    # Keys of zeros: every weight is an even share, so that no head looks anywhere more than elsewhere.
    found = page.evaluate(
        """async (values) => {
            const [{ TOURS }, { reading }] = [await import("/tours.js"), await import("/tour_facts.js")];
            const panel = panelOf(typed(values));
            const last = (steps) => { for (;;) { const next = steps.next(); if (next.done) return next.value; } };
            return [0, 1, 2, 3, 4, 5, 7].map((i) => last(TOURS.look.steps[i].solve(reading(stateOf([panel], {})))));
        }""",
        {**small_panel(), "k": [0.0] * len(small_panel()["k"])},
    )
    assert found == [None] * 7
