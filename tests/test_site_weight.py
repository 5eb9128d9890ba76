"""What a page of the site loads: little, and all of it is there."""

import functools
import re

from conftest import ROOT
from site_pages import Page

from vit_course.site.build import ICON_RULES
from vit_course.site.reference import PARTS

MOST = 1_500_000
DATA = re.compile(r"(<script type=\"application/[^>]*>)(.*?)(?=</script>)", re.DOTALL)
ADDRESS = re.compile(r"url\(\s*[\"']?([^)\"']+)")
NAMES = ["index.html", "search.html", "docs/install.html", "res/teachers_guide.html"]
NAMES += [f"reference/{part.page}.html" for part in PARTS]
NAMES += [f"notebooks/{path.stem}.html" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]


@functools.cache
def loaded(page):
    """All files that a page loads or may load: its own, its scripts, styles and pictures, and what the styles name."""
    found, more = (
        set(),
        [(page.parent / name.partition("?")[0]).resolve() for name in Page(page).loads if name[0] != "#"],
    )
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
        sizes = {file.relative_to(site).as_posix(): file.stat().st_size for file in loaded(page)}
        assert any(name.endswith(".woff") for name in sizes) and any(name.endswith(".js") for name in sizes)
        if own + sum(sizes.values()) >= MOST:
            heavy[name] = own, sorted(sizes.items(), key=lambda item: -item[1])[:5]
    assert heavy == {}


def test_the_search_is_loaded_where_it_is_used(site):
    with_words = [name for name in NAMES if site / "searchindex.js" in loaded(site / name)]
    assert with_words == ["search.html"]


def test_every_icon_is_drawn_without_the_theme(site):
    icons = (site / "_static" / "icons.css").read_text()
    shown = set()
    for name in NAMES:
        for classes in re.findall(
            r'<(?:i|span) class="([^"]*fa-solid[^"]*)"', (site / name).read_text(encoding="utf-8")
        ):
            shown |= {one for one in classes.split() if one.startswith("fa-")} - {"fa-fw"}
    assert {"fa-bars", "fa-moon", "fa-magnifying-glass", "fa-angle-right"} < shown
    assert [one for one in shown if not re.search(rf"\.{one}\b", icons)] == []
    theme = (site / "_static" / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert "fontawesome/webfonts" not in theme and "--fa:" not in theme and ".bd-sidebar-primary" in theme
    assert not list(site.rglob("*fontawesome*"))


def test_only_the_rules_of_icons_go():
    css = 'a{b:c}@font-face{src:url(../fontawesome/x.woff2)}.fa-moon,.fa-x{--fa:"y"}.fa-lg{font-size:1em}.z{d:e}'
    assert ICON_RULES.sub("", css) == "a{b:c}.fa-lg{font-size:1em}.z{d:e}"
