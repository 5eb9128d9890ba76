"""The site of all chapters in a browser, opened from its folder."""

import json

import pytest
from conftest import ROOT
from explored import NEEDS_CHROMIUM, SCREENSHOTS, at_rest, violations

from vit_course.teaching.site.landing import LINKS
from vit_course.teaching.site.sphinx_sources import HERE

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
REFERENCE = sorted(f"reference/{path.stem}.html" for path in (HERE / "reference").glob("*.md"))
# The widest that the page is in any frame, from the first on.
WIDEST = """
window.widest = 0;
function measure() {
  window.widest = Math.max(window.widest, document.documentElement?.scrollWidth ?? 0);
  requestAnimationFrame(measure);
}
measure();
"""
pytestmark = NEEDS_CHROMIUM


def look(page, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    at_rest(page)
    page.screenshot(path=SCREENSHOTS / f"site-{name}.png")


@pytest.mark.thorough
def test_without_scripts_the_picture_is_there(opened):
    page = opened("notebooks/08_attention_maps.html", java_script_enabled=False)
    picture = page.locator("noscript img").first
    assert picture.is_visible() and picture.get_attribute("alt")
    assert picture.bounding_box()["width"] > 200


def test_formulas_have_a_shape(opened):
    page = opened("notebooks/08_attention_maps.html")
    page.wait_for_function("() => window.MathJax?.startup?.promise")
    page.evaluate("() => MathJax.startup.promise.then(() => document.fonts.ready)")
    assert page.locator("mjx-container").count() == page.locator(".math").count() > 10
    assert page.locator("mjx-merror").count() == 0
    assert page.evaluate("() => document.fonts.check('16px MJXTEX-I')")
    # A bracket as tall as its two rows of numbers, which lie above each other.
    above, below, bracket = page.evaluate(
        """() => {
            const matrix = document.querySelector("div.math mjx-mtable mjx-mtable");
            const parts = [...[...matrix.querySelectorAll("mjx-mtr")].slice(0, 2), matrix.previousElementSibling];
            return parts.map((element) => element.getBoundingClientRect().toJSON());
        }"""
    )
    assert below["y"] >= above["y"] + 0.9 * above["height"]
    assert bracket["height"] > 1.5 * above["height"]
    page.locator("div.math").first.scroll_into_view_if_needed()
    look(page, "formula")
    page.set_viewport_size({"width": 400, "height": 900})
    wide, inside = page.locator("div.math mjx-container").first, page.locator("div.math mjx-math").first
    assert wide.evaluate("e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'auto'"), "it scrolls"
    assert inside.bounding_box()["x"] >= wide.bounding_box()["x"], "and is not cut at its left end"


@pytest.mark.thorough
def test_no_formula_has_an_unknown_command(opened):
    for notebook in NOTEBOOKS:
        page = opened(f"notebooks/{notebook.stem}.html")
        if page.locator(".math").count():
            page.wait_for_function("() => window.MathJax?.startup?.promise")
            page.evaluate("() => MathJax.startup.promise")
            assert page.locator("mjx-container").count() > 0, notebook.stem
            assert page.locator("mjx-merror, mjx-mtext[style*='red']").all_inner_texts() == [], notebook.stem


PREDICTED = [
    path.stem
    for path in NOTEBOOKS
    if any("predict" in cell["metadata"].get("tags", []) for cell in json.loads(path.read_text())["cells"])
]


def test_what_a_prediction_gives_is_shown_when_asked_for(opened, some):
    painting = set()
    for name in some(PREDICTED):
        page = opened(f"notebooks/{name}.html")
        code, folded = (page.locator(f".tag_predict details{kind}") for kind in (".above-input", ".below-input"))
        assert folded.count() == page.locator(".tag_predict:has(.cell_output)").count() > 0, name
        for one in [*code.all(), *folded.all()]:
            assert not one.locator(".cell_output, .cell_input").first.is_visible(), name
            assert one.locator("summary").inner_text().startswith("Make your guess first"), name
        painting |= {*page.locator(".tag_hide-input:not(.tag_predict) summary").all_inner_texts()}
        folded.first.locator("summary").click()
        assert folded.first.locator(".cell_output").first.is_visible(), name
    assert painting == {"The code that draws this"}


def test_on_paper_what_a_prediction_gives_is_shown(opened, some):
    for name in some(PREDICTED, daily=1):
        page = opened(f"notebooks/{name}.html")
        page.emulate_media(media="print")
        results = page.locator(".tag_predict details .cell_output")
        assert results.count() and all(one.is_visible() for one in results.all()), name


def test_nothing_is_wider_than_a_telephone(opened, some):
    names = ["notebooks/04_attention.html", "index.html", "docs/install.html", "reference/maps.html"]
    names += sorted({f"notebooks/{path.stem}.html" for path in NOTEBOOKS} - {*names})
    names += sorted({*REFERENCE} - {*names})
    wide = {}
    for name in some(names, daily=2):
        page = opened(name, WIDEST, viewport={"width": 400, "height": 900})
        for explorer in page.locator(".vit-explorer").all():
            explorer.locator("xpath=self::*[@data-ready]").wait_for()
        wide[name] = page.evaluate("() => window.widest")  # while the explorers were laid out, too
        if name == "notebooks/04_attention.html":
            look(page, "narrow")
            pictures = page.locator("main img").evaluate_all("all => all.map(e => e.getBoundingClientRect().right)")
            assert max(pictures) <= 400
    assert {name: width for name, width in wide.items() if width > 400} == {}


def test_dark_pages_have_dark_explorers(opened):
    page = opened("notebooks/08_attention_maps.html", color_scheme="dark")
    explorer = page.locator(".vit-explorer[data-ready]").first
    explorer.scroll_into_view_if_needed()
    look(page, "dark")
    for element in (explorer, page.locator("body")):
        colour = element.evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)")
        assert max(colour[:3]) < 60


