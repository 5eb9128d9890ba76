"""`python -m vit_course check`: content where all is there, and of use with any Python where it is not."""

import ast
import re
import shutil
import subprocess
import sys
from importlib import metadata

import pytest
from conftest import ROOT, cases

from vit_course.__main__ import main
from vit_course.commands import check
from vit_course.files.stored import MARK


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
    assert set(check.requirements("classroom")) == names | {"nbgrader"}
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
        f"torch             {metadata.version('torch')} found, ~=1.0 is needed",
        "python            ok",
    ]
    assert lines[4].startswith('To mend it, run in the folder of the course: python -m pip install -e ".[course]"')
    assert lines[5].startswith("For your teacher: ") and lines[5].endswith(", NOT COMPLETE") and len(lines) == 6


def bare(folder, *arguments: str) -> subprocess.CompletedProcess:
    """A Python without any package, in a checkout of its own."""
    return subprocess.run(
        [sys.executable, "-S", "-m", "vit_course", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


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


@cases("arguments", [["lab"], ["classify", "pyproject.toml"], ["train", "--out", "run"]], ids=" ".join)
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
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"error: the course needs Python 3.11 or newer, this one is 3.9: {sys.executable}\n"
