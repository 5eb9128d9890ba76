"""Answers whose cell ends in an error: the mark is for what was defined, and the error is named."""

import pytest
from test_attacks import PADDED, SHARE, graded

from vit_course.checks import EXERCISES

pytestmark = pytest.mark.slow

POINTS = EXERCISES["class_token.padded"].points


def test_what_was_defined_counts_and_the_error_is_named(tmp_path):
    """One process for all: each answer is judged before the next cell defines it anew."""
    answers = {
        "a magic that fails here, before": f"%matplotlib widget\n{PADDED}",
        "no such magic": f"%no_such_magic 1\n{PADDED}",
        "no such program": f"!no-such-program\n%pip --version\n{PADDED}",
        "an error afterwards": f"{PADDED}\nraise ValueError('a plot that failed')",
        "exit afterwards": f"{PADDED}\nexit()",
        "an error before": f"del padded\nimport no_such_library\n{PADDED}",
        "a function that exits": "def padded(z, real):\n    raise SystemExit(0)",
        "a function that is interrupted": "def padded(z, real):\n    raise KeyboardInterrupt",
        "a function that ends a generator": "def padded(z, real):\n    raise GeneratorExit",
    }
    cells = [cell for source in answers.values() for cell in (source, "class_token.padded")]
    verdicts, texts = graded(tmp_path, "import torch", *cells, SHARE, "further.share", every=True)
    found = dict(zip(answers, verdicts, strict=False))
    reached = {name: verdict.points for name, verdict in found.items() if verdict.points}
    assert reached == dict.fromkeys(list(answers)[:5], float(POINTS)), texts
    assert "%matplotlib: " in texts[1] and "UsageError" in texts[3]
    assert "(The cell of `padded` ended in an error: ValueError: a plot that failed)" in texts[8]
    before = found["an error before"].report
    assert (
        before.mistake == "cell-failed" and "ModuleNotFoundError: No module named 'no_such_library'" in before.sentence
    )
    for name in ("a function that exits", "a function that is interrupted"):
        assert found[name].report.mistake == "tried-to-exit"
    assert found["a function that ends a generator"].report.mistake == "raised-error"
    assert verdicts[-1].points == EXERCISES["further.share"].points, "the next exercise is judged as ever"
