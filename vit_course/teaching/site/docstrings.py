"""An extension of Sphinx that lets autodoc read our docstrings: shapes, names in backquotes, stars that mean times."""

import re

from vit_course.teaching.site.reference import links

# The first line of a component: what goes in, an arrow, what comes out; then perhaps a colon and words.
SHAPES = re.compile(r"^\s*((?:\([^`]*)?->\s*\([^`:]*\)[^`:.]*?)(?:: (.*))?$")
QUOTED = re.compile(r"(`[^`]+`)")
# What has a meaning in reStructuredText and none here.
SPECIAL = re.compile(r"[*|\\]|(?<=\w)_(?!\w)")
# "L." would be the first item of a list.
LETTER = re.compile(r"(^\s*|: )([A-Za-z])\.(?=\s|$)")
# How Sphinx writes a signature of several lines: a list of descriptions of nothing, as a reader of the screen says.
PARAMETERS = re.compile(r'(<span class="sig-paren">\(</span>)\s*<dl>\n((?:<dd>.*?</dd>\n)+)</dl>\n')
# Made by functions, not by whoever reads this.
GIVEN = ("vit_course.maps.RecordedMaps",)


def as_rst(lines: list[str], known: dict[str, str]) -> list[str]:
    """The lines of a docstring, with names in single backquotes and Google's sections, as reStructuredText.

    `known` has the names that are links, and where they lead.
    """
    first = SHAPES.match(lines[0]) if lines else None
    read = [_line(line, known) for line in lines]
    if first:
        read[0] = f"``{first[1].strip()}``" + (f": {_line(first[2], known)}" if first[2] else "")
    return read


def _line(line: str, known: dict[str, str]) -> str:
    parts = QUOTED.split(line)  # every second one is in backquotes
    parts[::2] = [SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    parts[0] = LETTER.sub(r"\1\2\\.", parts[0])
    for index, part in enumerate(parts[1::2]):
        place = known.get(part[1:-1])
        parts[2 * index + 1] = f":py:obj:`{part[1:-1]} <{place}>`" if place else f"`{part}`"
    return "".join(parts)


def setup(app) -> dict:
    """Called by Sphinx: reads docstrings before its own extension for Google's sections does."""
    app.connect("autodoc-process-docstring", _read, priority=100)
    app.connect("autodoc-process-signature", _sign)
    app.connect("autodoc-skip-member", _skip)
    app.connect("html-page-context", _lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app, what, name, value, options, lines) -> None:
    own = name.rpartition(".")[2]  # is no link to itself
    lines[:] = as_rst(lines, {word: place for word, place in links().items() if word != own})


def _sign(app, what, name, value, options, signature, returned) -> tuple[str, None] | None:
    return ("", None) if name in GIVEN else None


def _skip(app, what, name, value, skip, options) -> bool | None:
    # The fields of a named tuple, and the state of a widget, say nothing of themselves: their class does.
    words = getattr(value, "__doc__", None) or ""
    return True if words.startswith("Alias for field number") or hasattr(value, "trait_types") else None


def _lines(app, name, template, context, doctree) -> None:
    def plain(match: re.Match) -> str:
        lines = match[2].replace("<dd>", "<span>").replace("</dd>", "</span>")
        return f'{match[1]}<span class="sig-lines">{lines}</span>'

    if "body" in context:
        context["body"] = PARAMETERS.sub(plain, context["body"])
