"""The first page: what the course is, a live explorer, and the chapters."""

import html
import re

from vit_course._support.widgets import pages, scripts

ROW = re.compile(r"^\| \[(\d+) ([^\]]*)\]\(([^)]*)\) \| (.*?) \| (\d+) \+ (\d+)(?: \+ \d+)? \|$", re.MULTILINE)
# The table in the readme, with its head.
TABLE = re.compile(r"Minutes are those\b.*?\n\n\|.*?\n(?!\|)", re.DOTALL)
# No contents beside the page.
HEAD = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
LINKS = {
    "notebooks/00_start_here.html": "Start with chapter 00",
    "docs/install.html": "Install",
    "live/index.html": "Try your own photograph",
    "play.html": "Play",
}
REFERENCE = "The [reference](reference/index.md) has every public name of the package, with its shapes and its errors."
CAPTION = """<strong>This is live:</strong> point at the photograph. A real Vision Transformer of 21.6 million
parameters has cut it into 256 patches; the bright parts are where the patch under your pointer looks. The pages of
the chapters show all their results, and more explorers like this one."""


def opening_explorer() -> dict:
    """The state of an explorer of the real model on one of our photographs: all layers, where a chapter stores some."""
    from vit_course import data, pretrained
    from vit_course.explorer import explore

    real = pretrained.load_run("vit-s14")
    return explore(real, data.photographs()["cat"].path).everything()


def hero(state: dict) -> str:
    """The HTML under the opening words: where to go, and an explorer in this state to play with."""
    buttons = "".join(f'<a href="{address}">{words}</a>' for address, words in LINKS.items())
    script = f'<script type="module">{scripts.module("explorer")}</script>'
    play = f'<div class="hero-explorer">{pages.markup(state)}{script}</div>'
    return f'<p class="hero-links">{buttons}</p>\n{play}\n<p class="hero-caption">{CAPTION}</p>\n'


def cards(section: str) -> str:
    """The section of the readme about the chapters, with a list of cards in place of its table.

    Raises:
        ValueError: the table has no row of the known form.
    """
    rows = ROW.findall(section)
    if not rows:
        raise ValueError('README.md: the table of the chapters needs rows "| [00 Name](file) | words | 1 + 2 |"')
    from markdown_it import MarkdownIt

    # A card is one link, so that none can stand within it.
    inline = MarkdownIt("zero").enable(["backticks", "emphasis"]).renderInline
    items = []
    for number, name, file, words, *minutes in rows:
        page = re.sub(r"\.ipynb$", ".html", file)
        items.append(
            f'<li><a href="{page}"><span class="number">{number}</span><strong>{html.escape(name)}</strong>'
            f'<span class="words">{inline(words[0].upper() + words[1:])}.</span>'
            f'<span class="minutes">{sum(map(int, minutes))} min with exercises</span></a></li>'
        )
    table = f'<ol class="chapters" start="0">{"".join(items)}</ol>\n'
    text, found = TABLE.subn(lambda _: table, section + "\n", count=1)
    if not found:
        raise ValueError('README.md: above the table of the chapters "Minutes are those ..." must say what they are')
    return text


def landing(readme: str) -> str:
    """The Markdown of the first page: the readme with the hero, in a file beside it, in place of its picture, and
    with its chapters first and as cards."""
    head, *sections = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    opening = head.split("\n![")[0]
    (chapters,) = (section for section in sections if section.startswith("## The chapters"))
    others = "".join(section for section in sections if section != chapters)
    return f"{HEAD}{opening}\n\n```{{raw}} html\n:file: hero.html\n```\n\n{cards(chapters)}\n{REFERENCE}\n\n{others}"
