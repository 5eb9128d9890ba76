"""The pages of the site as the tests read them."""

from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """What a page refers to and what can be referred to."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids, self.links, self.loads, self.pictures = set(), [], [], []
        self.explorers, self.modules, self.quiet, self.text = 0, 0, 0, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or "href" in values:
            self.loads.append(values.get("src") or values["href"])
        if tag == "img":
            self.pictures.append(values)
        if tag == "script":
            self.explorers += values.get("class") == "vit-explorer-state"
            self.modules += values.get("type") == "module"
        self.quiet += tag in ("script", "style", "pre", "code", "annotation")

    def handle_endtag(self, tag):
        self.quiet -= tag in ("script", "style", "pre", "code", "annotation")

    def handle_data(self, data):
        if not self.quiet:
            self.text.append(data)
