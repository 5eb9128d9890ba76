"""Exercise vit.independent: a test that finds models whose images depend on their batch mates."""

import copy
from collections.abc import Callable

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import table
from vit_course.checks.tools.words import describe
from vit_course.checks.vit.models import KINDS, Model


@exercise("6.2", "A test for batch mates", section="Two more checks before training", difficulty=3, minutes=12)
def independent(answer, draw):
    """`answer(model, images)` -> True where the logits of no image depend on the others, False where they do."""
    tried = [_models(draw) for _ in range(2)]
    verdicts = [_verdicts(lambda *a: _as_bool(_asked(answer, *a)), *one) for one in tried]
    if all(found == _RIGHT for found in verdicts):
        return
    _name_by_all(verdicts)
    tests = [(one, _compared(one.function)) for one in table(__name__, "compared")]
    for known, test in [*tests, *((one, one.function) for one in table(__name__, "tests"))]:
        if all(_verdicts(test, *one) == found for one, found in zip(tried, verdicts, strict=True)):
            raise Wrong(known.slug, known.sentence, _details(verdicts))
    kind = KINDS[_first_wrong(verdicts)[0]]
    raise Wrong(kind.slug, kind.sentence, _details(verdicts))


_RIGHT = [kind.right for kind in KINDS]
_PLACES = [kind.by_place for kind in KINDS]
_ORDER = "The same images in another order are all that is tried: a model passes that looks at all of them alike."


def _models(draw) -> tuple[list[Model], torch.Tensor]:
    batch, classes = draw.sizes(2, low=6)
    channels, height, width = draw.sizes(3, high=4)
    # Numbers with few digits, so that the first model computes without rounding; images differ in brightness. The two
    # bright ones stand in the first half of the batch, the two dark ones in the second.
    brightness = draw.permutation(batch) - batch // 2
    brightness[:2], brightness[-2:] = torch.tensor([30, 34]), torch.tensor([-34, -30])
    images = (3 * draw.normal(batch, channels, height, width)).round() + brightness.view(-1, 1, 1, 1)
    weight = (3 * draw.normal(channels * height * width, classes)).round() / 256  # logits of size 1, about
    return [Model(weight, images, kind.mix).eval() for kind in KINDS], images


def _verdicts(test: Callable, models: list[Model], images: torch.Tensor) -> list[bool]:
    return [test(copy.deepcopy(model), images.clone()) for model in models]


def _asked(answer, model, images):
    shapes, modes = [], []
    model.register_forward_pre_hook(lambda _, given: shapes.append(tuple(getattr(given[0], "shape", ()))))
    model.register_forward_pre_hook(lambda one, _: modes.append(one.training))
    try:
        received = call(answer, model, images)
    except Wrong as wrong:
        if wrong.mistake != "raised-error" or all(len(shape) == 4 for shape in shapes):
            raise
        sentence = "The model was given something that is no batch (B, C, H, W): one image is a batch of one."
        raise Wrong("no-batch-axis", sentence, [f"Received: {shapes[-1]}", *wrong.details]) from None
    if any(modes):
        sentence = "The model computes in training mode, in which dropout and batch norm make right models differ too."
        raise Wrong("train-mode-left-on", sentence)
    return received


def _as_bool(received) -> bool:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    for verdict in (True, False):
        try:
            same_answer(received, verdict)
            return verdict
        except Wrong:
            continue
    raise Wrong("wrong-type", f"The result is {describe(received)} where True or False is expected.")


def _first_wrong(verdicts: list[list[bool]]) -> tuple[int, bool]:
    return next((i, found[i]) for i in range(len(KINDS)) for found in verdicts if found[i] != _RIGHT[i])


def _details(verdicts: list[list[bool]]) -> list[str]:
    index, verdict = _first_wrong(verdicts)
    kind = KINDS[index]
    return [f"Input:    a model in which {kind.words}", f"Expected: {kind.right}", f"Received: {verdict}"]


def _name_by_all(verdicts: list[list[bool]]) -> None:
    both = [verdict for found in verdicts for verdict in found]
    if all(both):
        sentence = "Every model passes, also those that mix the images of a batch."
        raise Wrong("accepts-everything", sentence, _details(verdicts))
    if not any(both):
        sentence = "No model passes, not even one that never mixes two images."
        raise Wrong("refuses-everything", sentence, _details(verdicts))
    if all(all(verdict or places for verdict, places in zip(found, _PLACES, strict=True)) for found in verdicts):
        raise Wrong("order-only", _ORDER, _details(verdicts))
    if all(verdict != right for found in verdicts for verdict, right in zip(found, _RIGHT, strict=True)):
        sentence = "The two verdicts have changed places: True is said of the models that mix images."
        raise Wrong("verdict-inverted", sentence, _details(verdicts))


# ---- tests that people write: each is known by its verdicts on all models

_CLOSE = dict(rtol=1e-4, atol=1e-5)


def _compared(same: Callable) -> Callable:
    """A test of the logits of each image alone against those of all together."""

    def test(model, images):
        with torch.no_grad():
            return bool(same(torch.cat([model(image[None]) for image in images]), model(images)))

    return test


def _in_parts(size: Callable) -> Callable:
    def test(model, images):
        with torch.no_grad():
            parts = torch.cat([model(part) for part in images.split(size(len(images)))])
            return torch.allclose(parts, model(images), **_CLOSE)

    return test


def _left_out(keep: slice) -> Callable:
    def test(model, images):
        with torch.no_grad():
            return torch.allclose(model(images[keep]), model(images)[keep], **_CLOSE)

    return test


def _doubled(model, images):
    with torch.no_grad():
        return torch.allclose(model(torch.cat([images, images]))[: len(images)], model(images), **_CLOSE)
