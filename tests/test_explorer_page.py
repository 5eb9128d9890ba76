"""The explorer's saved page, whole or not at all, and the characters in it."""

import errno
import json
import os
import re

import numpy as np
import pytest
import torch
from conftest import cases

from vit_course.explorer import AttentionExplorer, scripts
from vit_course.explorer.encoding import UNSAFE, to_text


@pytest.fixture
def explorer():
    return AttentionExplorer(torch.randn(3, 2, 9, 9).softmax(dim=-1), torch.rand(3, 8, 16), layer=1)


def test_the_saved_page_is_whole_and_asks_for_nothing(explorer, tmp_path):
    explorer.save_html(tmp_path / "page.html", title="</script><b>mine & yours")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href|import|fetch|url)\s*[=(]\s*[\"']?(https?:|//)", page)
    assert "&lt;/script&gt;&lt;b&gt;mine &amp; yours" in page and "</script><b>" not in page
    assert page.count("</script>") == 3, "nothing ends a script early"
    data = re.search(r'data-coding="dense">(.*?)</script>', page, re.DOTALL)[1]
    assert from_text(data) == explorer._data
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


@cases("before", [None, "mine"])
def test_a_full_disk_leaves_what_was_there(explorer, tmp_path, monkeypatch, before):
    path = tmp_path / "page.html"
    if before:
        path.write_text(before)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"page\.html could not be written .* bytes are needed"):
        explorer.save_html(path, overwrite=True)
    assert [one.read_text() for one in tmp_path.iterdir()] == ([before] if before else [])


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


def from_text(text: str) -> bytes:
    codes = {mark: code for code, mark in UNSAFE.items()}
    bits = "".join(f"{codes.get(one, ord(one)):07b}" for one in text)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))


@cases("size", [0, 1, 6, 7, 8, 13, 14, 1000])
def test_seven_bits_a_character_and_none_that_a_page_loses(size, tmp_path):
    content = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8).tobytes()
    text = to_text(content)
    assert from_text(text) == content and len(text) == -(-8 * size // 7)
    assert not set(text) & {"\0", "\r", "<"} and max(text, default="") < "\u00c3"


def test_long_content_is_cut_in_whole_groups():
    content = bytes(range(256)) * 2000
    text = to_text(content)
    assert len(text) == -(-8 * len(content) // 7)
    for start in (0, 7 * 2**15 - 7, 7 * 2**15):
        assert from_text(text[start // 7 * 8 :][:80]) == content[start : start + 70]


def test_a_script_ends_no_element(tmp_path, monkeypatch):
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "page.js").write_text('const a = "</script>";')
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    assert scripts.module("page") == r'const a = "<\/script>";'
