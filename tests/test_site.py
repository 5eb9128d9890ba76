"""The site of all chapters: built as the README says, then read page by page."""

import functools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, python

from vit_course._support.widgets.pages import unpack
from vit_course.teaching.site.landing import LINKS
from vit_course.teaching.site.outputs import VIEW
from vit_course.teaching.site.sphinx_sources import HERE

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST = 1_500_000
MATHJAX = 1_200_000  # bytes that a page with formulas may load besides, once for all pages
DATA = re.compile(r"(<script type=\"application/[^>]*>)(.*?)(?=</script>)", re.DOTALL)
ADDRESS = re.compile(r"url\(\s*[\"']?([^)\"']+)")
NAMES = ["course.html", "search.html", "docs/install.html", "res/teachers_guide.html"]
NAMES += [f"reference/{path.stem}.html" for path in (HERE / "reference").glob("*.md")]
NAMES += [f"notebooks/{path.stem}.html" for path in NOTEBOOKS]


class Page(HTMLParser):
    """What a page refers to and what can be referred to."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids, self.links, self.loads, self.pictures = set(), [], [], []
        self.explorers, self.modules, self.quiet, self.text = 0, 0, 0, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or "href" in values:
            self.loads.append(values.get("src") or values["href"])
        if tag == "img":
            self.pictures.append(values)
        if tag == "script":
            self.explorers += values.get("class") == "vit-explorer-state"
            self.modules += values.get("type") == "module"
        self.quiet += tag in ("script", "style", "pre", "code", "annotation")

    def handle_endtag(self, tag):
        self.quiet -= tag in ("script", "style", "pre", "code", "annotation")

    def handle_data(self, data):
        if not self.quiet:
            self.text.append(data)


@pytest.fixture(scope="session")
def pages(site):
    """{path: Page} of every page; the one that computes has tests of its own."""
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.parent.name != "live"}


def outputs(notebook: Path) -> list[dict]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", [])]


def test_every_chapter_is_a_page_in_order(site, pages):
    chapters = [f"notebooks/{path.stem}.html" for path in NOTEBOOKS]
    assert [path.stem for path in NOTEBOOKS] == [path.stem for path in sorted((site / "notebooks").glob("*.html"))]
    index = pages[site / "course.html"].links
    places = [index.index(chapter) for chapter in chapters]
    assert places == sorted(places)
    assert {"res/teachers_guide.html", "docs/install.html", "CONTRIBUTING.html", "reference/index.html"} <= {*index}
    for notebook in NOTEBOOKS:
        title = json.loads(notebook.read_text())["cells"][0]["source"]
        title = "".join(title).splitlines()[0].removeprefix("# ")
        page = (site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert f"<h1>{title}" in page


def test_no_page_shows_the_signs_of_markdown_or_of_a_formula(pages):
    signs = re.compile(r"[`$]|(?<![\w*])\*\w(?:[^*\n]*\w)?\*(?!\w)|\]\(")
    assert {path.name: found for path, page in pages.items() if (found := signs.findall("".join(page.text)))} == {}


def test_every_link_leads_somewhere(site, pages):
    followed = 0
    for path, page in pages.items():
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert file.is_file(), f"{path.relative_to(site)} refers to {target}"
            if parts.fragment and file.suffix == ".html":
                assert unquote(parts.fragment) in pages[file].ids, f"{path.relative_to(site)} refers to {target}"
            followed += 1
    assert followed > 1000


def test_nothing_is_loaded_from_outside(site, pages):
    for path, page in pages.items():
        assert not [target for target in page.loads if re.match(r"(?!data:)\w+:|//", target)], path
    for style in site.rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style


def test_every_picture_is_described(site, pages):
    for path, page in pages.items():
        assert all(picture.get("alt", "").strip() for picture in page.pictures), path
    for notebook in NOTEBOOKS:
        page = pages[site / "notebooks" / f"{notebook.stem}.html"]
        stored = [o["metadata"]["image/png"]["alt"] for o in outputs(notebook) if "image/png" in o.get("data", {})]
        shown = [picture["alt"] for picture in page.pictures if picture["src"].startswith("figures/")]
        assert shown == stored and stored


def test_each_chapter_has_its_outputs_one_script_for_its_explorers_and_its_file(site, pages):
    total = 0
    for notebook in NOTEBOOKS:
        page = pages[site / "notebooks" / f"{notebook.stem}.html"]
        views = [output.get("data", {}).get(VIEW, {}) for output in outputs(notebook)]
        names = [found["_name"] for view in views if (found := unpack(view))]
        stored = names.count("explorer")
        assert page.explorers == stored and page.modules == len({*names})
        total += stored
        path = site / "notebooks" / f"{notebook.stem}.html"
        text = path.read_text(encoding="utf-8")
        data = re.search(r'class="vit-\w+-data"', text)
        assert not data or data.start() > text.rindex("</article>"), "data come last: a slow line brings the text first"
        assert text.count('class="output stream') == sum(o["output_type"] == "stream" for o in outputs(notebook)) > 0
        assert notebook.name in page.links and (path.parent / notebook.name).read_bytes() == notebook.read_bytes()
        assert f"({notebook.stat().st_size / 1e6:.1f} MB)" in text or notebook.stat().st_size < 1e5
    assert total >= 1


def test_the_first_page_has_the_story_and_every_chapter_and_one_page_the_opening_of_the_readme(site, pages):
    opening = (ROOT / "README.md").read_text().split("\n\n")[1]
    for name in ("index.html", "course.html"):
        page = pages[site / name]
        assert opening in " ".join("".join(page.text).split())
        assert (site / name).read_text(encoding="utf-8").count('<span class="number">') == len(NOTEBOOKS)
        assert page.links.count("notebooks/08_attention_maps.html") == 2, "in the contents or the story, and its card"
    first = pages[site / "index.html"]
    assert {"course.html", "live/index.html", "play.html", "story.html", "#the-chapters"} <= {*first.links}
    assert {"story-seen-0", "story-seen-10"} < first.ids and first.modules == 1
    assert all(link in pages[site / "course.html"].links and (site / link).is_file() for link in LINKS)
    assert (site / "live" / "story_worker.js").is_file(), "beside the files of the model"


def test_every_documented_function_leads_to_its_code(site, pages):
    page = pages[site / "reference" / "model.html"]
    assert "../_modules/vit_course/attention.html#SelfAttention" in page.links
    code = (site / "_modules" / "vit_course" / "attention.html").read_text(encoding="utf-8")
    assert 'class="k">def</span>' in code, "highlighted"


@functools.cache
def loaded(page):
    """All files that a page loads or may load: its own, its scripts, styles and pictures, and what the styles name."""
    found = set()
    more = [(page.parent / name.partition("?")[0]).resolve() for name in Page(page).loads if name[0] != "#"]
    while more:
        file = more.pop()
        if file.suffix == ".html" or file in found:  # the next page, the search
            continue
        found.add(file)
        if file.suffix == ".css":
            names = ADDRESS.findall(file.read_text(encoding="utf-8"))
            more += [(file.parent / name).resolve() for name in names if not name.startswith(("data:", "#"))]
    return found


def test_a_page_is_light_without_the_data_of_its_explorers(site):
    heavy = {}
    for name in NAMES:
        page = site / name
        own = len(DATA.sub(r"\1", page.read_text(encoding="utf-8")).encode())
        assert (site / "searchindex.js" in loaded(page)) == (name == "search.html"), "loaded where it is used"
        sizes = {file.relative_to(site).as_posix(): file.stat().st_size for file in loaded(page)}
        assert any(name.endswith(".js") for name in sizes)
        with_formulas = 'class="math' in page.read_text(encoding="utf-8")
        assert ("_static/mathjax/tex-chtml.js" in sizes) == with_formulas, f"{name}: MathJax where it is used"
        if own + sum(sizes.values()) >= MOST + with_formulas * MATHJAX:
            heavy[name] = own, sorted(sizes.items(), key=lambda item: -item[1])[:5]
    assert heavy == {}


def test_every_icon_is_drawn_without_the_theme(site):
    icons = (site / "_static" / "icons.css").read_text()
    shown = set()
    for name in NAMES:
        text = (site / name).read_text(encoding="utf-8")
        for classes in re.findall(r'<(?:i|span) class="([^"]*fa-solid[^"]*)"', text):
            shown |= {one for one in classes.split() if one.startswith("fa-")} - {"fa-fw"}
    assert {"fa-bars", "fa-moon", "fa-magnifying-glass", "fa-angle-right"} < shown
    assert [one for one in shown if not re.search(rf"\.{one}\b", icons)] == []
    theme = (site / "_static" / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert "fontawesome/webfonts" not in theme and "--fa:" not in theme and ".bd-sidebar-primary" in theme
    assert not list(site.rglob("*fontawesome*"))


TABLE = "| chapter | you will see | minutes |\n|---|---|---|\n| [00 A](notebooks/00_a.ipynb) | b | 1 + 2 + 3 |\n"


@pytest.mark.thorough
def test_what_is_broken_fails_the_build(tmp_path):
    words = {
        "b.ipynb": "[a](b.ipynb)",
        "nowhere": "[a](#nowhere)",
        "b.svg": "![a](../res/b.svg)",
    }
    repository, out = tmp_path / "repository", tmp_path / "site"
    for folder in ("notebooks", "res/diagrams"):
        (repository / folder).mkdir(parents=True)
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "\n\n".join(["# A", *words.values()])}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (repository / "notebooks" / "00_a.ipynb").write_text(json.dumps(notebook))
    (repository / "README.md").write_text(
        "# T\n\nOne.\n\n![p](res/p.png)\n\n## The chapters\n\nMinutes are those.\n\n" + TABLE
    )
    (repository / "CONTRIBUTING.md").write_text("# House\n\nc\n")
    (repository / "CHANGELOG.md").write_text("# Changes\n\nc\n")
    (repository / "res" / "p.png").write_bytes((ROOT / "res" / "screenshot.png").read_bytes())
    (repository / "res" / "teachers_guide.md").write_text("# G\n\nwords\n")
    code = "import sys, pathlib; from vit_course.teaching.site import build; build(*map(pathlib.Path, sys.argv[1:]))"
    said = python("-c", code, repository, out).stderr.split("Sphinx found something to fix")[-1]
    for name in words:
        assert re.search(rf"00_a\.ipynb.*WARNING: .*{name}", said), name
    assert not out.exists()
