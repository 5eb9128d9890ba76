"""The slides of the kit: what their sources promise, and what the built decks hold."""

import re

import nbformat
import pytest
from conftest import ROOT

from vit_course.teaching.kit import decks, schedule
from vit_course.teaching.kit.exercises import paper_exercises
from vit_course.teaching.kit.schedule import exercise_minutes

SOURCES = {deck: (ROOT / "res/kit/slides" / f"{deck}.md").read_text(encoding="utf-8") for deck in decks.DECKS}
every = pytest.mark.parametrize("deck", decks.DECKS)
NOTES = re.compile(r":::\{revealjs-notes\}\n(.+?)\n:::", re.DOTALL)
WHEN = re.compile(r"(?:Lesson (\d), m|M)inutes (\d+) to (\d+)\. ")


def slides(deck: str) -> list[str]:
    return re.split(r"^#+ ", SOURCES[deck], flags=re.MULTILINE)[1:]


@every
def test_a_deck_has_as_many_slides_as_its_lessons_can_hold(deck):
    fewest, most = (12, 16) if deck == "lab" else (8, 12)
    assert fewest <= len(slides(deck)) <= most
    assert sum("(figure:" in slide or "(diagram:" in slide for slide in slides(deck)) >= 2 / 3 * len(slides(deck))


@every
def test_every_slide_has_notes_with_minutes_that_leave_no_gap(deck):
    ends = {}
    for slide in slides(deck):
        (notes,) = NOTES.findall(slide)
        lesson, begin, end = WHEN.match(notes).groups()
        assert int(begin) == ends.get(lesson, 0) < int(end), notes
        ends[lesson] = int(end)
    assert ends == ({None: 90} if deck == "lab" else {"1": 90, "2": 90})
    for slide in slides(deck)[1:]:
        assert re.search(r"\?|\b[Aa]sk\b", NOTES.findall(slide)[0]), "what to ask"


@every
def test_a_slide_with_a_sheet_gives_it_its_minutes(deck):
    planned = schedule.plan(schedule.LAB if deck == "lab" else schedule.WEEKS)
    for slide in slides(deck):
        (number,) = re.findall(r"[Ss]heet (\d+\.\d)", slide.partition("\n")[0]) or [None]
        if number:
            begin, end = map(int, WHEN.search(slide).groups()[1:])
            assert end - begin >= exercise_minutes()[number]
    on_paper = {one.number for one in paper_exercises()}
    named = set(re.findall(r"[Ss]heet (\d+\.\d)", SOURCES[deck]))
    assert named and named <= on_paper
    if deck != "lab":
        assert named == set(planned[int(deck[-1]) - 1][2].split("; "))


@every
def test_the_sections_that_learners_are_sent_to_are_there(deck):
    sent = re.findall(r'chapter (\d\d) to the end of (?:"(.+?)"|(Step \d))', SOURCES[deck])
    for number, section, step in sent:
        (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        headings = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
        assert any(heading.startswith(section or step) for heading in headings), (number, section or step)
    assert sent


@every
def test_a_built_deck_has_all_slides_pictures_and_notes(deck, kit):
    page = (kit / "slides" / f"{deck}.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<h[12]>", page)) == page.count('<aside class="notes">') == len(slides(deck))
    pictures = re.findall(r'<img alt="([^"]*)" src="([^"]+)"', page)
    assert len(pictures) == page.count("<img") == len(re.findall(r"\((?:figure|diagram):", SOURCES[deck]))
    for words, address in pictures:
        assert len(words) > 15 and (kit / "slides" / address).stat().st_size > 1000
