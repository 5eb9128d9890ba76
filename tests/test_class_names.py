"""One reader of the names of classes for the explorer and for what is loaded: each name at its number, or refused."""

import pytest
import timm
import torch
import transformers
from saved import SMALL
from torch import nn

from vit_course._support.inputs.class_names import names_by_number, names_of_timm
from vit_course.explorer import explore
from vit_course.maps.models.statements import Statements
from vit_course.pretrained import load_run

NAMES = [f"thing {number}" for number in range(12)]
WRITTEN = {
    "digits": {str(number): name for number, name in sorted(enumerate(NAMES), key=lambda one: str(one[0]))},
    "ints": dict(reversed(list(enumerate(NAMES)))),
    "a list": NAMES,
}


def classifier(**names):
    return transformers.ViTForImageClassification(transformers.ViTConfig(**SMALL, **names)).eval()


@pytest.mark.parametrize("kind", WRITTEN)
def test_names_stand_in_the_order_of_their_numbers(kind):
    assert names_by_number(WRITTEN[kind], "it") == NAMES
    model = classifier(num_labels=12)
    assert Statements(model).labels is None, "LABEL_0 and so on are no names"
    model.config.id2label = WRITTEN[kind]
    assert Statements(model).labels == NAMES


REFUSED = {
    "id2label of it has no name for class 3": {number: name for number, name in enumerate(NAMES) if number != 3},
    "id2label of it has no name for class 0": {"1": "one"},
    "has a key that is not the number of a class, 'cat'": {"cat": "0"},
    "has a key that is not the number of a class, -1": {-1: "last"},
    "has a key that is not the number of a class, True": {True: "one"},
    "has a key that gives the number of a class twice, '0'": {0: "zero", "0": "none"},
    "must have a name for each number of a class, got 'cats'": "cats",
}


@pytest.mark.parametrize("words", REFUSED)
def test_others_are_refused_by_name(words):
    with pytest.raises(ValueError, match=words):
        names_by_number(REFUSED[words], "it")


def test_a_missing_name_is_named_wherever_it_is_read(tmp_path):
    model = classifier(id2label={0: "zero", 2: "two"})
    with pytest.raises(ValueError, match="id2label of ViTForImageClassification has no name for class 1: give labels="):
        explore(model, torch.randn(3, *2 * [model.config.image_size]))
    model.save_pretrained(tmp_path)
    side = {"height": model.config.image_size, "width": model.config.image_size}
    transformers.ViTImageProcessor(size=side).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="id2label of ViTForImageClassification has no name for class 1"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("kind", "is_shown"),
    [(None, True), ("single_label_classification", True), ("multi_label_classification", False), ("regression", False)],
)
def test_only_outputs_that_a_softmax_makes_probabilities_are_shown_as_predictions(kind, is_shown):
    model = classifier(num_labels=3, problem_type=kind)
    shown = explore(model, torch.randn(3, *2 * [model.config.image_size]))
    assert (shown._panels[0]["says"] is not None) == is_shown


def test_names_of_timm():
    model = timm.create_model("vit_tiny_patch16_224", depth=1)
    assert names_of_timm(model)[281] == "tabby, tabby cat" and names_of_timm(model, short=True)[281] == "tabby"
    model.pretrained_cfg = model.pretrained_cfg | {"label_names": ["a", "b"], "label_descriptions": {"b": "Bern, BE"}}
    assert names_of_timm(model) == names_of_timm(model, short=True) == ["a", "Bern, BE"]
    assert names_of_timm(timm.create_model("vit_tiny_patch16_224", depth=1, num_classes=0)) is None
    assert names_of_timm(nn.Identity()) is None
