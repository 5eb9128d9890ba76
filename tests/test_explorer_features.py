"""Similarity and colours: what the explorer makes of the tokens after the last norm."""

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM
from explorer_parts import arrays, module_page, put_real, small_panel
from sklearn.decomposition import PCA

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    yield page
    page.close()


def cosines(features):
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    return unit @ unit.T


def test_the_cosines_are_those_of_numpy_and_the_nearest_is_never_the_token_itself(page):
    panel = small_panel()
    found = page.evaluate(
        """async (values) => {
            const { correspondence } = await import("/similarity.js");
            const panel = panelOf(typed(values));
            return Array.from({ length: panel.tokens }, (_, t) => {
              const [{ values, best }] = correspondence([panel], t);
              return { values: Array.from(values), best };
            });
        }""",
        panel,
    )
    right = cosines(arrays(panel)[2])
    np.testing.assert_allclose([one["values"] for one in found], right, atol=1e-6)
    np.fill_diagonal(right, -2)
    assert [one["best"] for one in found] == (1 + right[:, 1:].argmax(1)).tolist()


def test_a_token_finds_its_own_content_in_a_second_panel_and_other_widths_are_not_compared(page):
    panel, order = small_panel(), np.random.default_rng(1).permutation(15) + 1
    shuffled = arrays(panel)[2][np.r_[0, order]]
    best, none = page.evaluate(
        """async ([values, shuffled, wider]) => {
            const { correspondence } = await import("/similarity.js");
            const panels = [values, { ...values, features: shuffled }, wider].map((v) => panelOf(typed(v)));
            const of = Array.from({ length: 15 }, (_, i) => correspondence(panels, i + 1));
            return [of.map(([, second]) => second.best), of.every(([, , third]) => third === null)];
        }""",
        [panel, shuffled.ravel().tolist(), small_panel(width=7)],
    )
    assert [order[b - 1] for b in best] == list(range(1, 16))
    assert none


def test_a_token_of_zeros_is_like_nothing(page):
    found = page.evaluate(
        """async (values) => {
            const { cosines } = await import("/similarity.js");
            const panel = panelOf(typed(values));
            panel.features.fill(0, 0, 6);
            return Array.from(cosines(panel, 0));
        }""",
        small_panel(),
    )
    assert found == [0] * 16


def painted(features, prefix=1):
    """The colours by scikit-learn's components."""
    patches = np.concatenate([f[prefix:] for f in features]).astype(np.float64)
    along = PCA(3, svd_solver="full").fit_transform(patches)
    low, high = np.percentile(along, [2, 98], axis=0)
    return np.clip(255 * (along - low) / (high - low), 0, 255)


COLOURS = """async (panels) => {
    const { colours } = await import("/colours.js");
    return colours(panels).map((found) => found && Array.from(found));
}"""


def test_the_colours_of_a_real_photograph_are_those_of_scikit_learn(page):
    features = put_real(page, "cat")["features"]
    (found,) = page.evaluate(COLOURS.replace("(panels)", "(panels = [real])"))
    assert np.abs(np.reshape(found, (-1, 3)) - painted([features])).max() < 1


def test_panels_as_wide_as_each_other_are_coloured_together(page):
    panels = [small_panel(0), small_panel(1, rows=2, columns=7), small_panel(2, width=9), small_panel(3)]
    panels[3]["features"] = None
    found = page.evaluate(COLOURS.replace("colours(panels)", "colours(panels.map((v) => panelOf(typed(v))))"), panels)
    together = painted([arrays(p)[2] for p in panels[:2]])
    assert np.abs(np.reshape(found[0] + found[1], (-1, 3)) - together).max() < 1
    assert np.abs(np.reshape(found[2], (-1, 3)) - painted([arrays(panels[2])[2]])).max() < 1
    assert found[3] is None


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


def test_tokens_that_are_all_alike_have_one_colour(page):
    panel = small_panel(features=[1.0] * 96)
    (found,) = page.evaluate(COLOURS.replace("colours(panels)", "colours([panelOf(typed(panels))])"), panel)
    assert len(set(found)) == 1


def test_the_work_for_many_tokens_is_a_few_dozen_products(page):
    # Not the time, which depends on the machine: how often the tokens are gone through.
    reads = page.evaluate(
        """async () => {
            const { components } = await import("/components.js");
            let rounds = 0;
            const rows = new Proxy(new Float32Array(60 * 50).map((_, i) => Math.sin(i * i)), {
              get(of, name) { if (name === "0") rounds++; return Reflect.get(of, name); },
            });
            components(rows, 50);
            return rounds;
        }"""
    )
    assert 0 < reads <= 2 * 64
