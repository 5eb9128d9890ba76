"""Answers to exercise training.seeds."""

from answers import reported, right, unforeseen, wrong

WITHOUT, WITH = [0.935, 0.94, 0.93, 0.945], [0.86, 0.84, 0.875, 0.85]
MEASURED = {"change": "padding", "without": WITHOUT, "with": WITH, "conclusion": "hurts"}


@right("training.seeds")
def shifts_hurt():
    return MEASURED


@right("training.seeds")
def smoothing_cannot_tell():
    return {
        "change": " Label-smoothing ",
        "without": [*WITHOUT, 0.935],
        "with": [0.94, 0.94, 0.935, 0.93, 0.95],
        "conclusion": "Cannot tell",
    }


@right("training.seeds")
def the_other_way():
    return {"change": "warmup", "without": WITH, "with": WITHOUT, "conclusion": "helps"}


@right("training.seeds")
def one_setting_gives_one_number():
    return MEASURED | {"without": [0.935] * 4}


reported("training.seeds", MEASURED, "without", "with", fewest=4)


def _seeds(mistake, **changes):
    wrong("training.seeds", mistake)(lambda: MEASURED | changes)


_seeds("no-such-option", change="normalisation")
_seeds("not-of-the-validation-images", without=[0.935, 0.94, 0.9327, 0.945])
_seeds("too-low", **{"with": [0.1, 0.12, 0.11, 0.09]})
_seeds("runs-differ", without=[*WITHOUT, 0.94])
_seeds("one-run-repeated", without=[0.935] * 4, **{"with": [0.86] * 4})
_seeds("nothing-changed", **{"with": WITHOUT})
_seeds("wrong-direction", conclusion="helps")
_seeds("too-careful", conclusion="cannot tell")
_seeds("more-than-the-numbers-say", **{"with": [0.86, 0.84, 0.935, 0.85]})
unforeseen("training.seeds")(lambda: MEASURED | {"without": [0.935, 0.94, 1.0, 0.945]})
