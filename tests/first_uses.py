"""Where each term is introduced and first used, and which references lead nowhere: python tests/first_uses.py

A term is what stands in bold, such as **patch**; it should not be used before that, whatever chapter that is in. What
is folded, and the card's row of what one will be able to do, are left out. A reference is a figure, chapter, exercise
or section that the text names: of the same chapter, or of one that the sentence names. What a sentence says of a
paper's figures or sections is not looked at.
"""

import re
from functools import cache

import nbformat
import tables

from vit_course.checks import EXERCISES

FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
CARD = re.compile(r"^\| \*\*.*$", re.MULTILINE)  # the rows of a chapter's card
NO_TEXT = re.compile(r"!\[[^]]*\]\([^)]*\)|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|\[")  # code, formulas, addresses
BOLD = re.compile(r"\*\*([A-Za-z][\w '-]{2,30})\*\*")
SENTENCES = re.compile(r"(?<=[.?:])\s+|\n+")
OF_A_PAPER = re.compile(r"\bpaper|et al\.|arXiv|Appendix")
CHAPTER = re.compile(r"chapters? (\d\d)\b(?: (?:to|and) (\d\d)\b)?", re.IGNORECASE)
FIGURE = re.compile(r"\bFigures? \d+\b(?:(?:,| and| to) \d+\b)*")
EXERCISE = re.compile(r"\bexercises? \d+\.\d+(?:(?:,| and| to) \d+\.\d+)*", re.IGNORECASE)
DEEPER = re.compile(r"[*\"](Deeper: [^*\"\n]+?)\.?[*\"]")
SECTION = re.compile(r"(?:[Ss]ections?|[Uu]nder|[Ii]n|of|from|[Ss]ee|chapter \d\d,?) \"([A-Z][^\"\n]{3,60})\"")


@cache
def chapters() -> dict[str, list]:
    """The cells of each chapter by its number, in the order of the course."""
    paths = sorted((tables.ROOT / "notebooks").glob("*.ipynb"))
    return {path.name[:2]: nbformat.read(path, as_version=4).cells for path in paths}


def terms() -> list[tuple[str, str, str]]:
    """-> (term, where it is in bold for the first time, where it is used before that or an empty text)."""
    found, introduced, before = [], set(), []
    for chapter, cells in chapters().items():
        for index, cell in enumerate(cells):
            if cell.cell_type == "markdown":
                place, text = f"{chapter} cell {index}", NO_TEXT.sub("", CARD.sub("", FOLDED.sub("", cell.source)))
                for bold in BOLD.finditer(text):
                    term = bold[1].strip().lower().removesuffix("s")
                    if term not in introduced:
                        introduced.add(term)
                        use = re.compile(rf"\b{re.escape(term)}(?:s|es)?\b", re.IGNORECASE)
                        read = [*before, (place, text[: bold.start()])]
                        found.append((bold[1], place, next((where for where, said in read if use.search(said)), "")))
                before.append((place, text))
    return found


def missing() -> list[str]:
    """References whose target does not exist, one line each."""
    texts = {chapter: "\n".join(cell.source for cell in cells) for chapter, cells in chapters().items()}
    lines = []
    for chapter, cells in chapters().items():
        for index, cell in enumerate(cells):
            for sentence in SENTENCES.split(re.sub(r"\]\([^)]*\)|\[", "", CARD.sub("", cell.source))):
                gone = lost(sentence, chapter, texts)
                lines += [f"{chapter} cell {index}: {what} in: {sentence.strip()[:100]}" for what in gone]
    return lines


def lost(sentence: str, chapter: str, texts: dict[str, str]) -> list[str]:
    """What a sentence names that is not there: `texts` has the Markdown of each chapter."""
    named = [number for pair in CHAPTER.findall(sentence) for number in pair if number]
    here = "\n".join(texts.get(number, "") for number in (*named, chapter))
    known = {one.number for one in EXERCISES.values()}
    away = [f"chapter {number}" for number in named if number not in texts]
    away += [f"exercise {n}" for n in re.findall(r"\d+\.\d+", " ".join(EXERCISE.findall(sentence))) if n not in known]
    if not OF_A_PAPER.search(sentence):
        figures = re.findall(r"\d+", " ".join(FIGURE.findall(sentence)))
        away += [f"Figure {n}" for n in figures if not re.search(rf"^\*Figure {n}\b", here, re.MULTILINE)]
    for title in {*DEEPER.findall(sentence), *SECTION.findall(sentence)}:
        where = here if title.startswith("Deeper: ") else "\n".join(texts.values())
        away += [f'"{title}"'] * (not re.search(rf"^##+ {re.escape(title)}", where, re.MULTILINE | re.IGNORECASE))
    return away


if __name__ == "__main__":
    for term, place, before in terms():
        print(f"{term}: introduced in {place}" + f", used before in {before}" * bool(before))
    print("\nReferences that lead nowhere:", *(missing() or ["none"]), sep="\n")
