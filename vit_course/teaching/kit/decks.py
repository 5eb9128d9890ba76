"""The slides: Markdown with the chapters' own pictures, built by Sphinx into decks of reveal.js."""

import io
import re
import shutil
import tempfile
from pathlib import Path

from vit_course._support.files.course_files import stored
from vit_course.teaching.kit.chapters import picture

DECKS = ("lab", "week-1", "week-2", "week-3", "week-4")
# ![What to see](figure:04/2) on a line of its own, or two of them side by side.
SHOWN = re.compile(r"^(?:!\[[^\]]*\]\([a-z]+:[^)\s]+\) ?)+$", re.MULTILINE)
SLIDES = '<div class="slides">'
ONE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
# The files that the decks need, of all those that Sphinx writes.
KEPT = ("_images", "_static/slides.css", "_static/revealjs/dist/reveal.js", "_static/revealjs/dist/reveal.css",
        "_static/revealjs/plugin/notes", "_static/revealjs/LICENSE")  # fmt: skip


def write_decks(folder: Path) -> None:
    """Builds all decks into a folder: one HTML page each, and the files that the pages load.

    Raises:
        ValueError: a picture is not there, or Sphinx warns of anything; the sentence names it.
    """
    from sphinx.application import Sphinx

    with tempfile.TemporaryDirectory() as name:
        sources, html, trees = (Path(name, part) for part in ("sources", "html", "trees"))
        (sources / "static").mkdir(parents=True)
        shutil.copyfile(stored("kit/slides/slides.css"), sources / "static" / "slides.css")
        for deck in DECKS:
            text = stored(f"kit/slides/{deck}.md").read_text(encoding="utf-8")
            # The first deck is the root document; no page links to the others, of which Sphinx would warn.
            before = "" if deck == DECKS[0] else "---\norphan: true\n---\n\n"
            (sources / f"{deck}.md").write_text(before + with_pictures(text, sources), encoding="utf-8")
        warnings = io.StringIO()
        app = Sphinx(sources, None, html, trees, "revealjs", settings(), None, warnings, warningiserror=True)
        app.build()
        if app.statuscode:
            found = " | ".join(warnings.getvalue().splitlines())
            raise ValueError(f"Sphinx found something to fix in the slides: {found}")
        for kept in KEPT:
            (folder / kept).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (html / kept).is_dir() else shutil.copyfile
            copy(html / kept, folder / kept)
        for deck in DECKS:
            (folder / f"{deck}.html").write_text(
                accessible((html / f"{deck}.html").read_text(encoding="utf-8")), "utf-8"
            )


def with_pictures(text: str, folder: Path) -> str:
    """A deck's Markdown with figures in place of picture addresses; copies the chapters' pictures into `folder`."""

    def replaced(match: re.Match) -> str:
        return "\n\n".join(_figure(*one, folder) for one in ONE.findall(match[0]))

    return SHOWN.sub(replaced, text)


def _figure(caption: str, address: str, folder: Path) -> str:
    shown = picture(address)
    (folder / shown.name).write_bytes(shown.data)
    return f":::{{figure}} {shown.name}\n:alt: {shown.alternative}\n\n{caption}\n:::"


def accessible(page: str) -> str:
    """Fixes a built page: lets readers zoom, and removes a main landmark that is nested in another.

    Raises:
        ValueError: the theme no longer writes the text to be replaced.
    """
    for old, new in {', maximum-scale=1.0, user-scalable=no"': '"', '<div class="slides" role="main">': SLIDES}.items():
        if old not in page:
            raise ValueError(
                f"sphinx-revealjs no longer writes {old}: vit_course/teaching/kit/decks.py fixes what is not there"
            )
        page = page.replace(old, new)
    return page


def settings() -> dict:
    """The Sphinx configuration, as in a conf.py: no theme of reveal.js's own, and notes in a second window."""
    return {
        "project": "The Vision Transformer, step by step",
        "root_doc": DECKS[0],
        "language": "en",
        "extensions": ["myst_parser", "sphinx_revealjs"],
        "myst_enable_extensions": ["colon_fence"],
        "smartquotes": True,
        "revealjs_static_path": ["static"],
        # None of reveal.js's own themes, some of which load fonts from the network.
        "revealjs_style_theme": "slides.css",
        "revealjs_script_conf": {
            "width": 1280,
            "height": 720,
            "margin": 0.06,
            "center": True,
            "hash": True,
            "slideNumber": "c/t",
            "transition": "none",
            "scrollActivationWidth": None,
        },
        "revealjs_script_plugins": [{"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"}],
        "html_copy_source": False,
    }
