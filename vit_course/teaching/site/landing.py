"""The first page, with the story and the chapters, and the page about the course."""

import html
import re

ROW = re.compile(r"^\| \[(\d+) ([^\]]*)\]\(([^)]*)\) \| (.*?) \| (\d+) \+ (\d+)(?: \+ \d+)? \|$", re.MULTILINE)
# The table in the readme, with its head.
TABLE = re.compile(r"Minutes are those\b.*?\n\n\|.*?\n(?!\|)", re.DOTALL)
# Hides the contents list beside the page.
HEAD = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
LINKS = {
    "notebooks/00_start_here.html": "Start with chapter 00",
    "docs/install.html": "Install",
    "live/index.html": "Try your own photograph",
    "play.html": "Play",
}
REFERENCE = "The [reference](reference/index.md) has every public name of the package, with its shapes and its errors."
# The theme stores the reader's choice of light or dark under this name.
THEME = """<script>
const chosen = (() => { try { return localStorage.getItem("mode"); } catch { return null; } })();
if (chosen === "light" || chosen === "dark") {
  document.documentElement.className = "";
  Object.assign(document.documentElement.dataset, { theme: chosen });
  document.documentElement.style.colorScheme = chosen;
}
</script>"""
HEADER = """<header class="site-head"><strong>The Vision Transformer, step by step</strong>
<nav aria-label="The course">{links}</nav></header>"""
REST = """<section class="site-rest" id="the-chapters">
<h2>The chapters</h2>
<p>{opening}</p>
<p>{more}</p>
{cards}
</section>"""
MORE = """<a href="course.html">How to open the course, and everything else about it.</a> The story above is also
<a href="story.html" download>one file that can be sent</a>; it shows our photograph."""


def first_page(readme: str) -> bytes:
    """The HTML of the site's first page: the story, then the chapters."""
    from vit_course.explorables.story import markup, page

    places = {
        "#the-chapters": "Chapters",
        "live/index.html": "Try it live",
        "play.html": "Play",
        "course.html": "About the course",
    }
    links = " ".join(f'<a href="{address}">{words}</a>' for address, words in places.items())
    explore = '<a href="live/index.html">Explore all of them</a>'
    start = '<a href="notebooks/00_start_here.html">Start with chapter 00</a> '
    opening = readme.split("\n\n")[1]
    rest = REST.format(opening=html.escape(opening), more=MORE, cards=card_list(readme))
    return page(f"{HEADER.format(links=links)}\n<main>{markup(explore, start)}\n{rest}</main>", THEME)


def hero() -> str:
    """The HTML below the introduction: links to the main pages."""
    buttons = "".join(f'<a href="{address}">{words}</a>' for address, words in LINKS.items())
    return f'<p class="hero-links"><a href="index.html">The story</a>{buttons}</p>\n'


def card_list(section: str) -> str:
    """The chapters in the readme's table, as an HTML list of cards.

    Raises:
        ValueError: the table has no row of the known form.
    """
    rows = ROW.findall(section)
    if not rows:
        raise ValueError('README.md: the table of the chapters needs rows "| [00 Name](file) | words | 1 + 2 |"')
    from markdown_it import MarkdownIt

    # A card is one link, and links cannot be nested.
    inline = MarkdownIt("zero").enable(["backticks", "emphasis"]).renderInline
    items = []
    for number, name, file, words, *minutes in rows:
        page = re.sub(r"\.ipynb$", ".html", file)
        items.append(
            f'<li><a href="{page}"><span class="number">{number}</span><strong>{html.escape(name)}</strong>'
            f'<span class="words">{inline(words[0].upper() + words[1:])}.</span>'
            f'<span class="minutes">{sum(map(int, minutes))} min with exercises</span></a></li>'
        )
    return f'<ol class="chapters" start="0">{"".join(items)}</ol>\n'


def cards(section: str) -> str:
    """The section of the readme about the chapters, with a list of cards in place of its table.

    Raises:
        ValueError: as `card_list`, or nothing says what the minutes are.
    """
    table = card_list(section)
    text, found = TABLE.subn(lambda _: table, section + "\n", count=1)
    if not found:
        raise ValueError('README.md: above the table of the chapters "Minutes are those ..." must say what they are')
    return text


def landing(readme: str) -> str:
    """The Markdown of the page about the course: the readme with hero.html in place of its picture, and the chapters
    first, as cards."""
    head, *sections = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    opening = head.split("\n![")[0]
    (chapters,) = (section for section in sections if section.startswith("## The chapters"))
    others = "".join(section for section in sections if section != chapters)
    return f"{HEAD}{opening}\n\n```{{raw}} html\n:file: hero.html\n```\n\n{cards(chapters)}\n{REFERENCE}\n\n{others}"
