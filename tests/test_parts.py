"""Exercises of several answers: one slip that shows in several of them is explained once."""

import exercises
from conftest import cases

from vit_course import checks
from vit_course.checks.draw import Draw
from vit_course.checks.tools.whole_parts import distinct_sizes

RIGHT_SIZES, MEASURED = exercises.solution("start.sizes")(), exercises.solution("start.removed")()


def sentences(report) -> dict:
    return {part: wrong.sentence for part, wrong in report.parts if wrong}


def test_a_slip_that_shows_in_several_parts_is_said_once():
    shapes = {"patch_tokens": (144, 1024), "into_the_encoder": (145, 1024), "logits": (1000,)}
    found = sentences(checks.start.sizes(lambda: RIGHT_SIZES | shapes))
    assert found.pop("patch_tokens").startswith("This is the shape for one image")
    assert found == dict.fromkeys(("into_the_encoder", "logits"), "The same as in patch_tokens.")


def test_what_follows_from_a_wrong_answer_is_said_to_follow():
    shapes = {"patches": 143, "patch_tokens": (8, 143, 1024), "into_the_encoder": (8, 144, 1024)}
    report = checks.start.sizes(lambda: RIGHT_SIZES | shapes)
    found = sentences(report)
    assert report.mistake == "wrong-answer" and report.score == 0.5
    assert found.pop("patches") == "143 is not right."
    alone = sentences(checks.start.sizes(lambda: RIGHT_SIZES | {"patch_tokens": (8, 143, 1024)}))
    assert alone == {"patch_tokens": "(8, 143, 1024) is not right."}, "nothing follows from a right answer"
    leads = "This is what your answer to {} leads to: mend that one first."
    assert found == {"patch_tokens": leads.format("patches"), "into_the_encoder": leads.format("patch_tokens")}


@cases("slip", ["percent", "counts"])
def test_a_conclusion_is_judged_by_what_the_numbers_mean(slip):
    factor = {"percent": 100, "counts": 1000}[slip]
    numbers = {name: factor * share for name, share in MEASURED.items() if isinstance(share, float)}
    found = sentences(checks.start.removed(lambda: MEASURED | numbers))
    assert set(found) == set(numbers) and list(found.values())[1:] == ["The same as in whole."] * 3


@cases("layers", [2, 3])
def test_a_model_never_has_as_many_heads_as_layers(layers):
    for seed in range(20):
        sizes, _ = distinct_sizes(Draw(seed), layers)
        assert sizes["num_heads"] != layers
