"""The scripts and style sheets of the widgets: modules in `js/`, put together in `static/` by tests/bundle.py."""

from pathlib import Path

PACKAGE = Path(__file__).parents[2]
TOKENS = "_support/widgets/js/tokens.css"
# Those of the explorer and its button; any other name is that of an explorable.
MODULES = {"explorer": "explorer/static/widget.js", "upload": "explorer/static/upload.js"}
STYLES = {
    "explorer": (TOKENS, "explorer/js/explorer.css", "explorer/js/parts.css", "explorer/js/lab.css"),
    "upload": ("explorer/js/upload.css",),
    "page": ("_support/widgets/js/page.css",),
}


def module(name: str) -> str:
    """The script of a widget with all that it imports, as one module: a page that is opened from a file may load no
    other."""
    source = (PACKAGE / MODULES.get(name, f"explorables/static/{name}.js")).read_text(encoding="utf-8")
    # In a page it stands in a script element, which these characters would end wherever they stood.
    return source.replace("</script", "<\\/script")


def style(*names: str) -> str:
    """The style sheets of widgets, each sheet once, and with "page" those of a page of its own."""
    explorable = (TOKENS, "explorables/js/play.css", "explorables/js/{}.css")
    sheets = [sheet.format(name) for name in names for sheet in STYLES.get(name, explorable)]
    return "\n".join((PACKAGE / sheet).read_text(encoding="utf-8") for sheet in dict.fromkeys(sheets))
