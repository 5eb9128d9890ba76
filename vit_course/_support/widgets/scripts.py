"""The scripts and style sheets of the widgets: modules in `js/`, put together in `static/` by tests/bundle.py."""

from pathlib import Path

PACKAGE = Path(__file__).parents[2]
TOKENS = "_support/widgets/js/tokens.css"
STYLES = {
    "explorer": (TOKENS, "explorer/js/explorer.css", "explorer/js/parts.css", "explorer/js/lab.css"),
    "play": (TOKENS, "explorables/js/play.css"),
    "page": ("_support/widgets/js/page.css",),
    "upload": ("explorer/js/upload.css",),
}


def module(name: str) -> str:
    """One entry with all that it imports, as one module: a page that is opened from a file may load no other.

    Args:
        name: its package and its name, such as "explorer/widget".
    """
    package, _, entry = name.partition("/")
    source = (PACKAGE / package / "static" / f"{entry}.js").read_text(encoding="utf-8")
    # In a page it stands in a script element, which these characters would end wherever they stood.
    return source.replace("</script", "<\\/script")


def style(*names: str) -> str:
    """The style sheets of the explorer, of explorables ("play") or one of them, of a page of its own, of the button."""
    sheets = [PACKAGE / sheet for name in names for sheet in STYLES.get(name, (f"{name}.css",))]
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
