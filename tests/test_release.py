"""The version, and what is said of it: the changelog, the citation, and what is promised to stay the same."""

import re
import tomllib

import pytest
import yaml
from conftest import ROOT
from test_workflows import validated

import vit_course
from vit_course.commands import failures

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
HOUSE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Keep a Changelog's.
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_newest_release_is_this_version():
    releases = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", CHANGES, re.MULTILINE)
    headings = re.findall(r"^## (.+)$", CHANGES, re.MULTILINE)
    assert len(headings) == len(releases) + headings.count("Unreleased")
    assert releases[0][0] == vit_course.__version__ and "version" in PROJECT["dynamic"]
    numbers = [tuple(map(int, number.split("."))) for number, _ in releases]
    dates = [date for _, date in releases]
    assert numbers == sorted(set(numbers), reverse=True) and dates == sorted(dates, reverse=True)
    assert set(re.findall(r"^### (.+)$", CHANGES, re.MULTILINE)) <= KINDS


@pytest.mark.slow
def test_the_citation_is_of_this_release_and_has_its_form(tmp_path):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == vit_course.__version__
    assert f"## {citation['version']} - {citation['date-released']}\n" in CHANGES
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT.get("authors", citation["authors"])
    right = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert validated("vendor.citation-file-format", ROOT / "CITATION.cff").returncode == 0
    (tmp_path / "CITATION.cff").write_text(right.replace("cff-version: 1.2.0\n", ""))
    assert (
        "'cff-version' is a required property"
        in validated("vendor.citation-file-format", tmp_path / "CITATION.cff").stdout
    )


def test_the_exit_codes_that_are_promised_are_those_of_the_commands():
    (promise,) = re.findall(r"^- \*\*The commands\*\*.+$", HOUSE, re.MULTILINE)
    codes = {int(code) for code in re.findall(r"\b(\d+)\b(?= for)", promise)}
    assert codes == {0, failures.UNEXPECTED, failures.BAD_INPUT, failures.INTERRUPTED}


def test_each_package_with_public_names_is_promised_or_left_out_by_name():
    packages = {
        path.parent.name for path in (ROOT / "vit_course").glob("*/__init__.py") if "__all__" in path.read_text()
    }
    (promised,) = re.findall(r"^- \*\*Names\*\*.+$", HOUSE, re.MULTILINE)
    (inner,) = re.findall(r"^Everything else .+$", HOUSE, re.MULTILINE)
    named, left = (set(re.findall(r"`(?:vit_course\.)?(\w+)`", text)) for text in (promised, inner))
    assert packages <= named | left and not named & left
