"""Answers to exercise evidence.luck."""

from answers import reported, right, unforeseen, wrong

CHOSEN, HELD_OUT = [0.2, 0.175, 0.17, 0.193, 0.186], [0.162, 0.159, 0.154, 0.162, 0.175]
MEASURED = {"chosen": CHOSEN, "held_out": HELD_OUT, "conclusion": "the choice"}


@right("evidence.luck")
def as_lists():
    return MEASURED


@right("evidence.luck")
def six_seeds():
    return MEASURED | {"chosen": [*CHOSEN, 0.235], "held_out": [*HELD_OUT, 0.179]}


@right("evidence.luck")
def with_other_images():
    return {
        "chosen": [0.2, 0.19, 0.18, 0.2, 0.19],
        "held_out": [0.18, 0.18, 0.17, 0.18, 0.19],
        "conclusion": "the head",
    }


reported("evidence.luck", MEASURED, "chosen", "held_out", fewest=5)


def _luck(slug, **changes):
    wrong("evidence.luck", slug)(lambda: MEASURED | changes)


_luck("does-not-follow", conclusion="the head")
_luck("runs-differ", chosen=[*CHOSEN, 0.2])
_luck("same-images", held_out=CHOSEN)
_luck("trained-model", chosen=[0.51, 0.5, 0.52, 0.51, 0.5], held_out=[0.5, 0.51, 0.49, 0.5, 0.5])
_luck("exchanged", chosen=HELD_OUT, held_out=CHOSEN)
_luck("not-the-best", chosen=[0.16, 0.165, 0.162, 0.161, 0.163], held_out=[0.15, 0.155, 0.152, 0.151, 0.153])
_luck("one-run-repeated", held_out=[0.16] * 5)
_luck("no-such-option", conclusion="luck")
unforeseen("evidence.luck")(lambda: MEASURED | {"held_out": [0.02, 0.03, 0.01, 0.02, 0.04]})
