"""An extension of Sphinx that writes formulas as MathML, which browsers draw themselves, without a script."""

import re

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

# Names of functions keep a little distance from what follows, as in TeX: ln K, not lnK.
# One that carries an index keeps it close.
FUNCTION = re.compile(
    r"(<m(?:sub|sup|under|over)\w*>\s*)?(<mi>[A-Za-z]{2,}</mi>(?:\s*<mo>&ApplyFunction;</mo>)?)(?=\s*<m(?!o))"
)

# A browser may break the line behind a formula, and a full stop must not start the next one.
FORMULA = re.compile(r"(<math\b(?:(?!</math>).)*</math>[.,;:)]+)", re.DOTALL)


def mathml(formula: str, block: bool = False) -> str:
    """A formula in TeX as MathML; a block stands alone in the middle of the page.

    Raises:
        docutils.utils.math.MathError: a command is unknown.
    """
    # Two spellings of TeX that the converter does not know.
    formula = re.sub(r"\\([td]?frac)(\d)(\d)", r"\\\1{\2}{\3}", formula.replace(r"\dots", r"\ldots"))
    return FUNCTION.sub(_spaced, tex2mathml(formula, as_block=block))


def _spaced(match: re.Match) -> str:
    return match[0] if match[1] else f'{match[2]}<mspace width="0.167em"></mspace>'


def setup(app) -> dict:
    """Called by Sphinx: makes the renderer known under the name "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("html-page-context", _keep_together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator, node) -> None:
    _write(translator, node, "{}", block=False)


def _block(translator, node) -> None:
    _write(translator, node, '<div class="math" tabindex="0">{}</div>', block=True)


def _write(translator, node, frame: str, block: bool) -> None:
    try:
        translator.body.append(frame.format(mathml(node.astext(), block)))
    except MathError as error:
        getLogger(__name__).warning("%s In: %s", error, node.astext(), location=node)
    raise SkipNode


def _keep_together(app, name, template, context, doctree) -> None:
    if "body" in context:
        context["body"] = FORMULA.sub(r'<span class="formula">\1</span>', context["body"])
