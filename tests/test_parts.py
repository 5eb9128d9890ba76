"""Exercises of several answers: one slip that shows in several of them is explained once."""

import exercises
from conftest import cases

from vit_course import checks
from vit_course.checks.draw import Draw
from vit_course.checks.report import Parts, Wrong
from vit_course.checks.tools.whole_parts import distinct_sizes

RIGHT_SIZES, MEASURED = exercises.solution("start.sizes")(), exercises.solution("start.removed")()


def sentences(report) -> dict:
    return {part: wrong.sentence for part, wrong in report.parts if wrong}


def test_a_slip_that_shows_in_several_parts_is_said_once():
    shapes = {"patch_tokens": (144, 1024), "into_the_encoder": (145, 1024), "logits": (1000,)}
    found = sentences(checks.start.sizes(lambda: RIGHT_SIZES | shapes))
    assert found.pop("patch_tokens").startswith("This is the shape for one image")
    assert found == dict.fromkeys(("into_the_encoder", "logits"), "The same as in patch_tokens.")


def test_two_wrong_numbers_are_not_one_slip():
    parts = Parts()
    for name in ("one", "other"):
        with parts(name):
            raise Wrong("wrong-answer", "7 is not right.")
    assert [wrong.sentence for _, wrong in parts.results] == ["7 is not right."] * 2
    assert parts.score == 0


def test_what_follows_from_a_wrong_answer_is_said_to_follow():
    shapes = {"patches": 143, "patch_tokens": (8, 143, 1024), "into_the_encoder": (8, 144, 1024)}
    report = checks.start.sizes(lambda: RIGHT_SIZES | shapes)
    found = sentences(report)
    assert report.mistake == "wrong-answer" and report.score == 0.5
    assert found.pop("patches") == "143 is not right."
    leads = "This is what your answer to {} leads to: mend that one first."
    assert found == {"patch_tokens": leads.format("patches"), "into_the_encoder": leads.format("patch_tokens")}


def test_nothing_follows_from_a_right_answer():
    found = sentences(checks.start.sizes(lambda: RIGHT_SIZES | {"patch_tokens": (8, 143, 1024)}))
    assert found == {"patch_tokens": "(8, 143, 1024) is not right."}


def test_of_a_shape_the_entry_that_is_a_float_is_named():
    found = sentences(checks.start.sizes(lambda: RIGHT_SIZES | {"patch_tokens": (8, 144.0, 1024)}))
    assert found["patch_tokens"].startswith("144.0 in (8, 144.0, 1024) is a float")


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
