"""Exercise attention.how_many_heads: an experiment, its numbers and the conclusion from them."""

from collections.abc import Mapping

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.experiments import losses
from vit_course.checks.tools.table import refuse
from vit_course.checks.tools.words import describe

SETTINGS = [(things, heads) for things in (1, 2) for heads in (1, 2, 4)]
CONCLUSIONS = ("more", "enough", "never")
CLEARLY = 0.1  # far above the spread of the seeds


@exercise("4.4", "How many heads does a token need?", section="Several heads", difficulty=3, minutes=15, seconds=300)
def how_many_heads(answer):
    """`answer()` -> {"errors": {(things, heads): three errors}, "conclusion": a word}."""
    received = call(answer)
    refuse(__name__, "how-many-heads", locals())
    means = _means(received["errors"])
    if not _as_measured(means) and _as_measured({(things, heads): mean for (heads, things), mean in means.items()}):
        sentence = "The numbers look right with things and heads exchanged: in which order are they handed on?"
        raise Wrong("arguments-exchanged", sentence)
    follows = _conclusion(means)
    same_answer(
        received.get("conclusion"),
        follows,
        {
            word: (
                "does-not-follow",
                "The conclusion does not follow from your own numbers: compare the steps to more heads, one by one, "
                "for one thing and for two.",
            )
            for word in CONCLUSIONS
            if word != follows
        },
    )
    _plausible(means)


def _means(errors: Mapping) -> dict[tuple[int, int], float]:
    if {(things, heads) for heads, things in SETTINGS} <= set(errors) and not set(SETTINGS) <= set(errors):
        raise Wrong(
            "settings-exchanged", "The keys of the errors are (heads, things), where (things, heads) are asked."
        )
    strange = [key for key in errors if not isinstance(key, tuple)]
    if strange:
        sentence = f"The keys of the errors are pairs such as (1, 2), and here is the key {describe(strange[0])}."
        raise Wrong("wrong-keys", sentence)
    missing = [setting for setting in SETTINGS if setting not in errors]
    if missing:
        raise Wrong("settings-missing", "Not all settings were run.", [f"Missing: {missing}"])
    means = {}
    for setting in SETTINGS:
        seeds = losses(errors[setting], f"errors of {setting}", low=0, high=10, what="mean squared error")
        means[setting] = sum(seeds) / len(seeds)
    return means


def _lost(things: int, heads: int) -> float:
    # With fewer heads than things the averages carry h of n notes, so 1 - h/n of what is asked for is lost.
    return max(0.0, 1 - heads / things)


def _as_measured(means: dict[tuple[int, int], float]) -> bool:
    return all(abs(mean - _lost(things, heads)) <= 0.15 for (things, heads), mean in means.items())


def _conclusion(means: dict[tuple[int, int], float]) -> str:
    """What the numbers say, whatever they are."""
    falls = {
        (things, step): means[things, step[0]] - means[things, step[1]] > CLEARLY
        for things in (1, 2)
        for step in ((1, 2), (2, 4))
    }
    if all(falls.values()):
        return "more"
    return "enough" if any(falls.values()) else "never"


def _plausible(means: dict[tuple[int, int], float]) -> None:
    refuse(__name__, "plausible", locals())
    one, *more = (means[2, heads] for heads in (1, 2, 4))
    alike = all(abs(mean - one) < CLEARLY for mean in more)
    if alike and all(means[1, heads] < 0.15 for heads in (1, 2, 4)):
        sentence = "For two things every number of heads ends alike in these numbers: is `heads` handed on?"
        raise Wrong("heads-ignored", sentence)
    for (things, heads), mean in means.items():
        if abs(mean - _lost(things, heads)) > 0.15:
            raise Wrong(
                "wrong-answer",
                "The conclusion fits your numbers, but this training does not give such numbers.",
                [f"Look again at things = {things}, heads = {heads}: mean error {mean:.2f}"],
            )
