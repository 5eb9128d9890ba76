"""What is released: the version, what is promised to stay the same, the workflows, and the scripts that they call."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import ROOT, python
from packaging.specifiers import SpecifierSet

import vit_course
from vit_course.commands import failures

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / ".ci").iterdir())
MODES = ["pinned", "thorough", "portable", "oldest", "newest"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
bash = pytest.mark.skipif(sys.platform == "win32", reason="the bash that Windows finds first may be another system's")


def validated(schema: str, *paths):
    # By a module, not by the name of a program: the environment need not be on the PATH.
    return python("-m", "check_jsonschema", "--builtin-schema", schema, *paths)


@pytest.mark.slow
def test_the_workflows_have_the_form_of_workflows():
    done = validated("vendor.github-workflows", *WORKFLOWS)
    assert done.returncode == 0, done.stdout


def test_every_mode_of_the_tests_every_system_and_every_python_of_ours_is_run_somewhere():
    pythons = [f"3.{minor}" for minor in range(30) if f"3.{minor}" in SpecifierSet(PROJECT["requires-python"])]
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    for word in (*MODES, *pythons, "ubuntu-latest", "windows-latest", "macos-latest"):
        assert re.search(rf"(?<![\w.-]){re.escape(word)}\b", text), word


def test_workflows_may_read_and_only_the_pages_are_published():
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        more = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
        assert workflow["permissions"] == {"contents": "read"} and "secrets." not in str(workflow)
        assert more == ({"publish": {"pages": "write", "id-token": "write"}} if path.stem == "pages" else {})


@bash
def test_the_scripts_are_bash_that_can_be_read_and_run():
    for script in SCRIPTS:
        done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == ""
        assert script.stat().st_mode & 0o111, "may be executed"
    for mode in ("nonsense", ""):
        done = subprocess.run([ROOT / ".ci" / "run", mode], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == "", "before anything is installed"
        assert f"'{mode}'" in done.stderr and all(known in done.stderr for known in MODES)


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
    said = validated("vendor.citation-file-format", tmp_path / "CITATION.cff").stdout
    assert "'cff-version' is a required property" in said


def test_the_exit_codes_that_are_promised_are_those_of_the_commands():
    (promise,) = re.findall(r"^- \*\*The commands\*\*.+$", HOUSE, re.MULTILINE)
    codes = {int(code) for code in re.findall(r"\b(\d+)\b(?= for)", promise)}
    assert codes == {0, failures.UNEXPECTED, failures.BAD_INPUT, 130}


def test_each_package_with_public_names_is_promised_or_left_out_by_name():
    openings = (ROOT / "vit_course").glob("*/__init__.py")
    packages = {path.parent.name for path in openings if "__all__" in path.read_text()}
    (promised,) = re.findall(r"^- \*\*Names\*\*.+$", HOUSE, re.MULTILINE)
    (inner,) = re.findall(r"^Everything else .+$", HOUSE, re.MULTILINE)
    named, left = (set(re.findall(r"`(?:vit_course\.)?(\w+)`", text)) for text in (promised, inner))
    assert packages <= named | left and not named & left
