"""The teacher's folder: sheets and keys of the paper exercises, the schedule, the install page, the folder itself."""

import math
import re
import sys
import tomllib

import pypdfium2
import pytest
from conftest import ROOT, python

from vit_course.__main__ import main
from vit_course.checks import EXERCISES
from vit_course.commands.program import COMMANDS
from vit_course.teaching.classroom.exercises import exercises_of
from vit_course.teaching.kit import install, markdown, schedule
from vit_course.teaching.kit.chapters import picture
from vit_course.teaching.kit.exercises import paper_exercises

PAPER = paper_exercises()
each = pytest.mark.parametrize("exercise", PAPER, ids=lambda e: e.name)
A4 = (595, 842)


def bare(text: str) -> str:
    """A text without what a PDF may break or write otherwise: blanks, hyphens, the form of quotation marks."""
    return re.sub(r"[\s\-\x02\ufffe]", "", text.translate(str.maketrans("“”’`", '""\'"'))).replace('"', "")


def pages(path) -> list[str]:
    document = pypdfium2.PdfDocument(path)
    return [page.get_textpage().get_text_range() for page in document]


def text_of(path) -> str:
    return bare("".join(pages(path)))


def sentences(markdown_text: str) -> list[str]:
    """The sentences of a text, without those that hold a formula or a link."""
    found = re.split(r"(?<=[.?])\s+|\n(?:- )?", markdown_text)
    return [bare(one) for one in found if len(one) > 25 and not re.search(r"[$\[*]", one)]


# ---- sheets and keys


def test_there_is_a_sheet_for_every_exercise_whose_answers_are_found_by_hand():
    checks = {name: vars(sys.modules[exercise.check.__module__]) for name, exercise in EXERCISES.items()}
    by_hand = [name for name, names in checks.items() if "same_answers" in names or "worked_out" in names]
    assert [exercise.name for exercise in PAPER] == by_hand and len(by_hand) > 5


def test_a_sheet_leaves_out_only_what_is_said_of_the_notebook():
    listed = tomllib.loads((ROOT / "res/kit/sheets.toml").read_text(encoding="utf-8"))["sheet"]
    replaced = [words for sheet in listed for words in sheet.get("words", {})]
    assert len(replaced) >= 5
    for words in replaced:
        assert re.search(r"\bdict\b|\bcheck\b|\brunning\b|as a comment|Python|`python|Figure \d|\*Deeper", words), words


@each
def test_a_sheet_asks_everything_with_a_line_for_each_answer_and_gives_none_away(exercise, kit):
    path, known = kit / "sheets" / f"{exercise.file}.pdf", EXERCISES[exercise.name]
    found = (exercise.number, exercise.title, exercise.difficulty, exercise.minutes)
    assert found == (known.number, known.title, known.difficulty, known.minutes)
    text, asked = text_of(path), sentences(exercise.text)
    assert bare(f"{exercise.number} {exercise.title}") in text and "Name" in text
    assert all(name in text for name in exercise.names) and text.count("because") == len(exercise.names)
    assert asked and all(sentence in text for sentence in asked)
    reasons = [bare(answer.reason) for answer in exercise.answers if len(answer.reason) > 5]
    secrets = [*sentences(exercise.explanation), *(s for hint in exercise.hints for s in sentences(hint)), *reasons]
    assert len(secrets) > 3 and [one for one in secrets if one in text] == []
    numbers = {answer.value for answer in exercise.answers if re.fullmatch(r"[\d.]{3,}", answer.value)}
    assert not numbers & set(re.findall(r"[\d.]+", " ".join(pages(path))))


