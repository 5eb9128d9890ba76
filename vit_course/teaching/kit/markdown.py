"""Converts the chapters' Markdown to Typst, the language of the sheets. An unknown element is an error."""

import re
from collections.abc import Callable, Sequence
from xml.etree import ElementTree

from docutils.utils.math.latex2mathml import tex2mathml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

AROUND = {"paragraph": "#par[{}]", "strong": "#strong[{}]", "em": "#emph[{}]", "list_item": "[{}],", "blockquote": "{}"}
LISTS = {"bullet_list": "#list(tight: false, {})", "ordered_list": "#enum(tight: false, {})"}
HEADER = "\0"  # marks the header cells, which are counted for the number of columns
SIZE = 24.0  # of a formula, in points
CELLS = ("thead", "tbody", "tr", "th", "td")


def parse(text: str) -> list[Token]:
    """The tokens of a text: CommonMark with tables and formulas between dollars."""
    parser = MarkdownIt("commonmark").enable("table")
    return parser.use(dollarmath_plugin, allow_space=False, double_inline=True).parse(text)


def quoted(text: str) -> str:
    """A text as a string of Typst, with quotation marks around it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def words(text: str) -> str:
    """Plain text for Typst: escaped, with typographic quotation marks."""
    text = re.sub(r"(?<=\w)'(?=\w)|(?<=s)'(?= )", "’", text)
    text = re.sub(r'(?<![^\s(])"(?=\S)', "“", text).replace('"', "”")
    return f"#{quoted(text)};"


def typst(text: str) -> str:
    """A piece of Markdown as Typst.

    Raises:
        ValueError: the text has an element or a formula that is not supported; the message names it.
    """
    return convert(parse(text))


def convert(tokens: Sequence[Token]) -> str:
    """Tokens as Typst.

    Raises:
        ValueError: as `typst`.
    """
    stack: list[tuple[Token | None, list[str]]] = [(None, [])]
    for token in tokens:
        if token.nesting == 1:
            stack.append((token, []))
        elif token.nesting == -1:
            opened, parts = stack.pop()
            stack[-1][1].append(_closed(opened, parts))
        elif token.type == "inline":
            stack[-1][1].append(convert(token.children or []))
        else:
            stack[-1][1].append(_leaf(token))
    return "".join(stack[0][1])


def _closed(token: Token, parts: list[str]) -> str:
    kind, inside = token.type.removesuffix("_open"), "".join(parts)
    if kind in AROUND:
        return AROUND[kind].format(inside) + ("\n" if kind == "paragraph" else "")
    if kind in LISTS:
        return LISTS[kind].format(inside) + "\n"
    if kind == "heading":
        return f"#heading(level: {token.tag[1]})[{inside}]\n"
    if kind == "link":
        address = token.attrGet("href")
        # Links to other chapters lead nowhere on paper.
        return f"#link({quoted(address)})[{inside}]" if re.match("https?:", address) else inside
    if kind == "table":
        return f"#course-table({inside.count(HEADER)}, {inside.replace(HEADER, '')})\n"
    if kind in CELLS:
        return {"th": f"{HEADER}[{inside}],", "td": f"[{inside}],"}.get(kind, inside)
    raise ValueError(f"the sheets do not support the Markdown {kind!r}")


def _math(token: Token) -> str:
    """A TeX formula as a picture in Typst, aligned with the line of text."""
    import ziamath

    try:
        tex2mathml(token.content)  # raises an error for an unknown command, of which ziamath would print the name
        svg = ziamath.Latex(token.content, size=SIZE, inline=True).svg()
    except Exception as error:
        # Neither library has its own class of errors: KeyError, IndexError and others occur.
        raise ValueError(f"the formula {token.content!r} cannot be typeset: {type(error).__name__}: {error}") from error
    _, top, _, height = (float(number) / SIZE for number in ElementTree.fromstring(svg).get("viewBox").split())  # ems
    below = height + top
    image = f"image(bytes({quoted(svg)}), height: {height:.3f}em, alt: {quoted(token.content)})"
    return f"#box(baseline: {below:.3f}em, {image})" if token.type == "math_inline" else f"#align(center, {image})\n"


_LEAVES: dict[str, Callable[[Token], str]] = {
    "text": lambda token: words(token.content),
    "softbreak": lambda token: " ",
    "hardbreak": lambda token: "#linebreak();",
    "code_inline": lambda token: f"#raw({quoted(token.content)});",
    "fence": lambda token: f"#raw(block: true, {quoted(token.content.rstrip())})\n",
    "math_inline": _math,
    "math_inline_double": _math,
    "math_block": _math,
}


def _leaf(token: Token) -> str:
    if token.type not in _LEAVES:
        raise ValueError(f"the sheets do not support the Markdown {token.type!r}: {token.content[:60]!r}")
    return _LEAVES[token.type](token)
