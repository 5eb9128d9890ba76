"""Answers to exercise encoder.warm_up."""

import torch

from answers import right, unforeseen, wrong

WITHOUT, WITH = [2.29, 2.31, 2.24], [1.71, 1.93, 1.88]


def _gives(without=WITHOUT, with_it=WITH, conclusion="helps"):
    return lambda: {"without": without, "with": with_it, "conclusion": conclusion}


right("encoder.warm_up")(_gives())
right("encoder.warm_up")(_gives(torch.tensor(WITHOUT), tuple(WITH), " Helps "))
right("encoder.warm_up")(_gives(WITH, WITHOUT, "hurts"))
right("encoder.warm_up")(_gives([2.2, 1.5, 1.8], [2.1, 1.9, 1.6], "not decided"))
right("encoder.warm_up")(_gives([*WITHOUT, 2.4, 2.5], [*WITH, 1.5, 1.6]))

wrong("encoder.warm_up", "too-few-seeds")(_gives([2.3], [1.9]))
wrong("encoder.warm_up", "too-few-seeds")(_gives([2.3, 2.2], [1.9, 1.8]))
wrong("encoder.warm_up", "seeds-differ")(_gives([*WITHOUT, 2.5]))
wrong("encoder.warm_up", "seed-repeated")(_gives([2.3, 2.3, 2.3]))
wrong("encoder.warm_up", "same-runs")(_gives(WITH, WITH, "not decided"))
wrong("encoder.warm_up", "ranges-overlap")(_gives([2.2, 1.5, 1.8], [2.1, 1.4, 1.6]))
wrong("encoder.warm_up", "too-timid")(_gives(conclusion="not decided"))
wrong("encoder.warm_up", "direction-swapped")(_gives(conclusion="hurts"))
wrong("encoder.warm_up", "direction-swapped")(_gives(WITH, WITHOUT))
wrong("encoder.warm_up", "no-such-option")(_gives(conclusion="it helps a lot"))
wrong("encoder.warm_up", "no-such-option")(_gives(conclusion=None))
wrong("encoder.warm_up", "not-possible")(_gives([2.3, float("nan"), 2.2]))
wrong("encoder.warm_up", "not-possible")(_gives([2.3, -2.3, 2.2]))
wrong("encoder.warm_up", "wrong-keys")(lambda: {"without": WITHOUT, "with": WITH})
wrong("encoder.warm_up", "wrong-type")(lambda: [WITHOUT, WITH, "helps"])
wrong("encoder.warm_up", "wrong-type")(_gives(without=2.3))
wrong("encoder.warm_up", "wrong-type")(_gives(without=["2.3", "2.2", "2.1"]))
unforeseen("encoder.warm_up")(_gives([230.0, 231.0, 224.0]))
unforeseen("encoder.warm_up")(_gives([0.02, 0.01, 0.03], [0.04, 0.05, 0.06], "hurts"))
