"""A formula as a picture that stands in a line of text."""

from xml.etree import ElementTree

SIZE = 24.0


def svg(formula: str) -> tuple[bytes, float, float]:
    """A formula in TeX as an SVG.

    Args:
        formula: without dollars.

    Returns:
        the file, its height, and how far it reaches below the line, both in ems.

    Raises:
        ValueError: what cannot be read.
    """
    import ziamath

    from vit_course.site.mathml import mathml

    try:
        mathml(formula)  # it refuses a command that it does not know; ziamath would set its name
        text = ziamath.Latex(formula, size=SIZE, inline=True).svg()
    except Exception as error:
        # Neither has one class of errors: KeyError, IndexError and others come through.
        raise ValueError(f"the formula {formula!r} cannot be set: {type(error).__name__}: {error}") from error
    _, top, _, height = (float(number) for number in ElementTree.fromstring(text).get("viewBox").split())
    return text.encode(), height / SIZE, (height + top) / SIZE
