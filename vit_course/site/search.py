"""The words of the search: every section of the pages, in one script that a page opened from a file can load."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

NAME = "searchindex.js"
QUIET = ("script", "style", "noscript", "button", "svg")
# Between what these hold and what follows is a space.
BLOCKS = (
    "p",
    "div",
    "li",
    "td",
    "th",
    "tr",
    "pre",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "br",
    "summary",
    "dt",
    "dd",
)
ALONE = ("br", "img", "input", "meta", "link", "hr", "source", "wbr")


class Sections(HTMLParser):
    """The sections of one page: `found` holds [anchor, heading, sentences, code] of each."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[list[str]] = []
        self.open: list[tuple[str, list[str] | None]] = []  # the tags around, and the section that each begins
        self.inside, self.quiet, self.heading = 0, 0, False
        self.feed(page)
        for section in self.found:
            section[1:] = [re.sub(r"\s+", " ", text).strip() for text in section[1:]]

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.inside += tag == "article"
        if not self.inside or tag in ALONE:
            self.text(" ")
            return
        section = None
        if tag == "section":
            # The first is the page itself.
            section = [values.get("id", "") if self.found else "", "", "", ""]
            self.found.append(section)
        silent = tag in QUIET or "headerlink" in (values.get("class") or "")
        self.quiet += silent
        self.heading = self.heading or tag in ("h1", "h2", "h3", "h4", "h5")
        self.open.append((f"!{tag}" if silent else tag, section))

    def handle_endtag(self, tag):
        if not self.inside or tag in ALONE:
            return
        while self.open:  # what is not closed by itself ends with what is around it
            last, _ = self.open.pop()
            self.quiet -= last.startswith("!")
            if last.removeprefix("!") == tag:
                break
        self.heading = self.heading and tag not in ("h1", "h2", "h3", "h4", "h5")
        self.inside -= tag == "article"
        if tag in BLOCKS:
            self.text(" ")

    def handle_data(self, data):
        self.text(data)

    def text(self, data: str) -> None:
        around = [section for _, section in self.open if section is not None]
        if around and not self.quiet:
            code = any(tag == "pre" for tag, _ in self.open)
            around[-1][1 if self.heading else 3 if code else 2] += data


def write_index(site: Path, pages: list[str]) -> int:
    """Writes the words of a site's pages into its folder.

    Args:
        site: the folder.
        pages: the names of the pages that are searched, in their order.

    Returns:
        the number of sections.
    """
    rows = []
    for name in pages:
        sections = Sections((site / name).read_text(encoding="utf-8")).found
        rows += [[name, sections[0][1], *section] for section in sections]
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    (site / NAME).write_text(f"const SECTIONS = {data};\n", encoding="utf-8")
    return len(rows)