@pytest.mark.thorough
def test_in_the_dark_a_figure_stands_undimmed_on_one_light_card(opened, some):
    looks = """all => all.map((image) => {
        const styles = [];
        for (let e = image; e.tagName !== "BODY"; e = e.parentElement) styles.push(getComputedStyle(e));
        return {
            dimmed: styles.some((s) => s.filter !== "none" || s.opacity !== "1"),
            backgrounds: styles.map((s) => s.backgroundColor).filter((c) => c !== "rgba(0, 0, 0, 0)"),
            borders: styles.slice(0, -3).filter((s) => parseFloat(s.borderTopWidth) > 0).length,
        };
    })"""
    frames = []
    for name in some(["notebooks/08_attention_maps.html", "notebooks/01_patchify.html", "course.html"]):
        found = opened(name, color_scheme="dark").locator("article img").evaluate_all(looks)
        assert found, name
        frames += found
    for frame in frames:
        assert not frame["dimmed"] and frame["borders"] == 0
        light = [colour for colour in frame["backgrounds"] if colour == "rgb(255, 255, 255)"]
        assert len(light) == 1 and frame["backgrounds"][0] == light[0], "one card, the figure's own"
        assert len(frame["backgrounds"]) <= 2, "and the page behind it"


@pytest.mark.thorough
def test_a_figure_keeps_its_place_until_it_is_there(opened):
    page = opened("notebooks/04_attention.html", viewport={"width": 390, "height": 844})
    shapes = page.locator("div.cell_output img").evaluate_all(
        """all => all.map(e => [e.clientHeight / e.clientWidth, e.getAttribute("height") / e.getAttribute("width")])"""
    )
    assert len(shapes) > 5 and all(abs(shown - told) < 0.05 for shown, told in shapes)


@pytest.mark.thorough
def test_from_a_server_and_from_the_disk_the_notebook_is_offered(opened):
    page = opened("notebooks/01_patchify.html")
    line = page.locator(".notebook-file")
    assert "In the folder of these pages it is notebooks/01_patchify.ipynb" in line.inner_text()
    link = line.get_by_role("link", name="Download the notebook")
    assert link.get_attribute("download") == link.get_attribute("href") == "01_patchify.ipynb"
    page.evaluate("() => document.documentElement.classList.remove('from-disk')")
    assert "In the folder" not in line.inner_text()


def test_the_pages_are_accessible(opened, some):
    names = [
        "index.html",
        "course.html",
        "search.html?q=softmax",
        "notebooks/00_start_here.html",
        "notebooks/08_attention_maps.html",
    ]
    names += ["reference/index.html", "reference/model.html", "reference/checks.html"]
    found = {}
    for name, mode in some([(name, mode) for mode in ("light", "dark") for name in names], daily=2):
        page = opened(name, color_scheme=mode)
        if "?" in name:
            page.wait_for_selector("#search-results li")
        if faults := violations(page):
            found[name, mode] = faults
    assert found == {}


