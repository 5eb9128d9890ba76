"""Answers to exercise patchify.cuts."""

from answers import UNKNOWN, Answers

answers = Answers("patchify.cuts")

answers.edits(
    ("more-than-the-numbers-say", '"flipped_is": "no clear difference"', '"flipped_is": "better"'),
    ("more-than-the-numbers-say", '"strips_is": "no clear difference"', '"strips_is": "worse"'),
)

MEASURED = {
    "seeds": [0, 1, 2],
    "right": [0.927, 0.927, 0.91],
    "flipped": [0.907, 0.92, 0.905],
    "strips": [0.94, 0.927, 0.948],
    "flipped_is": "no clear difference",
    "strips_is": "no clear difference",
}
BETTER = {"strips": [0.955, 0.947, 0.96], "strips_is": "better"}  # as on another machine

answers.reported(MEASURED, "right", "flipped", "strips")
answers.right(lambda: MEASURED | BETTER)
answers.wrong("too-careful")(lambda: MEASURED | BETTER | {"strips_is": "no clear difference"})
answers.wrong("wrong-direction")(lambda: MEASURED | BETTER | {"strips_is": "worse"})
answers.wrong("nothing-changed")(lambda: MEASURED | {"flipped": MEASURED["right"]})
answers.wrong(UNKNOWN)(
    lambda: MEASURED | {"right": [0.7, 0.7, 0.7], "flipped": [0.7, 0.71, 0.7], "strips": [0.72, 0.71, 0.7]}
)
