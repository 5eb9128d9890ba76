"""The guided tour: each step on the real model's data, with a state that passes it and with one that does not."""

import re

import numpy as np
import pytest
from conftest import cases
from explored import NEEDS_CHROMIUM
from explorer_parts import module_page, put_real, small_panel

pytestmark = NEEDS_CHROMIUM
STEPS = 8
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
    yield page
    page.close()


@pytest.fixture(scope="module")
def maps(page):
    scores = np.einsum("lhqd,lhkd->lhqk", page.arrays["q"], page.arrays["k"]) / 8
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)  # (L, h, T, T)


def run(page, step, values=None, solve=False):
    return page.evaluate(RUN, {"step": step, "values": values or {}, "solve": solve})


def numbers(text):
    return [float(n.replace("−", "-")) for n in re.findall(r"−?\d+(?:\.\d+)?", text)]


@cases("step", range(STEPS))
def test_each_step_can_be_done_on_the_photograph_and_is_not_done_at_the_start(page, step):
    start, done = run(page, step), run(page, step, solve=True)
    assert start["said"] == "" and start["needs"] == ""
    assert start["question"] and start["hint"]
    assert done["found"] and done["said"].endswith(".")


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


@cases(("step", "change"), [(i, change) for i, many in enumerate(SPOILT) for change in many])
def test_a_state_that_lacks_one_thing_does_not_pass(page, step, change):
    values = run(page, step, solve=True)["all"]
    assert run(page, step, values)["said"]
    assert run(page, step, {**values, **change})["said"] == ""


def test_a_patch_that_does_not_fit_does_not_pass(page):
    for step in (1, 3, 5, 6, 7):
        values = run(page, step, solve=True)["all"]
        name = "query" if step == 3 else "key"
        said = [bool(run(page, step, {**values, name: token})["said"]) for token in range(1, 257, 8)]
        assert not all(said), step


def test_the_fewest_patches_are_those_of_numpy(page, maps):
    done = run(page, 0, solve=True)

    def half(row):
        ordered = np.sort(row)[::-1]
        return int(np.searchsorted(np.cumsum(ordered), ordered.sum() / 2)) + 1

    counts = [half(row) for row in maps[-1, :, 0, 1:]]
    head = int(np.argmin(counts))
    assert done["found"]["head"] == head
    assert numbers(done["said"]) == [head, min(counts), 256, np.argmax(counts), max(counts)]


def test_the_layers_are_compared_by_the_mean_of_their_heads(page, maps):
    done = run(page, 1, solve=True)
    rows = 257 * maps[:, :, 0].mean(axis=1)[:, done["found"]["key"]]
    last, first = rows[-1], rows[0]
    means = 257 * maps[[0, -1], :, 0].mean(axis=1)  # (2, T)
    for key in range(1, 257, 3):
        fits = means[1, key] >= 2 and means[0, key] <= 1
        assert bool(run(page, 1, {**done["all"], "key": key})["said"]) == fits, key
    assert last >= 2 and first <= 1
    np.testing.assert_allclose([numbers(done["said"])[i] for i in (1, 3)], [last, first], atol=0.06)


def test_the_head_that_looks_above_is_that_of_numpy_and_its_neighbours_are_not_taken(page, maps):
    done = run(page, 2, solve=True)
    layer, head = done["found"]["layer"], done["found"]["head"]
    hits = (maps[:, :, 17:, 1:].argmax(axis=-1) == np.arange(240)).sum(axis=-1)  # (L, h)
    assert numbers(done["said"])[:4] == [layer, head, hits[layer, head], 240]
    passed = {
        (i, j) for i in range(12) for j in range(6) if run(page, 2, {"layer": i, "head": j, "query": 100})["said"]
    }
    assert passed == set(zip(*np.nonzero(2 * hits >= 240), strict=True))


def test_who_looks_here_sums_the_column(page, maps):
    done = run(page, 3, solve=True)
    found = done["found"]
    column = maps[found["layer"], found["head"], :, found["query"]]
    assert column.sum() >= 3
    np.testing.assert_allclose(numbers(done["said"])[0], column.sum(), atol=0.06)
    assert numbers(done["said"])[1] == (column * 257 >= 2).sum()


def test_the_largest_weight_of_the_layer_is_that_of_numpy(page, maps):
    done = run(page, 4, {"query": 100}, solve=True)
    tops = maps[-1, :, 100, 1:].max(axis=-1)
    assert done["found"]["head"] == tops.argmax()
    np.testing.assert_allclose(numbers(done["said"])[1], 100 * tops.max(), rtol=0.02)


def test_what_is_alike_and_not_looked_at_is_so(page, maps):
    done = run(page, 5, solve=True)
    found, features = done["found"], page.arrays["features"]
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosines = unit[1:] @ unit[found["query"]]
    cosine = cosines[found["key"] - 1]
    assert (cosines > cosine).sum() <= 26  # the token itself, and a tenth of 255
    assert maps[found["layer"], found["head"], found["query"], found["key"]] * 257 <= 0.5
    np.testing.assert_allclose(numbers(done["said"])[0], cosine, atol=0.006)


def test_like_colours_are_far_apart(page):
    found = run(page, 6, solve=True)
    one, other = (np.array(divmod(found["found"][name] - 1, 16)) for name in ("query", "key"))
    apart = np.linalg.norm(one - other)
    assert apart >= 8
    assert numbers(found["said"])[0] == round(apart)
    assert numbers(found["said"])[1] <= 10


def test_above_average_and_below_an_even_share_are_those_of_numpy(page, maps):
    done = run(page, 7, {"query": 40}, solve=True)
    head, key = done["found"]["head"], done["found"]["key"]
    scores = page.arrays["k"][-1, head] @ page.arrays["q"][-1, head, 40] / 8
    assert scores[key] > scores.mean() and maps[-1, head, 40, key] * 257 < 1
    np.testing.assert_allclose(numbers(done["said"])[:2], [scores[key], scores.mean()], atol=0.006)


def test_what_no_data_can_answer_says_so(page):
    said = page.evaluate(
        """async (values) => {
            const { TOURS } = await import("/tours.js");
            const poor = { ...panelOf(typed(values)), kind: "maps", features: null, names: [] };
            return TOURS.look.steps.map((step) => step.needs(poor));
        }""",
        small_panel(prefix=0, layers=1, heads=1, rows=1, columns=5),
    )
    assert [bool(text) for text in said] == [True, True, True, False, True, True, True, True]


def test_a_step_that_nothing_fulfils_finds_nothing(page):
    # Keys of zeros: every weight is an even share, so that no head looks anywhere more than elsewhere.
    found = page.evaluate(
        """async (values) => {
            const { TOURS } = await import("/tours.js");
            const { reading } = await import("/tour_facts.js");
            const panel = panelOf(typed(values));
            const last = (steps) => { for (;;) { const next = steps.next(); if (next.done) return next.value; } };
            return [0, 1, 2, 3, 4, 5, 7].map((i) => last(TOURS.look.steps[i].solve(reading(stateOf([panel], {})))));
        }""",
        {**small_panel(), "k": [0.0] * len(small_panel()["k"])},
    )
    assert found == [None] * 7
