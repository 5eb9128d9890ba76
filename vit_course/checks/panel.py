"""The verdict as a small panel in a notebook: what was found, in colour and in words."""

import base64
import io
from html import escape

# White on each has a contrast of at least 5; the edge and the words do not depend on the colour.
_COLOURS = {"passed": "#1b7043", "in part": "#7a5600", "not yet": "#a8361f"}
_BOX = "border:1px solid {colour};border-left-width:6px;border-radius:4px;padding:8px 12px;max-width:44rem"
_BADGE = "background:{colour};color:#fff;border-radius:3px;padding:1px 8px;font-weight:600;white-space:nowrap"
_SMALL = "font-size:0.8em;opacity:0.75;margin:6px 0 0"
_CODE = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:var(--jp-code-font-family, monospace)"


def panel(report) -> str:
    """A `Report` as HTML that stands by itself: no script, no style sheet, light or dark."""
    word = report.verdict.partition(",")[0]
    badge = {"passed": "Passed", "in part": f"In part: {report.score:.2f} of 1", "not yet": "Not yet"}[word]
    colour = _COLOURS[word]
    rows = [
        f'<div><span style="{_BADGE.format(colour=colour)}">{badge}</span> &nbsp;<b>{escape(report.heading)}</b></div>'
    ]
    if report.parts:
        rows.append(_parts(report))
    elif word != "passed":
        rows += [f'<p style="margin:8px 0">{escape(report.sentence)}</p>', _details(report.details), _picture(report)]
    if report.next:
        rows.append(f'<p style="margin:8px 0 0"><b>Next:</b> {escape(report.next)}</p>')
    small = [report.exercise, *report.notes]
    rows.append(f'<p style="{_SMALL}">{"<br>".join(map(escape, small))}</p>')
    return f'<div role="status" style="{_BOX.format(colour=colour)}">{"".join(rows)}</div>'


def _parts(report) -> str:
    lines = []
    for name, wrong in report.wrong_first:
        mark, text = ("&#10003;", "") if wrong is None else ("&#10007;", f": {escape(wrong.sentence)}")
        lines.append(f"<div>{mark} <b>{escape(name)}</b>{text}</div>{_details(wrong.details) if wrong else ''}")
    return f'<div style="margin:8px 0">{"".join(lines)}</div>'


def _details(details: tuple[str, ...]) -> str:
    # "Expected: (2, 3)" is a row of two columns, so that expected and received stand under each other.
    rows = []
    for detail in details:
        name, colon, value = detail.partition(":")
        if colon and name.isalpha():
            rows.append(
                f'<div style="display:flex;gap:8px"><div style="flex:0 0 5.5em">{escape(name)}</div>'
                f'<div style="{_CODE}">{escape(value.strip())}</div></div>'
            )
        else:
            rows.append(f'<div style="{_CODE}">{escape(detail)}</div>')
    return "".join(rows)


def _picture(report) -> str:
    file = io.BytesIO()
    try:
        if (figure := report.figure()) is None:
            return ""
        figure.savefig(file, format="png", dpi=100, facecolor="white")
    except Exception:  # such as settings of matplotlib's that do not work here: the words have said it
        return ""
    data = base64.b64encode(file.getvalue()).decode()
    return (
        f'<img alt="expected next to received, for {escape(report.exercise)}" src="data:image/png;base64,{data}" '
        'style="display:block;max-width:100%;margin:8px 0">'
    )
