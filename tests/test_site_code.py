"""Code on the site: it wraps, and a button copies it."""

import os
import re

import pytest
from conftest import ROOT
from lab import chromium

from vit_course.site.code import hang

needs_browser = pytest.mark.skipif(chromium() is None and not os.environ.get("CI"), reason="no Chromium or Chrome")


def test_each_line_knows_where_it_begins():
    block = '<span class="k">def</span> <span class="nf">f</span><span class="p">():</span>\n\n'
    block += '    <span class="c">x</span>\n'
    assert hang(block) == (
        '<span class="ln"><span class="k">def</span> <span class="nf">f</span>():\n</span>'
        '<span class="ln">\n</span>'
        '<span class="ln" style="--in:4"><span class="in">    </span><span class="c">x</span>\n</span>'
    )
    quoted = '<span class="s">  &quot;a</span>'
    assert hang(quoted) == f'<span class="ln" style="--in:2">{quoted.replace("  ", SPACES)}</span>'
    assert hang("    \n") == '<span class="ln">    \n</span>', "nothing hangs on an empty line"


SPACES = '<span class="in">  </span>'


def test_the_text_stays_what_it_was():
    block = 'a <span class="n">b</span>\n  <span class="s">c\n</span>\td  \n\n'
    assert re.sub("<[^>]*>", "", hang(block)) == re.sub("<[^>]*>", "", block)


@needs_browser
def test_no_code_and_no_output_is_cut(opened, some):
    for width in some((390, 1280)):
        nothing_is_cut(opened("notebooks/04_attention.html", viewport={"width": width, "height": 900}), width)


def nothing_is_cut(page, width):
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => (one.open = true))")
    blocks = page.locator("div.highlight pre")
    assert blocks.count() > 60
    cut = blocks.evaluate_all("all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)")
    assert cut == []
    # The second row of a long line stands right of where the line begins.
    rows = page.locator("div.cell_input .ln").evaluate_all(
        """all => all.map((line) => {
            const range = document.createRange();
            const inside = line.querySelector(":scope .in");
            range.selectNodeContents(line);
            if (inside) range.setStartAfter(inside);
            return [...range.getClientRects()].filter((r) => r.width > 1).map((r) => [r.top, r.left]);
        }).filter((rows) => rows.length && rows.at(-1)[0] > rows[0][0] + 8)"""
    )
    assert len(rows) > (3 if width == 1280 else 50)
    for line in rows:
        first = min(left for top, left in line if top < line[0][0] + 8)
        assert min(left for top, left in line if top >= line[0][0] + 8) > first + 20


@needs_browser
def test_a_button_copies_the_code_by_pointer_and_by_keyboard(opened, browser):
    page = opened("notebooks/04_attention.html", permissions=["clipboard-read"])
    code = page.locator("div.cell_input pre", has_text="def ").first
    words = code.evaluate("e => e.textContent").rstrip("\n")
    assert "\n    " in words
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
    assert pasted(page) == words
    other = page.locator("div.cell_input pre").first
    other.hover()
    other.locator("xpath=following-sibling::button").click()
    page.wait_for_selector(f"#{other.get_attribute('id')} + button.success")
    assert pasted(page) == other.evaluate("e => e.textContent").rstrip("\n")


def pasted(page) -> str:
    """What a reader's paste gives."""
    page.evaluate("() => document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
    page.locator("#paste").focus()
    page.keyboard.press("Control+v")
    words = page.locator("#paste").input_value()
    page.evaluate("() => document.getElementById('paste').remove()")
    return words


@needs_browser
def test_what_is_marked_with_the_pointer_is_copied_as_it_is(opened):
    page = opened("notebooks/04_attention.html")
    code = page.locator("div.cell_input pre", has_text="def ").first
    marked = code.evaluate("e => { getSelection().selectAllChildren(e); return getSelection().toString(); }")
    assert marked.rstrip("\n") == code.evaluate("e => e.textContent").rstrip("\n")


@needs_browser
def test_only_code_has_a_button(opened):
    page = opened("notebooks/04_attention.html")
    page.wait_for_selector("button.copybtn", state="attached")
    assert page.locator("div.cell_output button.copybtn").count() == 0
    page = opened("docs/use.html")
    page.wait_for_selector("button.copybtn", state="attached")
    assert page.locator("button.copybtn").count() == (ROOT / "docs" / "use.md").read_text().count("```") // 2
