"""The site of all chapters: built as the README says, then read page by page."""

import base64
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT
from PIL import Image, ImageChops, ImageStat
from site_pages import Page

from vit_course.explorer import embedded
from vit_course.site import build
from vit_course.site.build import SITE_MARK
from vit_course.site.outputs import AGAIN, VIEW, show_outputs, write_figure
from vit_course.site.sources import lead_to_pages

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TABLE = """Minutes are reading.

| chapter | you will see | minutes |
|---|---|---|
| [00 A](notebooks/00_a.ipynb) | b | 1 + 2 + 3 |
"""


@pytest.fixture(scope="session")
def pages(site):
    """{path: Page} of every page of Sphinx's; the one that computes has tests of its own."""
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.parent.name != "live"}


def outputs(notebook: Path) -> list[dict]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", [])]


def test_every_chapter_is_a_page_in_order(site, pages):
    chapters = [f"notebooks/{path.stem}.html" for path in NOTEBOOKS]
    assert [path.stem for path in NOTEBOOKS] == [path.stem for path in sorted((site / "notebooks").glob("*.html"))]
    index = pages[site / "index.html"].links
    places = [index.index(chapter) for chapter in chapters]
    assert places == sorted(places)
    assert all(page in index for page in ("res/teachers_guide.html", "docs/install.html", "CONTRIBUTING.html"))
    for notebook in NOTEBOOKS:
        title = json.loads(notebook.read_text())["cells"][0]["source"]
        title = "".join(title).splitlines()[0].removeprefix("# ")
        page = (site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert f"<h1>{title}" in page


def test_no_page_shows_the_signs_of_markdown(pages):
    signs = re.compile(r"`|(?<![\w*])\*\w(?:[^*\n]*\w)?\*(?!\w)|\]\(")
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
        assert not [target for target in page.loads if re.match(r"\w+:|//", target)], path
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


def test_every_stored_explorer_is_alive_with_one_script_a_page(site, pages):
    total = 0
    for notebook in NOTEBOOKS:
        page = pages[site / "notebooks" / f"{notebook.stem}.html"]
        stored = sum(embedded.STORED in output.get("data", {}).get(VIEW, {}) for output in outputs(notebook))
        assert page.explorers == stored and page.modules == (stored > 0)
        total += stored
    assert total >= 1


def test_the_printed_text_is_there(site):
    for notebook in NOTEBOOKS:
        page = (site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        printed = ["".join(o["text"]) for o in outputs(notebook) if o["output_type"] == "stream"]
        assert page.count('class="output stream') == len(printed) > 0


def test_links_to_code_become_pages_of_code(site, pages):
    linked = set()
    text = "[r](../README.md#x) [n](../notebooks) "
    text += "[a](../vit_course/vit.py) [b](../res) [c](01_patchify.ipynb#x) [d](https://e.f/g.py) "
    text = lead_to_pages(
        f"{text}`vit_course.vit` `vit_course.no`\n```\n[a](../vit_course/vit.py)\n```\n",
        ROOT / "notebooks" / "a.ipynb",
        ROOT,
        linked,
    )
    assert text == (
        "[r](../index.md#x) [n](../index.md#the-chapters) [a](../vit_course/vit.py.md) [b](../res/index.md)"
        " [c](01_patchify.ipynb#x) [d](https://e.f/g.py) "
        "[`vit_course.vit`](../vit_course/vit.py.md) `vit_course.no`\n```\n[a](../vit_course/vit.py)\n```\n"
    )
    assert linked == {ROOT / "vit_course" / "vit.py", ROOT / "res"}
    page = (site / "vit_course" / "attention.py.html").read_text(encoding="utf-8")
    assert 'class="k">def</span>' in page, "highlighted"
    assert "attention.py.html" in pages[site / "vit_course" / "index.html"].links


def test_pictures_explorers_and_views_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "unpack", lambda view: view.get("state"))
    monkeypatch.setattr(embedded, "markup", lambda state: f"<div>{state}</div>")
    monkeypatch.setattr(embedded, "script", lambda: "run()")
    buffer = io.BytesIO()
    Image.new("RGB", (7, 5), "red").save(buffer, "PNG")
    picture = {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(buffer.getvalue()).decode()},
        "metadata": {"image/png": {"alt": 'a "b"'}},
    }
    other = {"output_type": "display_data", "data": {VIEW: {"model_id": "1"}}, "metadata": {}}
    live = {"output_type": "display_data", "data": {VIEW: {"state": "S"}}, "metadata": {}}
    again = {"output_type": "display_data", "data": {"text/html": [f"<p>{AGAIN}"]}, "metadata": {}}
    cells = [{"cell_type": "code", "outputs": [picture, *more]} for more in ([again, live], [other], [live, live])]
    cells.append({"cell_type": "markdown", "source": "words"})
    shown = show_outputs({"cells": cells}, "nn", tmp_path / "figures")["cells"]
    html = [[output["data"].get("text/html") for output in cell.get("outputs", [])] for cell in shown]
    img = '<img src="figures/nn-{}-0.webp" alt="a &quot;b&quot;" width="7" height="5" loading="lazy">'
    assert html[0] == [f"<noscript>{img.format(0)}</noscript><div>S</div>"]
    assert html[1] == [img.format(1), None] and shown[1]["outputs"][1] == other
    assert html[2][0] == f"<noscript>{img.format(2)}</noscript><div>S</div>", "one picture, one explorer"
    assert html[2][1] == '<div>S</div><script type="module">run()</script>'
    assert html[3] == []