@each
def test_the_key_has_every_answer_says_why_and_passes_the_check(exercise, kit):
    text = text_of(kit / "answers" / f"{exercise.file}-key.pdf")
    for answer in exercise.answers:
        assert bare(f"{answer.name} {answer.value} {answer.reason}") in text
    assert all(sentence in text for part in (exercise.explanation, *exercise.hints) for sentence in sentences(part))
    (cells,) = [c for c in exercises_of(exercise.chapter.notebook) if c.name == exercise.name]
    scope = {"math": math}
    exec(cells.solution, scope)
    assert EXERCISES[exercise.name].check(scope[cells.answer]).status == "passed"
    given = {name: str(value) for name, value in scope[cells.answer]().items()}
    for answer in exercise.answers:
        exact = given[answer.name]
        close = re.fullmatch(r"-?\d+\.\d+", exact) and abs(float(exact) - float(answer.value)) < 5e-4
        assert exact == answer.value or close


def test_all_pages_are_a4_the_curves_are_on_their_sheet_and_the_files_with_all_hold_each(kit):
    for path in kit.rglob("*.pdf"):
        for page in pypdfium2.PdfDocument(path):
            assert tuple(map(round, page.get_size())) == A4, path.name
    (curves,) = kit.glob("sheets/7.4-*.pdf")
    kinds = [item.type for page in pypdfium2.PdfDocument(curves) for item in page.get_objects()]
    assert pypdfium2.raw.FPDF_PAGEOBJ_IMAGE in kinds
    sheets, keys = text_of(kit / "sheets/all-sheets.pdf"), text_of(kit / "answers/all-keys.pdf")
    assert all(bare(one.title) in sheets and bare(f"Key to {one.number}") in keys for one in PAPER)


