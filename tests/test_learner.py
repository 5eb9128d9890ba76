"""The learner's copy: without results, never overwritten, with links that hold, from a checkout and from a wheel."""

import base64
import hashlib
import json
import os
import re
import shutil
import zlib
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from tables import is_folded

from vit_course._support.files import course_files
from vit_course._support.files.atomic import write_atomically
from vit_course.teaching.learner import fresh, open_folder
from vit_course.teaching.learner.chapters import chapters, differences

MINE = "# what I found out"


@pytest.fixture
def folder(tmp_path):
    open_folder(tmp_path / "my_course")
    return tmp_path / "my_course"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of two chapters, whose files a test may change."""
    repository = tmp_path / "repository"
    for path in [*chapters().values()][:2]:
        (repository / "notebooks").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, repository / "notebooks")
    shutil.copytree(ROOT / "res" / "diagrams", repository / "res" / "diagrams")
    monkeypatch.setattr(course_files, "ROOTS", (repository,))
    return repository / "notebooks"


def change(path: Path, index: int, text: str) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][index]["source"] = [text]
    path.write_text(json.dumps(notebook), encoding="utf-8")


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("name", [path.name for path in chapters().values()])
def test_a_copy_has_every_cell_and_no_result(folder, name):
    copy, chapter = (nbformat.read(where / name, as_version=4) for where in (folder, ROOT / "notebooks"))
    nbformat.validate(copy)
    assert [cell.id for cell in copy.cells] == [cell.id for cell in chapter.cells]
    for mine, theirs in zip(copy.cells, chapter.cells, strict=True):
        if mine.cell_type == "code":
            assert "../" not in theirs.source, "vit_course._support.files.course_files finds it"
            assert mine.source == theirs.source and mine.outputs == [] and mine.execution_count is None
            assert "collapsed" not in mine.metadata and "outputs_hidden" not in mine.metadata.get("jupyter", {})
            assert is_folded(mine) == is_folded(theirs), "what only paints is folded here too"
            assert mine.metadata.get("tags") == theirs.metadata.get("tags")


@pytest.mark.parametrize("name", [path.name for path in chapters().values()])
def test_links_and_pictures_lead_somewhere_in_the_copy(folder, name):
    text = "\n".join(c.source for c in nbformat.read(folder / name, as_version=4).cells if c.cell_type == "markdown")
    found = re.findall(r"""(?:\]\(|src=["'])([^)\s"'#]+)""", text)
    inside = [link for link in found if not link.startswith(("http", "data:", "attachment:"))]
    assert inside and [link for link in inside if not (folder / link).exists()] == []


def test_what_is_there_is_never_overwritten(folder):
    change(folder / "03_position_embeddings.ipynb", 2, MINE)
    (folder / "notes.txt").write_text("mine")
    (folder / "04_attention.ipynb").write_text("no notebook any more")
    before = everything(folder)
    assert open_folder(folder) == []
    assert everything(folder) == before


@pytest.mark.slow
def test_a_lost_chapter_and_a_lost_record_come_back(folder):
    (folder / "02_class_token.ipynb").unlink()
    assert open_folder(folder)[0].endswith("chapters added: 1.")
    before = everything(folder)
    for record in (None, "damaged", "[]", '{"02_class_token.ipynb": {}}'):
        (folder / ".course.json").unlink()
        if record is not None:
            (folder / ".course.json").write_text(record)
        assert open_folder(folder) == []
        assert everything(folder) == before


def test_a_newer_chapter_is_put_beside_once_and_says_what_differs(course, tmp_path):
    folder = tmp_path / "my_course"
    open_folder(folder)
    name = "01_patchify.ipynb"
    change(folder / name, 2, MINE)
    mine = (folder / name).read_bytes()
    change(course / name, 4, "## A new heading\n\nand new words")
    (said,) = open_folder(folder)
    assert "a newer chapter 01: 01_patchify-new.ipynb, next to yours (1 cell differs" in said
    assert "the first under “A new heading”" in said
    assert (folder / name).read_bytes() == mine
    assert "and new words" in (folder / "01_patchify-new.ipynb").read_text()
    assert open_folder(folder) == [], "said once"
    change(course / name, 4, "newer still")
    (said,) = open_folder(folder)
    assert "01_patchify-new-2.ipynb" in said and "and new words" in (folder / "01_patchify-new.ipynb").read_text()


def packed(chapter: bytes) -> dict:
    packed = base64.b64encode(zlib.compress(chapter)).decode()
    return {"hash": hashlib.sha256(chapter).hexdigest(), "chapter": packed}


NAME, OTHER = "01_patchify.ipynb", "00_start_here.ipynb"


@pytest.mark.parametrize(
    "entry",
    [
        3,
        None,
        [],
        {},
        {"hash": 3},
        {"hash": "0" * 64, "chapter": ""},
        {"hash": ["a"], "chapter": 3},
        {"hash": "0" * 64, "chapter": "é"},
        {"hash": "0" * 64, "chapter": base64.b64encode(b"no zlib").decode()},
        {**packed(b'{"cells": []}'), "hash": "0" * 64},
        packed(b""),
        packed(b"{}"),
        packed(b"[1]"),
        packed(b"\xff"),
        packed(b'{"cells": 3}'),
        packed(b'{"cells": [3]}'),
        packed(b'{"cells": [{"source": 3}]}'),
        packed(b'{"cells": [{"source": [3]}]}'),
        packed(b'{"cells": ' + b"[" * 10**5),
        lambda: packed(b" " * 2**27),
    ],
)
def test_a_damaged_entry_of_the_record_costs_that_entry_alone(entry, course, tmp_path):
    folder = tmp_path / "my_course"
    open_folder(folder)
    record = json.loads((folder / ".course.json").read_text())
    picture = next(name for name in record if name.startswith("files/"))
    entry = entry() if callable(entry) else entry  # 128 MB are not made while the tests are collected
    record |= {NAME: entry, picture: entry, "nobody knows": entry, OTHER: packed(b'{"cells": []}')}
    (folder / ".course.json").write_text(json.dumps(record))
    (said,) = open_folder(folder)
    assert "a newer chapter 00: 00_start_here-new.ipynb" in said, "the other entries count"
    before = everything(folder)
    assert open_folder(folder) == [] and everything(folder) == before
    assert not (folder / "01_patchify-new.ipynb").exists()


def test_a_record_that_cannot_be_kept_gives_no_notebook_at_each_start(course, tmp_path, monkeypatch):
    folder = tmp_path / "my_course"
    open_folder(folder)
    change(course / NAME, 4, "newer")

    def full(place, content):
        if place.name == ".course.json":
            raise OSError(28, "No space left on device")
        write_atomically(place, content)

    monkeypatch.setattr("vit_course.teaching.learner.folder.write_atomically", full)
    for _ in range(3):
        with pytest.raises(ValueError, match="No space left on device"):
            open_folder(folder)
    assert [path.name for path in folder.glob("*-new*")] == ["01_patchify-new.ipynb"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "huge"])
def test_a_record_that_is_no_file_is_named_and_nothing_is_done(kind, tmp_path):
    folder, record = tmp_path / "my_course", tmp_path / "my_course" / ".course.json"
    folder.mkdir()
    if kind == "pipe" and hasattr(os, "mkfifo"):
        os.mkfifo(record)
    elif kind == "huge":
        with record.open("wb") as file:
            file.truncate(2**31)
    else:
        record.mkdir()
    with pytest.raises(ValueError, match=r"course\.json (is a (pipe|folder).*is needed|has 2,147,483,648 bytes)"):
        open_folder(folder)
    assert [path.name for path in folder.iterdir()] == [".course.json"]


def test_results_alone_make_no_newer_chapter(course, tmp_path):
    open_folder(tmp_path / "my_course")
    notebook = json.loads((course / "01_patchify.ipynb").read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=99)
    (course / "01_patchify.ipynb").write_text(json.dumps(notebook))
    assert open_folder(tmp_path / "my_course") == []


def test_a_diagram_follows_the_course_but_for_one_that_was_changed(course, tmp_path):
    folder, diagram = tmp_path / "my_course", "res/diagrams/model.svg"
    open_folder(folder)
    (course.parent / diagram).write_text("<svg/>")
    assert open_folder(folder) == [] and (folder / "files" / diagram).read_text() == "<svg/>"
    (folder / "files" / diagram).write_text("my notes on it")
    (course.parent / diagram).write_text("<svg></svg>")
    for lost in (False, True, False):
        if lost:
            (folder / ".course.json").unlink()
        assert open_folder(folder) == [] and (folder / "files" / diagram).read_text() == "my notes on it"


@pytest.mark.slow
@pytest.mark.parametrize("number", ["3", "03"])
def test_fresh_gives_a_new_copy_and_keeps_the_old(tmp_path, number):
    folder = tmp_path / "my_course"
    open_folder(folder)
    name, untouched = "03_position_embeddings.ipynb", (folder / "03_position_embeddings.ipynb").read_bytes()
    change(folder / name, 2, MINE)
    mine = (folder / name).read_bytes()
    assert fresh(folder, number) == f"{name} is a fresh copy; yours is kept as 03_position_embeddings-mine.ipynb"
    assert (folder / name).read_bytes() == untouched
    assert (folder / "03_position_embeddings-mine.ipynb").read_bytes() == mine
    assert fresh(folder, number).endswith("03_position_embeddings-mine-2.ipynb")
    assert (folder / "03_position_embeddings-mine.ipynb").read_bytes() == mine


@pytest.mark.parametrize("number", ["99", "x", "", "003", "-1"])
def test_fresh_of_no_chapter_names_those_that_there_are(folder, number):
    before = everything(folder)
    with pytest.raises(ValueError, match=rf"--fresh takes the number of a chapter, 00 01 .*, got '{number}'"):
        fresh(folder, number)
    assert everything(folder) == before


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="file is a file: the copy of the course needs a folder"):
        open_folder(tmp_path / "file")
    with pytest.raises(ValueError, match=r"cannot be written to .*name another folder with --folder"):
        open_folder(tmp_path / "file" / "inside")
    assert (tmp_path / "file").read_text() == "mine"


