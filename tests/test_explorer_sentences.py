"""The sentences that an explorer computes: sums that add up, subjects and numbers; and what is drawn in which frame."""

import re

import pytest
from explored import NEEDS_CHROMIUM, drawn, opening, patch, random_panel
from explorer_parts import call, module_page, small_panel
from test_explorer_why import EXPLAIN

from vit_course.explorer import AttentionExplorer

pytestmark = NEEDS_CHROMIUM
SAYS = (
    "{ name: (t) => `row ${t}, column 0`, prefix: 1, names: ['class token'], rows: 3, columns: 3, tokens: 10, "
    "title: '', place: (t) => [Math.floor((t - 1) / 3), (t - 1) % 3], layer_numbers: [0] }"
)


@pytest.fixture(scope="module")
def page(browser):
    page = module_page(browser)
    page.evaluate(
        "(values) => { window.small = panelOf(typed(values)); }", small_panel(prefix=2, rows=3, columns=5, dim=4)
    )
    yield page
    page.close()


@pytest.fixture
def opened(browser, tmp_path):
    with opening(browser, tmp_path / "page.html") as opened:
        yield opened


def test_the_score_in_the_sentence_is_the_sum_of_the_two_parts_named_before_it(page):
    for place in ((0, 2, 5, 16), (1, 1, 7, 7), (0, 0, 3, 9)):
        said = page.evaluate(EXPLAIN, ["small", *place])["said"]
        found = " ".join(said[1:]).replace("−", "-")
        mean, change, more = re.search(r"adds up to (-?[\d.]+) .*?the sum is ([\d.]+) (larger|smaller)", found).groups()
        first, own, score = re.search(r"\((-?[\d.]+) \+ \(?(-?[\d.]+)\)?\) / √4 = (-?[\d.]+)", found).groups()
        assert (first, float(own)) == (mean, float(change) * (1 if more == "larger" else -1))
        assert abs((float(mean) + float(own)) / 2 - float(score)) < 0.011


@pytest.mark.parametrize(
    ("q", "best", "map", "expected"),
    [
        (
            0,
            4,
            [0.6, 0, 0, 0, 0.4],
            "the class token looks most at itself, with 60.00 % of its attention; of the patches, row 4",
        ),
        (
            2,
            4,
            [0.6, 0, 0, 0, 0.4],
            "looks most at the class token, with 60.00 % of its attention; of the other patches, row 4",
        ),
        (4, 2, [0, 0, 0.3, 0, 0.7], "looks most at itself, with 70.00 % of its attention; of the other patches, row 2"),
        (4, 2, [0, 0, 1, 0, 0], "looks most at the patch in row 2, column 0, with 100.00 % of its attention."),
    ],
)
def test_only_a_patch_has_other_patches(page, q, best, map, expected):
    seen = "map: a, drawn: a, direction: 'from', layer: 0, head: 0, ready: true"
    shown = f"{{ panel: {SAYS}, q: {q}, best: {best}, {seen} }}"
    said = call(page, "words", f"m.describe([{shown}], 'attention')", [*map, *[0] * 5]).replace("\u00a0", " ")
    assert expected in said


def test_one_photograph_is_and_of_several_each_is(page):
    one = f"{{ panel: {SAYS}, q: 0, best: 2, map: a, drawn: a, direction: 'from', ready: true }}"
    other = one.replace("best: 2", "best: 9")
    lead = call(
        page,
        "words",
        f"[m.lead([{one}], 'spotlight'), m.lead([{one}, {one}], 'heat'), m.lead([{one}, {other}], 'heat')]",
        [1],
    )
    assert lead[0].startswith("The photograph is bright") and "ringed one at the top." in lead[0]
    assert lead[1].startswith("Each photograph is tinted") and "ringed one at the top." in lead[1]
    assert "ringed one." in lead[2], "two rings at different places have no common place"


def test_a_patch_that_gets_nearly_an_even_share_is_looked_at(page):
    step = """async (first) => { const { TOURS } = await import("/tours.js");
        const row = (layer) => Float32Array.from([0.2, layer ? 0.4 : first / 10, ...Array(8).fill(0.05)]);
        const panel = { ...SAYS, layers: 2, heads: 1, layer_numbers: [0, 1], has: () => true, row, map: row };
        return TOURS.look.steps[1].check({ panel, query: 0, key: 1, pinned: true }); }"""
    step = step.replace("SAYS", SAYS)
    assert page.evaluate(step, 0.89) == ""
    assert "4.0 times an even share; layer 0 gives it 0.45 times an even share" in page.evaluate(step, 0.45)


def test_a_fixed_scale_fits_at_every_width_and_the_small_maps_say_what_they_are(opened):
    page = opened(AttentionExplorer(**random_panel(), scale="fixed", fixed=0.5))
    page.locator(".vit-drawing > summary").click()
    for width in (390, 850, 1180, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        drawn(page)
        assert page.locator(".vit-fixed input").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
    about = page.locator(".vit-grid-about")
    assert about.inner_text() == "Each small map: where one head of one layer looks from the framed patch. Click one."
    page.locator(".vit-chip").click()
    drawn(page)
    assert "looks from the class token." in about.inner_text()


def test_what_follows_the_pointer_is_drawn_in_the_frame_of_the_move(opened):
    """A move is followed by one frame; its first task afterwards sees photograph and sentence as they will be."""
    page = opened(AttentionExplorer(**random_panel()))
    page.mouse.move(*patch(page, 0, 0, 5, 8))
    drawn(page)
    page.evaluate("""() => {
        const root = document.querySelector(".vit-explorer");
        window.seen = [];
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => seen.push([root.dataset.drawn, root.querySelector(".vit-words").textContent]);
        addEventListener("pointermove", () => requestAnimationFrame(() => port2.postMessage(0)), true); }""")
    for row, column in ((1, 2), (3, 6), (4, 1)):
        page.evaluate("seen.length = 0")
        page.mouse.move(*patch(page, row, column, 5, 8))
        page.wait_for_function("seen.length > 0")
        state, said = page.evaluate("seen[0]")
        assert state != "false" and f"row {row}, column {column} looks most" in said
        drawn(page)
