"""The course's own files by name; from a wheel in tests/test_wheel.py."""

import pytest
from conftest import ROOT, cases

from vit_course.files import stored as module
from vit_course.files.stored import course, is_checkout, stored


def test_a_file_of_the_checkout():
    assert stored("convnet/table.csv") == ROOT / "res" / "convnet" / "table.csv"
    assert stored("diagrams").is_dir()
    assert course() == ROOT and is_checkout()


@cases(("name", "message"), [("convnet/no.csv", "has no file 'convnet/no.csv'"), (3, "name must be text, got 3")])
def test_no_such_file_is_named(name, message):
    with pytest.raises(ValueError, match=message):
        stored(name)


def test_an_installation_without_files_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "ROOTS", (tmp_path / "neither", tmp_path / "nor"))
    assert not is_checkout()
    for asked in (course, lambda: stored("diagrams")):
        with pytest.raises(OSError, match=r"has no res/diagrams in .*neither or .*nor: install it"):
            asked()
