"""The scripts that are shipped are those of the sources, put together by tests/bundle.py; told without node."""

import bundle
import pytest
from bundle import FOLDER
from conftest import cases

from vit_course.explorer import scripts


@cases("name", bundle.ENTRIES)
def test_no_bundle_is_older_than_its_sources_or_edited_by_hand(name):
    assert not bundle.stale(name), f"{name}.js is stale: python tests/bundle.py"


def test_every_bundle_has_an_entry_and_asks_for_nothing():
    assert {path.stem for path in bundle.BUNDLES.glob("*.js")} == set(bundle.ENTRIES)
    for name in bundle.ENTRIES:
        source = (bundle.BUNDLES / f"{name}.js").read_text(encoding="utf-8")
        assert "import " not in source.partition("\n")[2][:200] and "</script" not in scripts.module(name)


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A small source and a bundle of it."""
    monkeypatch.setattr(bundle, "SOURCES", tmp_path / "js")
    monkeypatch.setattr(bundle, "BUNDLES", tmp_path / "static")
    for folder in (bundle.SOURCES, bundle.BUNDLES):
        folder.mkdir()
    (bundle.SOURCES / "page.js").write_text('import { a } from "./a.js";\nconsole.log(a);\n')
    (bundle.SOURCES / "a.js").write_text("export const a = 1;\n")
    body = b"const a = 1;\nconsole.log(a);\n"
    (bundle.BUNDLES / "page.js").write_bytes(bundle.head("page", body) + body)
    return tmp_path


def test_a_change_anywhere_makes_it_stale(copied):
    assert not bundle.stale("page") and [path.name for path in bundle.modules("page")] == ["a.js", "page.js"]
    for path, change in (
        (bundle.SOURCES / "a.js", "export const a = 2;\n"),
        (bundle.SOURCES / "page.js", "// more\n"),
        (bundle.BUNDLES / "page.js", "// mine\n"),
    ):
        before = path.read_text()
        path.write_text(change if path.name == "a.js" else before + change)
        assert bundle.stale("page"), path
        path.write_text(before)
        assert not bundle.stale("page")
    (bundle.BUNDLES / "page.js").unlink()
    assert bundle.stale("page")


def test_style_sheets_close_every_rule():
    # They are joined: a rule that is left open would swallow those of the next.
    sheets = [*(FOLDER / "js").glob("*.css"), *(FOLDER.parent / "site" / "static").glob("*.css")]
    assert [path.name for path in sheets if (text := path.read_text()).count("{") != text.count("}")] == []
