"""The font of the formulas, cut down to the characters that they use."""

import html
import logging
import re
from importlib.util import find_spec
from pathlib import Path

FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")


def characters(pages: list[str]) -> set[str]:
    """What the formulas of HTML pages show: their characters, and what browsers draw for roots and single letters."""
    formulas = [formula for page in pages for formula in FORMULA.findall(page)]
    shown = set(html.unescape("".join(TAG.sub("", formula) for formula in formulas))) - {"\n"}
    shown |= {"√"} if any("<msqrt" in formula or "<mroot" in formula for formula in formulas) else set()
    italics = {chr(0x1D44E + ord(c) - ord("a")) for c in shown if "a" <= c <= "z" and c != "h"}
    italics |= {chr(0x1D434 + ord(c) - ord("A")) for c in shown if "A" <= c <= "Z"}
    italics |= {chr(0x1D6FC + ord(c) - ord("α")) for c in shown if "α" <= c <= "ω"}
    italics |= {chr(0x1D6E2 + ord(c) - ord("Α")) for c in shown if "Α" <= c <= "Ω"}
    # The h of this alphabet has another place; the last one is a variant of epsilon.
    return shown | italics | ({"ℎ"} if "h" in shown else set()) | ({"𝜖"} if "ϵ" in shown else set())


def write_font(wanted: set[str], target: Path) -> None:
    """Writes STIX Two Math, which comes inside ziamath, with nothing but what the characters need.

    Roots and brackets still grow: the table of the taller forms, and these forms, stay. The file is a WOFF.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    # The licence is among the names.
    options = Options(layout_features=["*"], name_IDs=["*"], notdef_outline=True, hinting=False)
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # Sphinx shows all that anybody logs
    font = TTFont(Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf")
    subsetter = Subsetter(options)
    subsetter.populate(text="".join(wanted))
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(target)
