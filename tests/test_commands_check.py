"""`python -m vit_course check` and `lab`: of use with any Python, and a JupyterLab for this machine alone."""

import ast
import json
import os
import re
import shutil
import sys
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, python
from lab import lab_process, wait_for_address

from vit_course.__main__ import main
from vit_course._support.files.course_files import MARK
from vit_course.commands import check
from vit_course.commands.lab import with_ours


def test_it_is_content_here(capsys):
    assert main(["check"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Everything is here. You need no network and no GPU from now on."
    assert re.search(r"^torch +ok$", "\n".join(lines), re.MULTILINE)
    version = metadata.version("vit-course")
    words = rf"For your teacher: vit-course {re.escape(version)}, Python 3\.\d+\.\d+, .+, everything is here"
    assert re.fullmatch(words, last)


def test_the_course_is_asked_for_and_what_is_named(capsys):
    names = set(check.requirements())
    assert {"torch", "matplotlib", "jupyterlab", "accelerate"} <= names, "the core, the chapters, an extra of theirs"
    assert names.isdisjoint({"nbgrader", "sphinx", "pytest"})
    assert set(check.requirements("classroom")) == names | {"nbgrader", "nbclient", "bleach"}
    assert main(["check", "classroom", "site"]) == 0
    assert re.search(r"^sphinx +ok$", capsys.readouterr().out, re.MULTILINE)
    assert main(["check", "kitchen"]) == 2
    assert "error: there is no extra 'kitchen', only course," in capsys.readouterr().err


def test_it_says_what_is_wrong(monkeypatch, tmp_path, capsys):
    (tmp_path / "safetensors.py").write_text("raise OSError('libgomp.so.1: cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "safetensors", raising=False)
    texts = [
        "torch~=1.0",
        "no-such-package>=1",
        "pytest; extra == 'test'",
        "safetensors",
        "numpy<1; python_version<'3'",
    ]
    monkeypatch.setattr(check.metadata, "requires", lambda name: texts)
    assert main(["check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "no-such-package   not installed",
        "safetensors       cannot be imported: OSError: libgomp.so.1: cannot open",
        f"torch             {metadata.version('torch')} found, but ~=1.0 is needed",
        "python            ok",
    ]
    assert lines[4].startswith('To fix it, run in the folder of the course: python -m pip install -e ".[course]"')
    assert lines[5].startswith("For your teacher: ") and lines[5].endswith(", NOT COMPLETE") and len(lines) == 6


def bare(folder, *arguments: str):
    """A Python without any package, in a checkout of its own."""
    return python("-S", "-m", "vit_course", *arguments, cwd=folder)


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "Käthes course"
    for name in ("vit_course", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "static"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / MARK).mkdir(parents=True)
    return folder


def test_a_python_without_the_course_is_told_how_to_activate_it(checkout):
    done = bare(checkout, "check")
    assert done.returncode == 1 and done.stderr == "", done.stderr
    first, *_, how, last = done.stdout.splitlines()
    assert first == f"The course is not installed in this Python, {sys.executable}."
    assert how == 'If not, run in the folder of the course: python -m pip install -e ".[course]"'
    assert last.startswith("For your teacher: vit-course not installed, ") and last.endswith("NOT COMPLETE")
    (checkout / ".venv").mkdir()
    done = bare(checkout, "check")
    assert done.returncode == 1 and f'source "{checkout / ".venv" / "bin" / "activate"}"' in done.stdout
    assert "PowerShell" in done.stdout and "conda activate vit-course" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["lab"], ["classify", "pyproject.toml"], ["train", "--out", "run"]])
def test_other_commands_send_it_there(checkout, arguments):
    done = bare(checkout, *arguments)
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1, done.stderr
    assert re.fullmatch(r"error: .+python -m vit_course check says (?:more|what is missing)\)?\n", done.stderr)


def test_a_python_that_is_too_old_is_told_so():
    for name in ("__init__", "__main__"):  # what it reads before it comes to the question
        source = (ROOT / "vit_course" / f"{name}.py").read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 4))
        assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.AnnAssign, ast.JoinedStr))]
    code = "import sys; sys.version_info = (3, 9, 2); from vit_course.__main__ import main; sys.exit(main(['check']))"
    done = python("-c", code)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"error: the course needs Python 3.11 or newer, this one is 3.9: {sys.executable}\n"


HERE = Path("here")


@pytest.mark.slow
def test_lab_opens_at_chapter_00_for_whoever_runs_it_with_a_token_and_for_this_machine_alone():
    with lab_process() as (lab, log):
        address = wait_for_address(lab, log)
        token = re.search(rf"{re.escape(address)}/lab\S*\?token=(\w{{32,}})", log.read_text())[1]
        with urllib.request.urlopen(f"{address}?token={token}", timeout=30) as answer:
            assert answer.status == 200 and answer.url.startswith(f"{address}/lab/tree/00_start_here.ipynb")
        for path in ("00_start_here.ipynb", "files/res/diagrams/model.svg"):
            content = f"{address}/api/contents/{path}?content=0&token={token}"
            with urllib.request.urlopen(content, timeout=30) as answer:
                assert json.load(answer)["path"] == path
        with urllib.request.urlopen(f"{address}/lab", timeout=30) as answer:
            assert answer.url.startswith(f"{address}/login"), "without a token"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{address}/api/contents", timeout=30)
        sockets = psutil.Process(lab.pid).net_connections("inet")
        assert {place.laddr.ip for place in sockets if place.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
        lab.terminate()
        assert lab.wait(60) == 0, log.read_text()
        with pytest.raises(urllib.error.URLError, match="refused"):
            urllib.request.urlopen(address, timeout=30)


@pytest.mark.slow
def test_lab_starts_as_root_also_where_the_user_says_so_and_other_users_need_no_leave(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in with_ours([], HERE) and "--allow-root" in with_ours(["--no-browser"], HERE)
    for flag in ("--allow-root", "--ServerApp.allow_root=True"):
        assert [one for one in with_ours([flag], HERE) if "root" in one and "root_dir" not in one] == [flag]
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert "--allow-root" not in with_ours([], HERE)
    monkeypatch.delattr(os, "geteuid")  # Windows
    assert "--allow-root" not in with_ours([], HERE)


@pytest.mark.parametrize(
    ("flags", "ours"),
    [
        (["--ip", "0.0.0.0"], "--ServerApp.ip="),
        (["--ip=0.0.0.0"], "--ServerApp.ip="),
        (["--ServerApp.ip=0.0.0.0"], "--ServerApp.ip="),
        (["--notebook-dir=/srv"], "--ServerApp.root_dir="),
        (["--ServerApp.root_dir=/srv"], "--ServerApp.root_dir="),
        (["--LabApp.default_url=/tree"], "--LabApp.default_url="),
    ],
)
def test_flags_of_the_user_overrule_ours(flags, ours):
    before, after = with_ours(["--port", "8889"], HERE), with_ours(flags, HERE)
    assert before[-2:] == ["--port", "8889"] and after[-len(flags) :] == flags
    assert [flag for flag in before[:-2] if not flag.startswith(ours)] == after[: -len(flags)]
    assert any(flag.startswith(ours) for flag in before)
