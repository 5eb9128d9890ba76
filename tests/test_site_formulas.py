"""Formulas of the site: MathML, and a font of their own that is small."""

import pytest
from conftest import ROOT
from fontTools.ttLib import TTFont
from site_pages import Page

from vit_course.site.font import characters, write_font
from vit_course.site.mathml import mathml

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_no_dollar_is_left_of_a_formula(site):
    formulas = 0
    for notebook in NOTEBOOKS:
        path = site / "notebooks" / f"{notebook.stem}.html"
        assert "$" not in "".join(Page(path).text), path
        formulas += path.read_text(encoding="utf-8").count("<math ")
    assert formulas > 100


def test_formulas_as_the_converter_needs_them():
    assert mathml(r"\tfrac12 A").split() == mathml(r"\tfrac{1}{2} A").split()
    assert "…" in mathml(r"1, \dots, n")
    assert "mspace" in mathml(r"\ln K") and "mspace" in mathml(r"\mathrm{erf}\frac{x}{2}")
    assert "mspace" not in mathml(r"\ln(K)") and "mspace" not in mathml(r"\mathrm{SA}_1(z)")
    with pytest.raises(ValueError, match="undefinedcommand"):
        mathml(r"\undefinedcommand x")


def test_the_characters_that_formulas_need():
    page = "<p>$z</p><math><mi>h</mi><mi>&pi;</mi><mo>(</mo></math> q <math>\n<msqrt><mi>D</mi></msqrt></math>"
    # Single letters are drawn in italics, of which the h stands apart; the root's sign is in no text.
    assert characters([page]) == set("hπ(D√") | {"ℎ", "𝜋", "𝐷"}
    assert characters(["<math><mn>2</mn></math>"]) == {"2"}


def test_the_font_is_small_and_its_roots_and_brackets_grow(site, tmp_path):
    write_font(set("x√("), tmp_path / "small.woff")
    font = TTFont(tmp_path / "small.woff")
    # And the bracket's mirror image, for those who write from the right.
    assert set("x√()") == {chr(code) for code in font.getBestCmap()} and font.flavor == "woff"
    grow = font["MATH"].table.MathVariants
    taller = {
        glyph: construction.VariantCount
        for glyph, construction in zip(grow.VertGlyphCoverage.glyphs, grow.VertGlyphConstruction, strict=True)
    }
    assert taller[font.getBestCmap()[ord("√")]] > 3 and taller[font.getBestCmap()[ord("(")]] > 3
    built = site / "_static" / "formulas.woff"
    assert (tmp_path / "small.woff").stat().st_size < built.stat().st_size < 80_000
    pages = [path.read_text(encoding="utf-8") for path in (site / "notebooks").glob("*.html")]
    known = {chr(code) for code in TTFont(built).getBestCmap()}
    # What the font lacks (an invisible operator is no glyph) the reader's machine draws.
    assert characters(pages) - known <= {"\u2061"}