def test_a_figure_becomes_a_small_file_that_looks_the_same(tmp_path):
    curve, photo = Image.new("RGB", (60, 40), "white"), Image.effect_noise((401, 300), 60).convert("RGB")
    for x in range(60):
        curve.putpixel((x, x // 2), (0, 0, 200))
    for picture, most in ((curve, 0), (photo, 12)):
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        assert write_figure(buffer.getvalue(), tmp_path / "a.webp") == picture.size
        difference = ImageStat.Stat(ImageChops.difference(picture, Image.open(tmp_path / "a.webp").convert("RGB")))
        assert max(difference.mean) <= most
    assert (tmp_path / "a.webp").stat().st_size < 0.8 * len(buffer.getvalue()), "what has no flat parts is squeezed"


def test_every_notebook_can_be_downloaded_as_it_is_stored(site, pages):
    for notebook in NOTEBOOKS:
        page = site / "notebooks" / f"{notebook.stem}.html"
        assert notebook.name in pages[page].links
        assert (page.parent / notebook.name).read_bytes() == notebook.read_bytes()
        size = f"({notebook.stat().st_size / 1e6:.1f} MB)"
        assert size in page.read_text(encoding="utf-8") or notebook.stat().st_size < 1e5


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds something that is no site"):
        build(ROOT, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_site_that_is_there_is_replaced_only_if_asked(tmp_path, monkeypatch):
    (tmp_path / SITE_MARK).write_text("mine")
    with pytest.raises(ValueError, match="holds a site: add --force to replace it"):
        build(ROOT, tmp_path)
    monkeypatch.setitem(build.__globals__, "PACKAGES", ("no_such_package",))
    with pytest.raises(ValueError, match="the site needs no_such_package"):  # the next step
        build(ROOT, tmp_path, overwrite=True)


@pytest.mark.slow
def test_without_sphinx_the_command_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['sphinx'] = None; from vit_course.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "site", "-o", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and 'pip install -e ".[site]"' in done.stderr and "Traceback" not in done.stderr


@pytest.mark.thorough
def test_what_is_broken_fails_the_build(tmp_path):
    words = {
        "b.ipynb": "[a](b.ipynb)",
        "nowhere": "[a](#nowhere)",
        "b.svg": "![a](../res/b.svg)",
        "nothing": r"$\nothing x$",
    }
    repository, out = tmp_path / "repository", tmp_path / "site"
    for folder in ("notebooks", "res/diagrams"):
        (repository / folder).mkdir(parents=True)
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    notebook["cells"].append(
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "\n\n".join(["# A", *words.values()])}
    )
    (repository / "notebooks" / "00_a.ipynb").write_text(json.dumps(notebook))
    (repository / "README.md").write_text("# T\n\nOne.\n\n![p](res/p.png)\n\n## The chapters\n\n" + TABLE)
    (repository / "CONTRIBUTING.md").write_text("# House\n\nc\n")
    (repository / "CHANGELOG.md").write_text("# Changes\n\nc\n")
    (repository / "res" / "p.png").write_bytes((ROOT / "res" / "screenshot.png").read_bytes())
    (repository / "res" / "teachers_guide.md").write_text("# G\n\nwords\n")
    code = "import sys; from pathlib import Path; from vit_course.site import build; build(*map(Path, sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(repository), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stderr.split("Sphinx found something to mend")[-1]
    for name in words:
        assert re.search(rf"00_a\.ipynb.*WARNING: .*{name}", said), name
    assert not out.exists()
