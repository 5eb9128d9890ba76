"""The search of the site: sections with the words around, also in pages that were opened from a file."""

import json
import os

import pytest
from lab import chromium

from vit_course.site.search import NAME, Sections, write_index

needs_browser = pytest.mark.skipif(chromium() is None and not os.environ.get("CI"), reason="no Chromium or Chrome")
PAGE = """<nav>not me</nav><article><section id="top"><h1>A <em>page</em><a class="headerlink" href="#">#</a></h1>
<p>One<br>two <b>three</b> <math><mi>x</mi><mo>+</mo></math></p><script>not me</script><noscript>not me</noscript>
<section id="low"><h2>Below</h2><div class="cell"><pre>f(<span>x</span>)
  y</pre><button>not me</button></div><ul><li>left</li><li>right</li></ul></section>
<p>after</p></section></article><p>not me</p>"""


def test_sections_know_their_heading_their_sentences_and_their_code(tmp_path):
    rows = [["", "A page", "One two three x+ after", ""], ["low", "Below", "left right", "f(x) y"]]
    assert Sections(PAGE).found == rows
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.html").write_text("<article><section id='b'><h1>“B”</h1></section></article>")
    assert write_index(tmp_path, ["b.html", "a.html"]) == 3
    script = (tmp_path / NAME).read_text(encoding="utf-8")
    assert json.loads(script.removeprefix("const SECTIONS = ").rstrip(";\n")) == [
        ["b.html", "“B”", "", "“B”", "", ""],
        *(["a.html", "A page", *row] for row in rows),
    ]


def test_all_chapters_are_searched_and_the_code_of_the_package_is_not(site):
    script = (site / NAME).read_text(encoding="utf-8")
    rows = json.loads(script.removeprefix("const SECTIONS = ").rstrip(";\n"))
    pages = {row[0] for row in rows}
    assert {f"notebooks/{path.stem}.html" for path in (site / "notebooks").glob("*.html")} < pages
    assert "README.html" in pages and not any(page.startswith("vit_course/") for page in pages)
    assert len(rows) > 200
    for page, _, anchor, heading, *_ in rows:
        assert heading and (not anchor or f'id="{anchor}"' in (site / page).read_text(encoding="utf-8"))


@pytest.fixture
def found(opened):
    """A function that searches; -> [(chapter, heading, excerpt, marked words, address)] of the results."""
    page = opened("search.html")

    def search(words: str) -> list[tuple]:
        page.locator("#search input").fill(words)
        return page.locator("#search-results li").evaluate_all(
            """items => items.map((item) => [
                item.querySelector("small")?.textContent ?? "", item.querySelector("a span").textContent,
                item.querySelector("p").textContent,
                [...item.querySelectorAll("mark")].map((mark) => mark.textContent.toLowerCase()),
                item.querySelector("a").getAttribute("href")])"""
        )

    search.page = page
    return search


@needs_browser
def test_results_show_the_section_and_the_word_in_its_sentence(found):
    results = found("softmax")
    said = found.page.locator("[role=status]").inner_text()
    count = int(said.split()[0])
    assert said == f"{count} sections have this word" + ("; these are the best 40." if count > 40 else ".")
    assert 10 < len(results) == min(count, 40)
    for _, heading, excerpt, marked, _ in results:
        assert heading and len(excerpt) < 400 and set(marked) and all(word.startswith("softmax") for word in marked)
    chapters = {result[0] for result in results}
    assert "04 Attention" in chapters and len(chapters) > 3
    named = ["softmax" in heading.lower() for _, heading, *_ in results]
    assert any(named) and named == sorted(named, reverse=True), "headings come first"


@needs_browser
def test_all_words_are_wanted_and_their_forms_are_found(found):
    both, one, other = (found(words) for words in ("registers tokens", "registers", "token"))
    assert 0 < len(both) < min(len(one), len(other) + 1)
    marked = [{word[:5] for word in words} for *_, words, _ in both]
    assert all(words and words <= {"regis", "token"} for words in marked) and {"regis", "token"} in marked
    assert {result[4].split("?")[0] for result in found("patch embeddings")} == {
        result[4].split("?")[0] for result in found("patches embedding")
    }
    assert found("thereisnosuchword") == []
    assert found.page.locator("[role=status]").inner_text() == "No sections have this word."
    assert found("") == [] and found.page.locator("[role=status]").inner_text() == ""
    assert found("(") == [] and found("a+b*") is not None, "no pattern of the reader's runs"


@needs_browser
def test_a_result_leads_to_its_section_where_the_word_is_marked(found):
    page = found.page
    _, heading, _, _, address = found("rollout")[0]
    page.locator("#search-results a").first.click()
    page.locator("article span.highlighted:visible").first.wait_for()  # others may be folded
    assert page.url.endswith(address.partition("#")[2]) and heading in page.locator(":target").first.inner_text()
    page.go_back()
    page.wait_for_selector("#search-results li")
    assert page.locator("#search input").input_value() == "rollout", "the words are in the address"


@needs_browser
def test_from_any_page_by_keyboard(opened):
    page = opened("notebooks/04_attention.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results a[href*='04_attention']")
    assert page.locator("#search input").input_value() == "softmax"
