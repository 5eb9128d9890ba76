"""The folder that a command writes: nothing in it that the command did not write is ever lost."""

import json

import pytest

from vit_course.__main__ import main
from vit_course._support.files import output_folder
from vit_course._support.files.output_folder import need_output_folder, write_output_folder

MARKER = "page.json"
FOREIGN = dict.fromkeys(("thesis.txt", ".git/HEAD", "CNAME", "sub/mine.txt"), "mine")


def put(folder, files: dict[str, str]):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def everything(folder) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def written(tmp_path) -> tuple:
    """-> a page with what somebody has put beside it, and a newer one that is to take its place."""
    out, first = tmp_path / "out", put(tmp_path / "first", {"index.html": "1", "sub/a.html": "1", "old/b.html": "1"})
    assert len(write_output_folder(out, first, MARKER, by="us")) == 4
    return put(out, FOREIGN), put(tmp_path / "second", {"index.html": "2", "sub/c.html": "2"})


def test_a_new_run_replaces_its_own_files_and_nothing_else(tmp_path):
    out, second = written(tmp_path)
    put(out, {"index.html": "an edit by hand"})
    assert need_output_folder(out, MARKER)["by"] == "us"
    write_output_folder(out, second, MARKER)
    there = everything(out)
    assert json.loads(there.pop(MARKER)) == {"program": "vit_course", "files": ["index.html", "sub/c.html"]}
    assert there == {"index.html": "2", "sub/c.html": "2", **FOREIGN}
    assert not (out / "old").exists(), "nothing is left in it"


def test_after_a_run_that_broke_off_the_next_one_knows_all_files(tmp_path, monkeypatch):
    out, second = written(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(output_folder, "write_atomically", lambda path, _: put(out, {"sub/c.html": "2"}) / 0)
        with pytest.raises(TypeError):
            write_output_folder(out, second, MARKER)
    assert everything(out)["old/b.html"] == "1", "the old page is still whole"
    write_output_folder(out, second, MARKER)
    there = everything(out)
    del there[MARKER]
    assert there == {"index.html": "2", "sub/c.html": "2", **FOREIGN}


def test_a_list_with_checksums_is_read(tmp_path):  # as releases before this form wrote it
    out, second = written(tmp_path)
    put(out, {MARKER: json.dumps({"files": {"index.html": "12ab", "sub/a.html": "12ab", "old/b.html": "12ab"}})})
    write_output_folder(out, second, MARKER)
    assert everything(out).keys() - FOREIGN.keys() == {MARKER, "index.html", "sub/c.html"}


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    out, second = written(tmp_path)
    (out / "index.html").rename(out / "moved")
    (out / "index.html").symlink_to("moved")
    write_output_folder(out, second, MARKER)
    assert everything(out)["index.html"] == "2" and everything(out)["moved"] == "1"
    assert not (out / "index.html").is_symlink()


def put_in_the_way(out):
    put(out, {"sub/c.html": "mine"})


def lead_outside(out):
    (out / "sub").rename(out.parent / "elsewhere")
    (out / "sub").symlink_to("../elsewhere")


def lead_new_files_outside(out):
    lead_outside(out)
    put(out, {MARKER: json.dumps({"program": "vit_course", "files": ["index.html"]})})


def of_another_program(out):
    put(out, {MARKER: json.dumps({"files": ["thesis.txt"]})})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (put_in_the_way, "does not list where new files must go: sub/c.html; rename it"),
        (lead_outside, "page.json must list files that are within .*; name another"),
        (of_another_program, "page.json was written by another program; name another folder"),
        (lead_new_files_outside, "does not list where new files must go: sub/c.html; rename it"),
    ],
)
def test_what_is_in_the_way_is_named_and_nothing_is_changed(spoil, message, tmp_path):
    out, second = written(tmp_path)
    spoil(out)
    before = everything(tmp_path)
    with pytest.raises(ValueError, match=message):
        write_output_folder(out, second, MARKER)
    assert everything(tmp_path) == before


def test_a_file_in_place_of_a_folder_stays(tmp_path):
    out, second = written(tmp_path)
    (out / "sub").rename(out / "moved")
    put(out, {"sub": "mine"})
    with pytest.raises(OSError, match=r"c\.html could not be written"):
        write_output_folder(out, second, MARKER)
    assert everything(out)["sub"] == "mine" and everything(out)["moved/mine.txt"] == "mine"


@pytest.mark.parametrize(
    "listed",
    [
        "",
        "[]",
        "{}",
        '{"files": 3}',
        '{"files": [3]}',
        '{"files": ["../a"]}',
        '{"files": {"/etc/hostname": "b"}}',
        '{"files": [""]}',
        '{"files": ["a\\u0000"]}',
    ],
)
def test_a_damaged_or_foreign_list_is_refused(listed, tmp_path):
    put(tmp_path, before := {"thesis.txt": "years", MARKER: listed})
    with pytest.raises(ValueError, match="name another folder"):
        need_output_folder(tmp_path, MARKER)
    assert everything(tmp_path) == before


@pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")  # ziamath reads its font in this way
@pytest.mark.parametrize(
    ("command", "mark"),
    [
        (["live"], "live.json"),
        (["site", "-o"], "searchindex.js"),
        (["site", "-o"], "live.json"),
        (["site", "-o"], "site.json"),
        (["live"], "site.json"),
        (["kit"], "index.html"),
    ],
)
def test_no_command_knows_a_folder_by_one_name(command, mark, tmp_path, capsys):
    put(tmp_path, before := {**FOREIGN, mark: "{}"})
    for force in ([], ["--force"] if command != ["kit"] else []):
        assert main([*command, str(tmp_path), *force]) == 2
        error = capsys.readouterr().err
        assert "name another folder" in error and "--force" not in error
        assert mark in error or ("holds other files" in error and ".git, CNAME" in error)
    assert everything(tmp_path) == before