def test_the_search_works_on_pages_opened_from_the_disk(opened):
    page = opened("notebooks/05_encoder.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    results = page.locator("#search-results li a")
    page.locator(".search-summary", has_text="found").wait_for()
    assert results.first.inner_text() == "04 Attention", "the chapter with the word in a heading"
    assert not [link for link in results.evaluate_all("all => all.map(a => a.href)") if link.endswith(".py.html")]
    results.first.click()
    page.locator("article span.highlighted:visible").first.wait_for()  # others may be folded
    assert page.url.split("?")[0].split("#")[0].endswith("notebooks/04_attention.html")


@pytest.mark.thorough
def test_no_code_and_no_output_is_cut(opened, some):
    for width in some((390, 1280)):
        page = opened("notebooks/04_attention.html", viewport={"width": width, "height": 900})
        page.evaluate("() => document.querySelectorAll('details').forEach((one) => (one.open = true))")
        blocks = page.locator("div.highlight pre")
        assert blocks.count() > 60
        cut = blocks.evaluate_all("all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)")
        assert cut == []


@pytest.mark.thorough
def test_a_button_copies_the_code(opened, browser):
    page = opened("notebooks/04_attention.html", permissions=["clipboard-read"])
    code = page.locator("div.cell_input pre", has_text="def ").first
    words = code.evaluate("e => e.textContent").rstrip("\n")
    assert "\n    " in words
    marked = code.evaluate("e => { getSelection().selectAllChildren(e); return getSelection().toString(); }")
    assert marked.rstrip("\n") == words, "what is marked with the pointer is copied as it is"
    button = code.locator("xpath=following-sibling::button")
    button.wait_for(state="attached")
    assert button.evaluate("e => getComputedStyle(e).opacity") == "0", "out of the way"
    button.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.wait_for_function("() => getComputedStyle(document.activeElement).opacity === '1'")
    assert page.get_by_role("button", name="Copy to clipboard").count() > 30
    page.keyboard.press("Enter")
    page.wait_for_selector("button.copybtn.success")
    page.evaluate("() => document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
    page.locator("#paste").focus()
    page.keyboard.press("Control+v")
    assert page.locator("#paste").input_value() == words
    assert page.locator("div.cell_output button.copybtn").count() == 0, "only code has a button"


def test_the_page_about_the_course_leads_to_the_story_and_to_the_chapters(opened):
    page = opened("course.html", viewport={"width": 390, "height": 844})
    assert page.locator(".hero-links a").all_inner_texts() == ["The story", *LINKS.values()]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.locator(".chapters a", has_text="Attention maps").click()
    page.wait_for_url("**/notebooks/08_attention_maps.html")
    assert page.locator(".navbar-brand").first.get_attribute("href") == "../index.html"


@pytest.mark.thorough
def test_a_reader_finds_a_function_and_its_types(opened):
    page = opened("search.html?q=record_attention")
    page.locator("#search-results a[href*='reference/maps.html'][href$='record_attention']").first.click()
    page.wait_for_selector("dt[id='vit_course.maps.record_attention']")
    assert page.locator("dt[id='vit_course.maps.record_attention']").is_visible()
    page.locator("dt[id='vit_course.maps.record_attention'] a", has_text="RecordedMaps").click()
    page.wait_for_url("**#vit_course.maps.RecordedMaps")


@pytest.mark.thorough
def test_no_name_in_the_contents_beside_a_page_is_cut(opened, some):
    sticking_out = """(contents) => {
        const names = [...contents.querySelectorAll("a")].filter((name) => name.offsetParent);
        const range = document.createRange();
        const right = (name) => (range.selectNodeContents(name), range.getBoundingClientRect().right);
        const edge = contents.getBoundingClientRect().right;
        return [names.length, names.filter((name) => right(name) > edge).map((name) => name.textContent.trim())];
    }"""
    for name in some([name for name in REFERENCE if name != "reference/index.html"]):
        shown, cut = opened(name).locator(".bd-sidebar-secondary").evaluate(sticking_out)
        assert shown > 3 and cut == []
