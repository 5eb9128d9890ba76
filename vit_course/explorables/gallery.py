"""All explorables on one page, and each on a page of its own."""

import html
from pathlib import Path

from vit_course import explorables
from vit_course._support.widgets import pages, scripts
from vit_course.explorables.explorable import Explorable

# The chapter that explains each, and the question it answers.
ABOUT = {
    "cutter": ("01_patchify", "How does an image become a sequence?"),
    "vote": ("02_class_token", "Whose word counts, when the tokens do not agree?"),
    "two_clocks": ("03_position_embeddings", "How does a token know where it is?"),
    "attention_by_hand": ("04_attention", "How does one token ask all the others?"),
    "stream": ("05_encoder", "Which part of the model could be left out?"),
    "builder": ("06_vit", "Where are the parameters, and what costs time?"),
    "film": ("07_training", "When does a model stop learning what it should?"),
    "eraser": ("09_what_maps_tell", "Does it matter where it looks?"),
    "matcher": ("10_pretrained", "What has a model learned that others can use?"),
    "rope": ("12_further", "How can a position be an angle?"),
}
TITLE = "Play with the parts of a Vision Transformer"
INTRO = """In these figures, drag whatever looks as if it could be dragged, or move it with the arrow keys, and the
rest follows. Everything is computed on this page, and each figure has goals that it checks itself."""


def every() -> dict[str, Explorable]:
    """Makes all explorables, with the course's own data, by their names."""
    return {name: getattr(explorables, name)() for name in ABOUT}


def together(figures: dict[str, Explorable], chapters: str = "") -> str:
    """Returns the HTML of these figures, one below the other, with their scripts.

    Args:
        figures: by their names.
        chapters: the address of the folder of the chapters' pages, with a slash at its end; "" for no links to them.
    """
    parts = [f"<p>{INTRO}</p>"]
    for name, figure in figures.items():
        chapter, question = ABOUT[name]
        link = f' <a href="{chapters}{chapter}.html">Chapter {chapter[:2]} explains it.</a>' if chapters else ""
        parts.append(f'<section id="{name}"><h2>{html.escape(question)}</h2>{pages.markup(figure.everything())}')
        parts.append(f"<p>{link}</p></section>" if link else "</section>")
    parts += [f'<script type="module">{scripts.module(name)}</script>' for name in figures]
    return "\n".join(parts)


def others(name: str) -> str:
    """Returns the HTML of the links from the page of one explorable to all together, the one before and the next."""
    names, chapter = list(ABOUT), ABOUT[name][0]
    at = names.index(name)
    links = [("index", "All figures")]
    links += [(one, f"Before: {ABOUT[one][1]}") for one in names[max(0, at - 1) : at]]
    links += [(one, f"Next: {ABOUT[one][1]}") for one in names[at + 1 : at + 2]]
    listed = " ".join(f'<a href="{page}.html">{html.escape(text)}</a>' for page, text in links)
    return f'<nav aria-label="Other figures">{listed}<span>Chapter {chapter[:2]} explains this figure.</span></nav>'


def write_pages(folder: Path) -> None:
    """Writes a page of its own for each explorable into a folder, and `index.html` with all of them."""
    figures = every()
    for name, figure in figures.items():
        body = pages.markup(figure.everything()) + others(name)
        page = pages.document(ABOUT[name][1], scripts.style(name, "page"), body, scripts.module(name))
        (folder / f"{name}.html").write_bytes(page)
    sheet = scripts.style(*ABOUT, "page")
    (folder / "index.html").write_bytes(pages.document(TITLE, sheet, together(figures), ""))