def test_what_a_new_version_changes_in_a_few_words():
    def notebook(*cells):
        return json.dumps({"cells": [{"source": [cell]} for cell in cells]}).encode()

    old = notebook("# 01 Patchify", "## The idea", "x = 1", "y = 2")
    new = notebook("# 01 Patchify", "## The idea", "x = 2", "y = 3")
    assert differences(old, new) == "2 cells differ, the first under “The idea”"
    assert differences(old, notebook("# 01 Patchify")) == "3 cells differ, the first under “01 Patchify”"
    assert differences(old, old + b" ") == "the same cells, saved otherwise"


def test_a_file_of_the_checkout():
    assert course_files.stored("convnet/table.csv") == ROOT / "res" / "convnet" / "table.csv"
    assert course_files.stored("diagrams").is_dir()
    assert course_files.course() == ROOT and course_files.is_checkout()


@pytest.mark.parametrize(
    ("name", "message"), [("convnet/no.csv", "has no file 'convnet/no.csv'"), (3, "name must be text, got 3")]
)
def test_no_such_file_is_named(name, message):
    with pytest.raises(ValueError, match=message):
        course_files.stored(name)


def test_an_installation_without_files_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(course_files, "ROOTS", (tmp_path / "neither", tmp_path / "nor"))
    assert not course_files.is_checkout()
    for asked in (course_files.course, lambda: course_files.stored("diagrams")):
        with pytest.raises(OSError, match=r"has no res/diagrams in .*neither or .*nor: install it"):
            asked()
