"""The scripts and style sheets of the widgets. tests/bundle.py bundles the modules in `js/` into `static/`."""

from pathlib import Path

PACKAGE = Path(__file__).parents[2]
TOKENS = "_support/widgets/js/theme.css"
# Those of the explorer and its button; any other name is that of an explorable.
MODULES = {"explorer": "explorer/static/widget.js", "upload": "explorer/static/upload.js"}
STYLES = {
    "explorer": (TOKENS, "explorer/js/explorer.css", "explorer/js/parts.css", "explorer/js/lab.css"),
    "upload": ("explorer/js/upload.css",),
    "page": ("_support/widgets/js/page.css",),
    "story-page": (TOKENS, "explorables/js/story.css", "explorables/js/story_page.css"),
}


def module(name: str) -> str:
    """Returns a widget's script, bundled with its imports, as a page that is opened from a file can load no other."""
    source = (PACKAGE / MODULES.get(name, f"explorables/static/{name}.js")).read_text(encoding="utf-8")
    # In a page the script is inside a script element, which these characters would end, even within a string.
    return source.replace("</script", "<\\/script")


def style(*names: str) -> str:
    """Returns the style sheets of widgets, each sheet once; "page" stands for that of a saved page."""
    explorable = (TOKENS, "explorables/js/play.css", "explorables/js/{}.css")
    sheets = [sheet.format(name) for name in names for sheet in STYLES.get(name, explorable)]
    return "\n".join((PACKAGE / sheet).read_text(encoding="utf-8") for sheet in dict.fromkeys(sheets))
