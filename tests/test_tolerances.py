"""Numbers of a chapter after the sign ≈: what a fresh run may change, and what it may not."""

import pytest
import tolerances

CASES = {
    # tags, stored, fresh, whether they agree
    "within a difference": ("about:0.05", "accuracy ≈ 0.97 of 400", "accuracy ≈ 0.93 of 400", True),
    "beyond a difference": ("about:0.05", "accuracy ≈ 0.97", "accuracy ≈ 0.90", False),
    "within a share": ("about:10%", "loss ≈ 2.00", "loss ≈ 1.81", True),
    "beyond a share": ("about:10%", "loss ≈ 2.00", "loss ≈ 1.79", False),
    "within a factor": ("about:x5", "seconds ≈ 2", "seconds ≈ 9", True),
    "beyond a factor": ("about:x5", "seconds ≈ 2", "seconds ≈ 11", False),
    "a factor keeps the sign": ("about:x5", "slope ≈ 0.10", "slope ≈ -0.10", False),
    "every number of the line": ("about:0.05", "≈ 0.97 0.50", "≈ 0.97 0.90", False),
    "columns that move": ("about:10%", "steps ≈ 99  (first)", "steps ≈ 101 (first)", True),
    "small numbers": ("about:x100", "largest difference ≈ 2e-07", "largest difference ≈ 9e-06", True),
    "a rounding error that is none": ("about:x100", "largest difference ≈ 2e-07", "largest difference ≈ 0e+00", True),
    "a rounding error that grows": ("about:x100", "largest difference ≈ 4e-09", "largest difference ≈ 8e-06", False),
    "more than rounding": ("about:x100", "largest difference ≈ 0e+00", "largest difference ≈ 2e-05", False),
    "numbers before the sign": ("about:0.05", "16 patches ≈ 0.97", "15 patches ≈ 0.97", False),
    "other words": ("about:0.05", "accuracy ≈ 0.97 good", "accuracy ≈ 0.97 bad", False),
    "no number": ("about:0.05", "loss ≈ 0.97", "loss ≈ nan", False),
    "lines without the sign": ("about:0.05", "accuracy 0.97", "accuracy 0.96", False),
    "a line less": ("about:0.05", "a ≈ 0.97\nb ≈ 0.97", "a ≈ 0.97", False),
}


@pytest.mark.parametrize("name", CASES)
def test_lines_agree_within_the_tolerance(name):
    tag, stored, fresh, agree = CASES[name]
    assert (tolerances.settled(stored, fresh, tolerances.tolerance(["predict", tag])) == stored) is agree


@pytest.mark.parametrize("tags", [["about:5 %"], ["about:"], ["about:0.1", "about:10%"]])
def test_a_tag_that_states_no_tolerance_is_refused(tags):
    with pytest.raises(ValueError, match="a cell has one tag such as"):
        tolerances.tolerance(tags)
