"""Answers to exercise vit.large_head."""

from answers import reported, right, unforeseen, wrong

MEASURED = {"small": [1.31, 1.24, 1.40], "large": [3.1, 4.2, 3.7], "conclusion": "slower"}


@right("vit.large_head")
def as_measured():
    return MEASURED


@right("vit.large_head")
def the_other_way():
    return {"small": MEASURED["large"], "large": MEASURED["small"], "conclusion": "faster"}


@right("vit.large_head")
def ranges_overlap():
    return {"small": [1.2, 1.5, 1.8], "large": [2.1, 1.9, 1.6], "conclusion": "not decided"}


reported("vit.large_head", MEASURED, "small", "large", percent=False)


def _large_head(mistake, **changes):
    wrong("vit.large_head", mistake)(lambda: MEASURED | changes)


_large_head("runs-differ", small=[*MEASURED["small"], 1.5])
_large_head("first-losses", small=[2.30, 2.31, 2.30], large=[10.2, 9.4, 11.9])
_large_head("one-run-repeated", small=[1.3, 1.3, 1.3])
_large_head("nothing-changed", large=MEASURED["small"], conclusion="not decided")
_large_head("more-than-the-numbers-say", small=[1.2, 3.5, 1.8])
_large_head("too-careful", conclusion="not decided")
_large_head("wrong-direction", conclusion="faster")
_large_head("no-such-option", conclusion="helps")
unforeseen("vit.large_head")(lambda: MEASURED | {"small": [130.5, 131.0, 124.0]})
_large_head("not-after-25-steps", small=[0.115, 0.13, 0.135], large=[0.016, 0.13, 0.163], conclusion="not decided")
_large_head("not-after-25-steps", small=[0.69, 0.14, 0.03], large=[1.13, 0.005, 0.002], conclusion="not decided")
_large_head("counts", small=[10, 10, 10], large=[6, 5, 5])
