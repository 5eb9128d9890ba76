"""Answers to exercise further.batch: what the worked solution measures, and what it measures with a mistake."""

from answers import UNKNOWN, Answers

answers = Answers("further.batch")

MEASURED = {
    "seeds": [0, 1, 2],
    "small": [0.945, 0.97, 0.965],
    "large": [0.89, 0.855, 0.895],
    "scaled": [0.93, 0.905, 0.925],
    "conclusion": "helps",
}
ROUNDED = {"small": [0.94, 0.97, 0.96], "large": [0.89, 0.86, 0.9], "scaled": [0.93, 0.91, 0.93]}
LOSSES = {"small": [0.296, 0.256, 0.269], "scaled": [0.357, 0.438, 0.305]}

answers.reported(MEASURED, "small", "large", "scaled")
answers.right(lambda: MEASURED | ROUNDED)
answers.wrong("too-careful")(lambda: MEASURED | {"conclusion": "cannot tell"})
answers.wrong("gap-overlooked")(lambda: MEASURED | {"conclusion": "repairs"})
answers.wrong("overlap-with-small-overlooked")(lambda: MEASURED | {"scaled": [0.945, 0.92, 0.93]})
answers.wrong("more-than-the-numbers-say")(lambda: MEASURED | {"large": [0.905, 0.855, 0.905]})
answers.wrong("another-setting")(lambda: MEASURED | {"small": MEASURED["large"], "large": MEASURED["small"]})
answers.wrong("runs-differ")(lambda: MEASURED | {"small": [*MEASURED["small"], 0.93]})
answers.wrong(UNKNOWN)(lambda: MEASURED | LOSSES)
answers.wrong(UNKNOWN)(lambda: MEASURED | {"small": [0.5, 0.52, 0.51], "scaled": [0.6, 0.58, 0.59]})
