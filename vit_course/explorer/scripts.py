"""The scripts and style sheets of the widgets: modules in `js/`, put together in `static/` by tests/bundle.py."""

from pathlib import Path

FOLDER = Path(__file__).parent
STYLES = {"explorer": ("explorer", "parts"), "page": ("explorer", "parts", "page"), "upload": ("upload",)}


def module(name: str) -> str:
    """One entry with all that it imports, as one module: a page that is opened from a file may load no other."""
    source = (FOLDER / "static" / f"{name}.js").read_text(encoding="utf-8")
    # In a page it stands in a script element, which these characters would end wherever they stood.
    return source.replace("</script", "<\\/script")


def style(name: str = "explorer") -> str:
    """The style sheets of the explorer in a notebook, of a page of its own ("page"), or of the button ("upload")."""
    sheets = [FOLDER / "js" / f"{sheet}.css" for sheet in STYLES[name]]
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets if sheet.is_file())
