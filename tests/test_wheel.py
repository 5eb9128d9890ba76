"""What is built and handed on: a source archive, and a wheel from it, from which every command works anywhere."""

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import ROOT, python
from lab import lab_process, wait_for_address

from vit_course.commands.program import COMMANDS

pytestmark = pytest.mark.thorough

MOST_BYTES = 80e6
# What the chapters read and the commands use; the wheel has it all, as the checkout has.
CARRIED = ("notebooks", "res")
OWN = ("__pycache__", ".ipynb_checkpoints", ".ruff_cache", "last.safetensors")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder with the source archive, and with the wheel that was built from nothing but it."""
    out = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(out), "-t"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True, capture_output=True)
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        # Python 3.11 before 3.11.4 takes no filter, and 3.12 wants one.
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(out)
    subprocess.run([*build, "wheel"], cwd=out / archive.name.removesuffix(".tar.gz"), check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """A folder with the wheel's files, as an install puts them; its name has spaces and other letters than English."""
    place = tmp_path_factory.mktemp("Ein Platz für Käthe") / "site packages"
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(place)
    return place


@pytest.fixture
def run(installed, tmp_path):
    """Runs Python with the wheel in place of the checkout, in a folder that holds nothing."""

    def run(*arguments: str) -> str:
        done = python("-P", *arguments, cwd=tmp_path, PYTHONPATH=str(installed), HF_HUB_OFFLINE="1")
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_it_is_of_a_reasonable_size_and_complete(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < MOST_BYTES
    names = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        path.relative_to(ROOT).as_posix()
        for folder in (*CARRIED, "vit_course")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not set(path.parts) & set(OWN)
    }
    assert {name if name.startswith("vit_course/") else f"vit_course/course/{name}" for name in ours} <= names
    assert "vit_course/py.typed" in names
    assert not [name for name in names if set(Path(name).parts) & set(OWN)]
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"tests/test_wheel.py", "README.md", "LICENSE", "constraints.txt", "environment.yml", ".ci/run"} <= names


def test_its_metadata_and_its_page_which_is_readable_without_the_repository(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        (entries,) = [name for name in opened.namelist() if name.endswith("entry_points.txt")]
        metadata, scripts = Parser().parsestr(opened.read(name).decode()), opened.read(entries).decode()
    assert metadata["Author"] == "The vit-course contributors" and metadata["Keywords"]
    assert "vit-course = vit_course.__main__:main" in scripts
    assert "Project-URL" not in metadata and "Home-page" not in metadata, "an address that does not exist yet"
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    (tmp_path / "page.md").write_text(metadata.get_payload(), encoding="utf-8")
    page = python("-m", "readme_renderer", tmp_path / "page.md").stdout  # as the package index renders it
    assert ">Open the course<" in page and "<table>" in page
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert links and all(re.match("https://|#user-content-", link) for link in links), links
    assert "00 Start here" in page and "](" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_it_is_the_wheel_that_runs(run, installed):
    code = "import vit_course; from vit_course._support.files.course_files import course, is_checkout; "
    code += "print(vit_course.__file__); print(course()); print(is_checkout())"
    assert run("-c", code).splitlines() == [
        str(installed / "vit_course" / "__init__.py"),
        str(installed / "vit_course" / "course"),
        "False",
    ]


PHOTOGRAPH = str(ROOT / "res" / "photographs" / "cat.jpg")
USES = {
    "check": (["check", "classroom"], None),
    "explore": (["explore", PHOTOGRAPH, "-o", "page.html"], "page.html"),
    "classify": (["classify", PHOTOGRAPH], None),
    "train": (["train", "--num-train", "64", "--image-size", "16", "--epochs", "1"], "runs/shapes/best.safetensors"),
    "classroom": (["classroom", "make", "class", "--chapters", "04"], "class/source/04_attention/04_attention.ipynb"),
    "kit": (["kit", "kit"], "kit/index.html"),
    "play": (["play", "figures"], "figures/index.html"),
    "live": (["live", "pages"], "pages/models/vit-s14.safetensors"),
    "site": (["site", "-o", "site"], "site/index.html"),
}


def test_each_command_is_used():
    assert {*USES, "lab"} == {command.__name__.rpartition(".")[2] for command in COMMANDS}


@pytest.mark.parametrize("name", USES)
def test_a_command_works_from_it(name, run, tmp_path):
    arguments, made = USES[name]
    assert run("-m", "vit_course", *arguments)
    assert made is None or (tmp_path / made).is_file()


def test_the_lab_opens_from_it(installed, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.chdir(tmp_path)
    with lab_process() as (lab, log):
        wait_for_address(lab, log)
        chapters = len(list((ROOT / "notebooks").glob("*.ipynb")))
        assert "Your copy of the course: " in log.read_text() and f", {chapters} chapters." in log.read_text()
