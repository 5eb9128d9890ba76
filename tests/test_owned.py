"""A folder that a command writes and renews: nothing in it that the command did not write is ever lost."""

import json
import os

import pytest
from conftest import cases

from vit_course.__main__ import main
from vit_course.files import owned
from vit_course.files.owned import Owned
from vit_course.kit.folder import KIT
from vit_course.live.folder import LIVE
from vit_course.site.build import SITE

PAGE = Owned("page.json", "page")
FOREIGN = ("thesis.txt", ".git/HEAD", "CNAME", "sub/mine.txt")


def made(folder, **files):
    """A folder of files: `index` becomes index.html, `sub_a` sub/a.html."""
    for name, text in files.items():
        path = folder / f"{name.replace('_', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def everything(folder) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def out(tmp_path):
    """A page that was written, and what somebody has put beside it."""
    out = tmp_path / "out"
    written = PAGE.renew(out, made(tmp_path / "first", index="1", sub_a="1", old_b="1"), by="us")
    assert sorted(written) == sorted(path for path in out.rglob("*") if path.is_file()) and len(written) == 4
    for name in FOREIGN:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("mine")
    return out


def test_what_was_written_is_renewed_and_all_else_stays(out, tmp_path):
    assert PAGE.need_room(out)["by"] == "us"
    PAGE.renew(out, made(tmp_path / "second", index="2", sub_c="2"))
    there = everything(out)
    assert json.loads(there.pop("page.json"))["files"].keys() == {"index.html", "sub/c.html"}
    assert there == {"index.html": "2", "sub/c.html": "2", **dict.fromkeys(FOREIGN, "mine")}
    assert not (out / "old").exists(), "nothing is left in it"


def change(out):
    (out / "index.html").write_text("my own words")


def put_a_link(out):
    (out / "index.html").rename(out / "moved")
    (out / "index.html").symlink_to("moved")


def put_a_folder(out):
    (out / "index.html").unlink()
    (out / "index.html").mkdir()


def put_in_the_way(out):
    (out / "sub" / "c.html").write_text("mine")


def put_a_file_for_a_folder(out):
    (out / "sub" / "a.html").unlink()
    (out / "sub" / "mine.txt").unlink()
    (out / "sub").rmdir()
    (out / "sub").write_text("mine")


def lead_outside(out):
    (out / "sub").rename(out.parent / "elsewhere")
    (out / "sub").symlink_to("../elsewhere")


@cases(
    ("spoil", "message"),
    [
        (change, "has files that were changed since the page was written: index.html; rename them"),
        (put_a_link, "changed since the page was written: index.html"),
        (put_a_folder, "changed since the page was written: index.html"),
        (put_in_the_way, "holds something where the page has files of its own: sub/c.html"),
        (put_a_file_for_a_folder, "holds something where the page has files of its own: sub/c.html"),
        (lead_outside, "'sub/a.html' leads to a file outside of"),
    ],
    ids=lambda row: row[0].__name__,
)
def test_what_is_not_as_it_was_written_is_named_and_stays(spoil, message, tmp_path):
    out, second = tmp_path / "out", made(tmp_path / "second", index="2", sub_c="2")
    PAGE.renew(out, made(tmp_path / "first", index="1", sub_a="1"))
    (out / "sub" / "mine.txt").write_text("mine")
    spoil(out)
    before = everything(tmp_path)
    with pytest.raises(ValueError, match=message):
        PAGE.renew(out, second)
    assert everything(tmp_path) == before


@cases(
    "listed",
    ["", "[]", "{}", '{"files": 3}', '{"files": {"../a": "b"}}', '{"files": {"/etc/hostname": "b"}}',
     '{"files": {"": "b"}}', '{"files": {"a\\u0000": "b"}}', '{"files": {"thesis.txt": ["b"]}}'],
)  # fmt: skip
def test_a_list_is_not_believed(listed, tmp_path):
    (tmp_path / "thesis.txt").write_text("years")
    (tmp_path / "page.json").write_text(listed)
    with pytest.raises(ValueError, match="name another folder"):
        PAGE.renew(tmp_path, made(tmp_path.parent / "made", index="1"))
    assert everything(tmp_path) == {"thesis.txt": "years", "page.json": listed}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_as_a_list_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "page.json")
    with pytest.raises(ValueError, match=r"page\.json is a pipe or device"):
        PAGE.need_room(tmp_path)


def test_a_kill_at_any_file_leaves_a_folder_that_can_be_renewed(out, tmp_path, monkeypatch):
    second, real = made(tmp_path / "second", index="2", sub_c="2"), owned.write_atomically
    for count in range(2):
        written = []

        def killed(path, content, count=count, written=written):
            if len(written) == count:
                raise KeyboardInterrupt
            written.append(path)
            real(path, content)

        monkeypatch.setattr(owned, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            PAGE.renew(out, second)
        monkeypatch.undo()
    PAGE.renew(out, second)
    assert everything(out).keys() == {"index.html", "sub/c.html", "page.json", *FOREIGN}


@cases(
    ("command", "mark"),
    [
        (["live"], "live.json"), (["site", "-o"], "searchindex.js"), (["site", "-o"], "live.json"),
        (["site", "-o"], "site.json"), (["live"], "site.json"), (["kit"], "index.html"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")  # ziamath reads its font in this way
def test_no_command_knows_a_folder_by_one_name(command, mark, tmp_path, capsys):
    for name in (*FOREIGN, mark):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    for force in ([], ["--force"] if command != ["kit"] else []):
        assert main([*command, str(tmp_path), *force]) == 2
        error = capsys.readouterr().err
        assert "name another folder" in error and "--force" not in error
        assert mark in error or ("holds something that is no" in error and ".git, CNAME" in error)
    assert everything(tmp_path) == dict.fromkeys((*FOREIGN, mark), "{}")


def test_the_three_commands_share_the_rule():
    assert {one.mark: type(one) for one in (KIT, LIVE, SITE)} == dict.fromkeys(
        ("kit.json", "live.json", "site.json"), Owned
    )
