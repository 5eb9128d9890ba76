"""Answers to exercise vit.large_head."""

import torch

from answers import right, unforeseen, wrong

SMALL, LARGE = [1.31, 1.24, 1.40], [3.1, 4.2, 3.7]


def _gives(small=SMALL, large=LARGE, conclusion="slower"):
    return lambda: {"small": small, "large": large, "conclusion": conclusion}


right("vit.large_head")(_gives())
right("vit.large_head")(_gives(torch.tensor(SMALL), tuple(LARGE), " Slower "))
right("vit.large_head")(_gives(LARGE, SMALL, "faster"))
right("vit.large_head")(_gives([1.2, 1.5, 1.8], [2.1, 1.9, 1.6], "not decided"))

wrong("vit.large_head", "too-few-seeds")(_gives([1.3, 1.2], [3.9, 3.8]))
wrong("vit.large_head", "seeds-differ")(_gives([*SMALL, 1.5]))
wrong("vit.large_head", "seed-repeated")(_gives([1.3, 1.3, 1.3]))
wrong("vit.large_head", "same-runs")(_gives(SMALL, SMALL, "not decided"))
wrong("vit.large_head", "ranges-overlap")(_gives([1.2, 3.5, 1.8]))
wrong("vit.large_head", "too-timid")(_gives(conclusion="not decided"))
wrong("vit.large_head", "direction-swapped")(_gives(conclusion="faster"))
wrong("vit.large_head", "no-such-option")(_gives(conclusion="helps"))
wrong("vit.large_head", "not-possible")(_gives([1.3, float("nan"), 1.2]))
wrong("vit.large_head", "wrong-keys")(lambda: {"small": SMALL, "large": LARGE})
wrong("vit.large_head", "wrong-type")(_gives(small=1.3))
wrong("vit.large_head", "returned-nothing")(lambda: None)
unforeseen("vit.large_head")(_gives([130.0, 131.0, 124.0]))
