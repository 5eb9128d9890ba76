"""The explorer's saved page, whole or not at all, and the characters in it."""

import errno
import json
import os
import re

import pytest
import torch

from vit_course.explorer import AttentionExplorer, scripts


@pytest.fixture
def explorer():
    return AttentionExplorer(torch.randn(3, 2, 9, 9).softmax(dim=-1), torch.rand(3, 8, 16), layer=1)


def test_the_saved_page_is_whole_and_asks_for_nothing(explorer, tmp_path):
    explorer.save_html(tmp_path / "page.html", title="</script><b>mine & yours")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href|import|fetch|url)\s*[=(]\s*[\"']?(https?:|//)", page)
    assert "&lt;/script&gt;&lt;b&gt;mine &amp; yours" in page and "</script><b>" not in page
    assert page.count("</script>") == 3, "nothing ends a script early"
    state = json.loads(re.search(r'class="vit-explorer-state">(.*?)</script>', page, re.DOTALL)[1])
    assert state["layer"] == 1 and state["_panels"][0]["tokens"] == 9


def test_a_page_is_replaced_only_if_asked(explorer, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"page\.html is there already: choose another name, or overwrite=True"):
        explorer.save_html(path)
    assert path.read_text() == "mine"
    explorer.save_html(str(path), overwrite=True)
    assert path.read_text().startswith("<!doctype html>") and list(tmp_path.iterdir()) == [path]


def test_a_path_that_is_none(explorer, tmp_path):
    (tmp_path / "folder.html").mkdir()
    for path, message in (
        (tmp_path / "page", r"the name of a page ends in \.html, got .*page"),
        (tmp_path / "page.png", r"page\.png"),
        (tmp_path / "folder.html", r"folder\.html is a folder"),
        (5, "path must be a str or a Path, got 5"),
    ):
        with pytest.raises(ValueError, match=message):
            explorer.save_html(path, overwrite=True)
    with pytest.raises(FileNotFoundError, match=os.strerror(errno.ENOENT)) as caught:
        explorer.save_html(tmp_path / "no" / "page.html")
    assert caught.value.filename == str(tmp_path / "no" / "page.html")
    with pytest.raises(ValueError, match=r"titles must be .* got .*5"):
        explorer.save_html(tmp_path / "page.html", title=5)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_a_script_ends_no_element(tmp_path, monkeypatch):
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "page.js").write_text('const a = "</script>";')
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    assert scripts.module("page") == r'const a = "<\/script>";'
