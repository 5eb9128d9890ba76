"""Answers to exercise training.curves."""

from answers import right, unforeseen, wrong

CURVES = {
    "run_a": "softmax twice",
    "run_b": "divergence",
    "run_c": "healthy",
    "run_d": "over-fitting",
    "run_e": "under-fitting",
    "keep_d": 20,
}


@right("training.curves")
def diagnosed():
    return CURVES


@right("training.curves")
def in_capitals():
    return {k: f" {v.capitalize()} " if isinstance(v, str) else v for k, v in CURVES.items()}


@right("training.curves")
def in_another_order():
    return dict(reversed(CURVES.items()))


def _curves(mistake, **changes):
    wrong("training.curves", mistake)(lambda: CURVES | changes)


_curves("right-answers-overlooked", run_a="under-fitting")
_curves("floor-overlooked", run_a="healthy")
_curves("no-gap", run_a="over-fitting")
_curves("never-left-upwards", run_a="divergence")
_curves("falling-taken-for-learning", run_b="healthy")
_curves("first-epochs-overlooked", run_b="under-fitting")
_curves("loss-above-its-range", run_b="softmax twice")
_curves("harder-images-overlooked", run_c="under-fitting")
_curves("gap-the-other-way", run_c="over-fitting")
_curves("below-the-floor", run_c="softmax twice")
_curves("turn-overlooked", run_d="healthy")
_curves("one-loss-only", run_d="divergence")
_curves("training-loss-overlooked", run_d="under-fitting")
_curves("hardly-moved", run_e="healthy")
_curves("few-right-answers", run_e="softmax twice")
_curves("no-such-option", run_e="too few images")
_curves("wrong-type", run_e=3)


_curves("end-of-the-run", keep_d=100)
_curves("training-loss-chosen", keep_d=50)
_curves("stopped-too-early", keep_d=10)
_curves("place-for-epoch", keep_d=2)
unforeseen("training.curves")(lambda: CURVES | {"keep_d": 70})
_curves("place-for-epoch", keep_d=1)


@right("training.curves")
def without_hyphens():
    return CURVES | {"run_d": "overfitting", "run_e": "Under fitting."}
