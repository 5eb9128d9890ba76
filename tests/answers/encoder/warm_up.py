"""Answers to exercise encoder.warm_up."""

from answers import reported, right, unforeseen, wrong

WITHOUT, WITH = [2.29, 2.31, 2.24], [1.71, 1.93, 1.88]


def _gives(without=WITHOUT, with_it=WITH, conclusion="helps"):
    return lambda: {"without": without, "with": with_it, "conclusion": conclusion}


right("encoder.warm_up")(_gives())
right("encoder.warm_up")(_gives(WITH, WITHOUT, "hurts"))
right("encoder.warm_up")(_gives([2.2, 1.5, 1.8], [2.1, 1.9, 1.6], "not decided"))
right("encoder.warm_up")(_gives([*WITHOUT, 2.4, 2.5], [*WITH, 1.5, 1.6]))
reported("encoder.warm_up", _gives()(), "without", "with", percent=False)

wrong("encoder.warm_up", "runs-differ")(_gives([*WITHOUT, 2.5]))
wrong("encoder.warm_up", "one-run-repeated")(_gives([2.3, 2.3, 2.3]))
wrong("encoder.warm_up", "nothing-changed")(_gives(WITH, WITH, "not decided"))
wrong("encoder.warm_up", "more-than-the-numbers-say")(_gives([2.2, 1.5, 1.8], [2.1, 1.4, 1.6]))
wrong("encoder.warm_up", "too-careful")(_gives(conclusion="not decided"))
wrong("encoder.warm_up", "wrong-direction")(_gives(conclusion="hurts"))
wrong("encoder.warm_up", "wrong-direction")(_gives(WITH, WITHOUT))
wrong("encoder.warm_up", "no-such-option")(_gives(conclusion="it helps a lot"))
unforeseen("encoder.warm_up")(_gives([230.5, 231.0, 224.0]))
unforeseen("encoder.warm_up")(_gives([0.02, 0.01, 0.03], [0.04, 0.05, 0.06], "hurts"))
wrong("encoder.warm_up", "not-trained")(_gives([2.31, 2.32, 2.3], [2.3, 2.29, 2.305], "not decided"))
