"""The first page of the site: a title, where to go, an explorer to play with, and the chapters."""

import os
import sys
import types

import pytest
from conftest import ROOT
from lab import chromium
from site_pages import Page

from vit_course.explorer import embedded
from vit_course.site.build import has_live, write_live
from vit_course.site.landing import LIVE, cards, hero

needs_browser = pytest.mark.skipif(chromium() is None and not os.environ.get("CI"), reason="no Chromium or Chrome")
TABLE = """## The chapters

Minutes are reading + doing + exercises.

| chapter | you will see | minutes |
|---|---|---|
| [00 A & b](notebooks/00_a.ipynb) | one *and* `a < b`; two | 1 + 20 + 300 |
| [11 C](notebooks/11_c.ipynb) | three | 4 + 5 + 6 |

Words behind.
"""


def test_the_table_becomes_cards():
    text = cards(TABLE)
    assert text.startswith("## The chapters\n\n<ol") and text.rstrip().endswith("Words behind.") and "|" not in text
    assert text.count("<li>") == 2 and 'href="notebooks/00_a.html"' in text
    assert "A &amp; b</strong>" in text and ">One <em>and</em> <code>a &lt; b</code>; two.<" in text
    assert ">321 min" in text and ">15 min" in text
    with pytest.raises(ValueError, match="the table of the chapters needs rows"):
        cards("## The chapters\n\nnone\n")


def test_buttons_lead_on_and_the_live_page_is_offered_where_it_is(monkeypatch):
    monkeypatch.setattr(embedded, "markup", lambda state: f"<i>{state}</i>")
    monkeypatch.setattr(embedded, "script", lambda: "run()")
    with_all = hero("S", live=True)
    assert "<i>S</i>" in with_all and '<script type="module">run()</script>' in with_all and LIVE in with_all
    without = hero("S", live=False)
    assert LIVE not in without
    assert all(page in without for page in ("notebooks/00_start_here.html", "docs/install.html"))


def test_the_live_page_is_written_by_its_own_module(monkeypatch, tmp_path):
    module = types.ModuleType("elsewhere")
    module.write_live = lambda folder, home: (folder / "page").write_text(home)
    monkeypatch.setitem(has_live.__globals__, "LIVE", "elsewhere")
    assert not has_live()
    monkeypatch.setitem(sys.modules, "elsewhere", module)
    write_live(tmp_path)
    assert (tmp_path / "page").read_text() == "../index.html"


def test_the_page_has_the_opening_of_the_readme_and_every_chapter(site):
    page = Page(site / "index.html")
    words = " ".join("".join(page.text).split())
    opening = (ROOT / "README.md").read_text().split("\n\n")[1]
    assert opening in words
    assert page.explorers == 1 and page.modules == 1
    assert (LIVE in page.links) == has_live() == (site / LIVE).is_file()
    chapters = [link for link in page.links if link.startswith("notebooks/")]
    assert chapters.count("notebooks/08_attention_maps.html") == 2, "in the contents, and its card"


@needs_browser
def test_the_explorer_is_in_the_first_view_and_answers(opened, some):
    for width, height in some([(390, 844), (850, 1000), (1280, 800)]):
        in_the_first_view(opened("index.html", viewport={"width": width, "height": height}), width, height)


def in_the_first_view(page, width, height):
    explorer = page.locator(".hero-explorer .vit-explorer[data-ready]")
    explorer.wait_for()
    button = page.locator(".hero-links a").first
    assert button.inner_text() == "Start with chapter 00" and button.bounding_box()["y"] < 0.75 * height
    # Wide, all of the photograph; on a telephone at least the beginning.
    photograph = explorer.locator(".vit-main").first.bounding_box()
    assert photograph["y"] + (1 if width > 400 else 0.25) * photograph["height"] < height
    page.mouse.move(photograph["x"] + 30, photograph["y"] + 30)
    page.wait_for_function("() => document.querySelector('.vit-words').textContent.includes('row')")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.locator(".chapters a", has_text="Attention maps").click()
    page.wait_for_url("**/notebooks/08_attention_maps.html")
