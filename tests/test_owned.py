"""A folder that a command writes and renews: nothing in it that the command did not write is ever lost."""

import json

import pytest

from vit_course.__main__ import main
from vit_course._support.files import owned
from vit_course._support.files.owned import Owned

PAGE = Owned("page.json", "page")
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
    assert len(PAGE.renew(out, first, by="us")) == 4
    return put(out, FOREIGN), put(tmp_path / "second", {"index.html": "2", "sub/c.html": "2"})


def test_what_was_written_is_renewed_and_all_else_stays_also_after_a_kill(tmp_path, monkeypatch):
    out, second = written(tmp_path)
    assert PAGE.need_room(out)["by"] == "us"
    with monkeypatch.context() as patch:
        patch.setattr(owned, "write_atomically", lambda path, _: put(out, {"index.html": "2"}) / 0)
        with pytest.raises(TypeError):
            PAGE.renew(out, second)
    PAGE.renew(out, second)
    there = everything(out)
    assert json.loads(there.pop("page.json"))["files"].keys() == {"index.html", "sub/c.html"}
    assert there == {"index.html": "2", "sub/c.html": "2", **FOREIGN}
    assert not (out / "old").exists(), "nothing is left in it"


def change(out):
    put(out, {"index.html": "my own words"})


def put_a_link(out):
    (out / "index.html").rename(out / "moved")
    (out / "index.html").symlink_to("moved")


def put_in_the_way(out):
    put(out, {"sub/c.html": "mine"})


def put_a_file_for_a_folder(out):
    (out / "sub").rename(out / "moved")
    put(out, {"sub": "mine"})


def lead_outside(out):
    (out / "sub").rename(out.parent / "elsewhere")
    (out / "sub").symlink_to("../elsewhere")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change, "has files that were changed since the page was written: index.html; rename them"),
        (put_a_link, "changed since the page was written: index.html"),
        (put_in_the_way, "holds something where the page has its own files: sub/c.html"),
        (put_a_file_for_a_folder, "names files that are not within .*: sub/a.html; name another"),
        (lead_outside, "names files that are not within .*: sub/a.html; name another"),
    ],
)
def test_what_is_not_as_it_was_written_is_named_and_stays(spoil, message, tmp_path):
    out, second = written(tmp_path)
    spoil(out)
    before = everything(tmp_path)
    with pytest.raises(ValueError, match=message):
        PAGE.renew(out, second)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "listed",
    [
        "",
        "[]",
        "{}",
        '{"files": 3}',
        '{"files": {"../a": "b"}}',
        '{"files": {"/etc/hostname": "b"}}',
        '{"files": {"": "b"}}',
        '{"files": {"a\\u0000": "b"}}',
        '{"files": {"thesis.txt": ["b"]}}',
    ],
)
def test_a_list_is_not_believed(listed, tmp_path):
    put(tmp_path, before := {"thesis.txt": "years", "page.json": listed})
    with pytest.raises(ValueError, match="name another folder"):
        PAGE.need_room(tmp_path)
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
        assert mark in error or ("holds something that is not" in error and ".git, CNAME" in error)
    assert everything(tmp_path) == before
