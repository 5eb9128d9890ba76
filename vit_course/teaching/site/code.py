"""An extension of Sphinx that lets code wrap: the rest of a long line stands deeper than its beginning."""

import re

CODE = re.compile(r'(<div class="highlight"><pre>(?:<span></span>)?)(.*?)(</pre>)', re.DOTALL)

# Names, punctuation and space have the colour of the text around, in the light and in the dark; half of all tags.
PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')

SPACES = re.compile(r"^((?:<[^>]*>)*)( +)")


def hang(block: str) -> str:
    """Highlighted code, each line in a span of its own that knows how many spaces it begins with.

    The spaces are a span too, out of the flow: a browser would rather break behind them than inside a long name. No
    tag of the block, which is the inside of a `pre`, may reach over the end of a line.
    """
    lines = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", PLAIN.sub(r"\1", block)):
        text = re.sub(r"<[^>]*>", "", line)
        depth, spaces = "", len(text) - len(text.lstrip(" "))
        if spaces and text.strip():
            depth = f' style="--in:{spaces}"'
            line = SPACES.sub(r'\1<span class="in">\2</span>', line, count=1)
        lines.append(f'<span class="ln"{depth}>{line}</span>')
    return "".join(lines)


def setup(app) -> dict:
    """Called by Sphinx: makes the code of every page wrap."""
    app.connect("html-page-context", _wrap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _wrap(app, name, template, context, doctree) -> None:
    if "body" in context and not name.startswith("_modules/"):  # there a block reaches over many lines
        context["body"] = CODE.sub(lambda match: match[1] + hang(match[2]) + match[3], context["body"])
