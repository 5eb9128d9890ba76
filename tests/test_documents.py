"""What readers see: formatted, spelled, with links that lead somewhere."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import first_uses
import nbformat
import pytest
import tables
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "res" / "teachers_guide.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *NOTEBOOKS,
]
KIT = sorted((ROOT / "res" / "kit").rglob("*.md"))  # their links lead into the folder that the kit writes
DIAGRAMS = sorted((ROOT / "res").rglob("*.svg"))
AMERICAN = re.compile(
    r"\b(colors?|colored|centers?|centered|normaliz\w+|initializ\w+|behaviors?|grays?|neighbors?|visualiz\w+|optimizers?"
    r"|generaliz\w+|labeled|modeling|analyz\w+|meters?|favors?|recogniz\w+|organiz\w+|summariz\w+|emphasiz\w+)\b",
    re.IGNORECASE,
)


def prose(page: Path) -> str:
    """The words of a page, without code."""
    if page.suffix == ".ipynb":
        cells = nbformat.read(page, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        text = page.read_text(encoding="utf-8")
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    }


def test_relative_links_lead_somewhere():
    lost = []
    for page in PAGES:
        targets = re.findall(r"\]\(([^)\s]+)\)", prose(page)) + re.findall(r"(?:src|href)=\"([^\"]+)\"", prose(page))
        assert targets, f"{page.name} has not a single link"
        for target in targets:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                lost.append(f"{page.name} links to {target}")
    assert lost == []


def test_british_spelling_and_plain_tone():
    found = {}
    for page in [*PAGES, *KIT]:
        text = prose(page)
        emoji = re.findall("[\U0001f300-\U0001faff☀-➿]", text)
        exclamations = re.findall(r"\w!(?=\s|$)", text)
        if words := AMERICAN.findall(text) + emoji + exclamations:
            found[page.name] = words
    assert found == {}


def test_sentences_of_the_checks_are_british_and_calm():
    for path in sorted((ROOT / "vit_course" / "checks").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 3:
                assert not AMERICAN.findall(node.value), node.value
                words = node.value.replace("(?!", "").replace("!r}", "")  # of expressions and of values to fill in
                assert "!" not in words and "\u2014" not in words, node.value


def test_minutes_and_exercises_are_said_alike_everywhere():
    wrong = [path.name for path, text in tables.written().items() if text != path.read_text(encoding="utf-8")]
    assert wrong == [], "written by tests/tables.py"


@pytest.mark.slow
def test_figures_exercises_and_sections_that_a_chapter_names_are_there():
    assert first_uses.missing() == []
    known = {"04": "## Deeper: a cost\n\n*Figure 2. A map.*"}
    for sentence in ("See Figure 3.", "As exercise 4.9 shows.", "Chapter 14 has it.", "In *Deeper: no such cost*."):
        assert first_uses.lost(sentence, "04", known), sentence
    assert not first_uses.lost("See Figure 2, exercise 4.1 and *Deeper: a cost*.", "04", known)


@pytest.mark.slow
def test_no_common_misspelling_and_formatted_by_ruff(tmp_path):
    for page in [*PAGES, *KIT]:
        (tmp_path / f"{page.name}.txt").write_text(prose(page), encoding="utf-8")
    spelled = [str(ROOT / "vit_course"), str(ROOT / "tests"), str(tmp_path), *map(str, DIAGRAMS)]
    ours = [str(ROOT / name) for name in ("vit_course", "tests", "notebooks", "res")]  # not what users write beside it
    for command in (["codespell_lib", *spelled], ["ruff", "check", *ours], ["ruff", "format", "--check", *ours]):
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_diagrams_are_valid_small_and_described():
    space = "{http://www.w3.org/2000/svg}"
    for diagram in DIAGRAMS:
        root, text = ElementTree.parse(diagram).getroot(), diagram.read_text()
        assert root.find(f"{space}title") is not None and root.find(f"{space}desc") is not None, diagram
        assert len(text) < 40_000 and "<script" not in text and "href" not in text, diagram
        # A moving one stands still for who asks for it.
        assert "@keyframes" not in text or "prefers-reduced-motion" in text, diagram


@pytest.mark.slow
def test_the_diagrams_are_what_their_scripts_draw(tmp_path):
    folder = ROOT / "res" / "diagrams"
    scripts = [shutil.copy(script, tmp_path) for script in sorted(folder.glob("*.py"))]
    for script in scripts:
        subprocess.run([sys.executable, script], check=True, capture_output=True)
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    assert drawn == {path.name: path.read_bytes() for path in folder.glob("*.svg")}


def test_only_the_promised_names_at_the_top():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        pytest.skip("not a git checkout, so there is no list of tracked files to look at")
    top = {name.split("/")[0] for name in listed}
    visible = {name for name in top if not name.startswith(".")}
    assert visible <= {
        "notebooks", "vit_course", "tests", "res", "docs", "environment.yml", "README.md", "CONTRIBUTING.md",
            "pyproject.toml", "LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt"
    }  # fmt: skip
    for name in listed:
        # The real model is what the course shows: as small as half precision makes it.
        most = 45_000_000 if name == "res/vit-s14/model.safetensors" else 5_000_000
        assert (ROOT / name).stat().st_size < most, name