# ---- Markdown and pictures


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("![a cat](cat.png)", "do not support the Markdown 'image'"),
        ("<div>\n\nx\n\n</div>", "do not support the Markdown 'html_block'"),
        (r"so $\nonsense{x}$ it is", r"the formula '\\nonsense{x}' cannot be typeset"),
    ],
)
@pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")  # ziamath reads its font in this way
def test_what_a_sheet_cannot_show_is_an_error(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        markdown.typst(text)


def test_words_mean_nothing_to_typst():
    assert markdown.typst('a "b" #c $5 [d] \\ `e "f"`') == '#par[#"a “b” #c $5 [d] \\\\ ";#raw("e \\"f\\"");]\n'


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("figure:04/99", "figure:04/99: 04_attention.ipynb has the figures 1 to 9, not 99"),
        ("figure:77/1", "figure:77/1: there is no chapter '77'; the chapters are 00, 01"),
        ("diagram:nothing.svg", "diagram:nothing.svg: the course has no file 'diagrams/nothing.svg'"),
        ("diagram:make_diagrams.py", "no chapter shows the diagram"),
        ("cat.png", "'cat.png' names no picture: write figure:04/2 or diagram:heads.svg"),
    ],
)
def test_a_picture_that_is_not_there_is_named(address, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        picture(address)


# ---- schedule


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def card(number: str) -> list[int]:
    """For the main path, of exercises, for the Deeper sections, straight from the file."""
    (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    card = r"(\d+) min for the main path, (\d+) min of exercises(?:, (\d+) min for the \*Deeper\* sections)?"
    return [int(number or 0) for number in re.search(card, path.read_text(encoding="utf-8")).groups()]


def test_the_lab_fills_ninety_minutes_with_exercises_that_fit():
    at = 0
    for when, _, measured in rows(schedule.lab()):
        begin, end = map(int, when.split("-"))
        assert begin == at
        at = end
        for number, minutes in re.findall(r"(\d+\.\d): (\d+)", measured):
            (exercise,) = [e for e in EXERCISES.values() if e.number == number]
            assert exercise.minutes == int(minutes) <= end - begin
    assert at == 90


def test_each_lesson_fits_and_each_sheet_of_it_is_there():
    found = rows(schedule.weeks())
    assert [line[0] for line in found] == [f"{week}.{lesson}" for week in (1, 2, 3, 4) for lesson in (1, 2)]
    assert re.findall(r"\b\d\d\b", " ".join(line[1] for line in found)) == [f"{n:02}" for n in range(10)]
    for _, lesson, sheet, minutes, home in found:
        numbers = re.findall(r"\b\d\d\b", lesson)
        (exercise,) = [e for e in PAPER if e.number == sheet]
        programmed = [e for e in EXERCISES.values() if e.number in re.findall(r"\b\d\.\d\b", lesson)]
        assert all(f"0{e.number[0]}" in numbers for e in programmed) and sheet not in {e.number for e in programmed}
        assert bool(programmed) == (lesson != "02 and 03"), "this lesson is full without"
        parts = [card(numbers[-1])[0], sum(e.minutes for e in programmed), exercise.minutes]
        assert exercise.chapter.number in numbers
        assert minutes == f"{' + '.join(str(part) for part in parts if part)} = {sum(parts)}"
        assert sum(parts) <= 90
        assert all(card(n)[1] == int(m) for n, m in re.findall(r"(\d\d): (\d+)", home))


def test_the_printed_schedule_has_the_tables_and_the_memory(kit):
    text = text_of(kit / "schedule.pdf")
    for line in (*rows(schedule.lab()), *rows(schedule.weeks()), *rows(schedule.all_chapters())):
        assert bare("".join(line)) in text
    assert "4GBofmemory" in text and "{{" not in text


# ---- install page


def test_every_command_of_the_install_page_is_one():
    known = {command.__name__.split(".")[-1] for command in COMMANDS}
    used = re.findall(r"python -m vit_course (\S+)", install.install())
    assert len(used) >= 12 and set(used) <= known
    blocks = re.findall(r"## (.+?)\n.*?```\n(.*?)```", install.install().partition("## When it fails")[0], re.DOTALL)
    assert [name.split(",")[0] for name, _ in blocks] == [
        "Windows", "Windows", "macOS", "Linux", "Colab", "Kaggle", "JupyterHub", "Binder"
    ]  # fmt: skip
    assert all("-m vit_course check" in lines for _, lines in blocks)


def test_the_address_is_put_where_it_belongs(kit, tmp_path):
    page = (kit / "install.html").read_text(encoding="utf-8")
    assert "the address that your teacher gave you" in page and "[course] @ ADDRESS" in page
    assert "For your teacher:" in page and "For your teacher:" in " ".join(pages(kit / "install.pdf"))
    text = install.install("git+https://example.org/course.git@v1#egg=x")
    assert text.count('"vit-course[course] @ git+https://example.org/course.git@v1#egg=x"') == 7
    assert "{{" not in text and "ADDRESS` stands" not in text


@pytest.mark.slow
@pytest.mark.parametrize("address", ["", "two words", "a'b", 'a"b', "$(rm)", "a&b", "a%b"])
def test_an_address_that_a_shell_would_change_is_refused(address, tmp_path, capsys):
    assert main(["kit", str(tmp_path / "new"), "--from", address]) == 2
    assert "--from needs an address without blanks and quotation marks" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


# ---- the folder


def test_what_is_in_the_folder_is_on_its_page(kit):
    page = (kit / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+)"', page)
    assert all((kit / link).is_file() for link in links) and "{{" not in page
    made = {path.relative_to(kit).as_posix() for path in kit.rglob("*") if path.suffix in (".pdf", ".html")}
    assert {name for name in made if "plugin" not in name} - {"index.html"} == set(links)


@pytest.mark.thorough
def test_a_kit_is_renewed_and_what_lies_beside_its_files_stays(kit, capsys):
    mine, old = kit / "sheets" / "mine.pdf", kit / "schedule.pdf"
    mine.write_text("mine")
    old.unlink()
    (kit / "index.html").write_text("an edit by hand")
    for address in (["--from", "https://example.org/x.whl"], []):  # the second keeps it
        assert python("-m", "vit_course", "kit", kit, *address).returncode == 0
        assert "[course] @ https://example.org/x.whl" in (kit / "install.html").read_text(encoding="utf-8")
    assert mine.read_text() == "mine" and old.is_file()
    assert "an edit by hand" not in (kit / "index.html").read_text(encoding="utf-8")
    mine.unlink()
