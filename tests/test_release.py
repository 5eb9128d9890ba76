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
from vit_course.commands import failures, interrupts

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / ".ci").iterdir())
MODES = ["pinned", "thorough", "portable", "oldest", "newest"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
bash = pytest.mark.skipif(sys.platform == "win32", reason="the bash that Windows finds first may be another system's")


def loaded(name: str) -> dict:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))


def jobs() -> list[tuple[str, dict]]:
    return [(f"{path.stem}: {name}", job) for path in WORKFLOWS for name, job in loaded(path.stem)["jobs"].items()]


def combinations(job: dict) -> list[dict]:
    """The values of a job's matrix as a workflow's runner combines them, those under `include` behind them."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    more, found = matrix.pop("include", []), [{}]
    for name, values in matrix.items():
        found = [one | {name: value} for one in found for value in values]
    assert all(set(one) == set(matrix) for one in more), "each of them names all, so that it is a combination apart"
    return found + more


def commands(job: dict) -> set[str]:
    """What the job runs, with the values of each combination put in."""
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    return {
        re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda match, one=one: one[match[1]], line)
        for line in lines
        for one in combinations(job)
    }


def validated(schema: str, *paths):
    # By a module, not by the name of a program: the environment need not be on the PATH.
    return python("-m", "check_jsonschema", "--builtin-schema", schema, *paths)


@pytest.mark.slow
def test_the_workflows_have_the_form_of_workflows():
    done = validated("vendor.github-workflows", *WORKFLOWS)
    assert done.returncode == 0, done.stdout


def test_they_run_nothing_but_the_scripts():
    allowed = {f".ci/run {mode}" for mode in MODES} | {".ci/site"}
    called = set.union(*(commands(job) for _, job in jobs()))
    assert called == allowed, "each mode is called, and each script"
    assert {line.split()[0] for line in called} == {f".ci/{path.name}" for path in SCRIPTS}


def test_every_system_and_every_python_of_ours():
    pythons = [f"3.{minor}" for minor in range(30) if f"3.{minor}" in SpecifierSet(PROJECT["requires-python"])]
    tests = loaded("tests")["jobs"]
    assert [one["python"] for one in combinations(tests["whole"])] == pythons
    quick = {(one["system"], one["python"], one["versions"]) for one in combinations(tests["quick"])}
    systems = ("ubuntu-latest", "windows-latest", "macos-latest")
    newest = {(system, python, "newest") for system in systems for python in pythons}
    assert quick == newest | {(system, pythons[0], "oldest") for system in systems}
    for job in (loaded("pages")["jobs"]["build"], loaded("nightly")["jobs"]["tests"]):
        (chosen,) = [step["with"] for step in job["steps"] if "setup" in step.get("uses", "")]
        assert chosen["python-version"] in pythons


def test_they_may_read_and_only_the_pages_are_published():
    for path in WORKFLOWS:
        assert loaded(path.stem)["permissions"] == {"contents": "read"}
    more = {name: job["permissions"] for name, job in jobs() if "permissions" in job}
    assert more == {"pages: publish": {"pages": "write", "id-token": "write"}}
    for _, job in jobs():
        for step in job["steps"]:
            assert "secrets." not in str(step) and job["timeout-minutes"] <= 150
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1")), "a major version"


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


def with_stand_ins(folder, script: str, arguments: list[str], venv: str = ".venv") -> tuple[str, list[str]]:
    """-> (what a script prints, the arguments of each call of Python), where nothing takes Python's place."""
    for name in (f".ci/{script}", "README.md", "docs/use.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    programs = folder / "programs"
    programs.mkdir()
    for name in ("python3", "chromium", "bwrap"):
        (programs / name).write_text(f'#!/bin/sh\necho "$@" >> "{folder}/called"\n')
        (programs / name).chmod(0o755)
    (folder / venv / "bin").mkdir(parents=True)
    (folder / venv / "bin" / "python").symlink_to(programs / "python3")
    command = ["bash", str(folder / ".ci" / script), *arguments]
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "called").read_text().splitlines()


@bash
def test_what_a_reader_would_type_is_what_is_run(tmp_path):
    for script, mode, page, tests in [
        ("run", None, "README.md", "-m pytest"),
        ("run", "pinned", "README.md", "-m pytest"),
        ("run", "thorough", "README.md", "-m pytest --thorough"),
        ("run", "portable", "README.md", "tests/portable.py"),
        ("site", None, "docs/use.md", ""),
    ]:
        text = (ROOT / page).read_text(encoding="utf-8")
        mark = "site" if script == "site" else "test"
        (line,) = re.findall(rf"<!-- {mark} command -->\n```bash\n(.+)\n```", text)
        printed, called = with_stand_ins(tmp_path / f"{script} {mode}", script, [mode] if mode else [])
        line = line.replace("-m pytest", tests)
        assert printed == f"+ {line}\n"
        expected = [part.split(maxsplit=1)[1].replace('"', "") for part in line.split(" && ")]
        assert called == ["-m venv .venv"] * (script == "site") + expected


@bash
def test_the_quick_tests_run_in_an_environment_of_their_own(tmp_path):
    for mode, resolution, more in [("oldest", "lowest-direct", " -W default"), ("newest", "highest", "")]:
        _, called = with_stand_ins(tmp_path / mode, "run", [mode], f".venv-{mode}")
        assert called[0] == f"-m venv .venv-{mode}" and called[-1] == f"-m pytest -m quick{more}"
        python = f".venv-{mode}/bin/python"
        assert f"-m uv pip install --python {python} --resolution {resolution} -e .[test]" in called


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
    assert codes == {0, failures.UNEXPECTED, failures.BAD_INPUT, interrupts.CODE}


def test_each_package_with_public_names_is_promised_or_left_out_by_name():
    openings = (ROOT / "vit_course").glob("*/__init__.py")
    packages = {path.parent.name for path in openings if "__all__" in path.read_text()}
    (promised,) = re.findall(r"^- \*\*Names\*\*.+$", HOUSE, re.MULTILINE)
    (inner,) = re.findall(r"^Everything else .+$", HOUSE, re.MULTILINE)
    named, left = (set(re.findall(r"`(?:vit_course\.)?(\w+)`", text)) for text in (promised, inner))
    assert packages <= named | left and not named & left
