"""What lies beside the weights of a run, config.json: every part of it is looked at before a picture is shown."""

import json
from pathlib import Path

import pytest
from conftest import cases
from small_run import WRONG, new_run, refused

from vit_course import pretrained


@pytest.fixture
def run(tmp_path) -> Path:
    """The folder of a small run."""
    return new_run(tmp_path)


def beside(run: Path, **images) -> None:
    """Other values in the part of config.json that speaks of the images."""
    path = run / "config.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "images": {**content["images"], **images}}))


@cases(
    ("content", "words"),
    [
        (b"", "no valid JSON"),
        (b'{"images": {"mean": [0.4', "no valid JSON"),
        (b"\xff\xfe{}", "no valid JSON"),
        (b'{"images": "\xe4"}', "no valid JSON"),
        (b"[" * 100_000, "no valid JSON"),
        (b'{"a":' * 100_000, "no valid JSON"),
        (b'{"images": ' + b"9" * 5000 + b"}", "no valid JSON"),
        (b"[]", "an object in curly brackets, got list"),
        (b"null", "got NoneType"),
        (b"3", "got int"),
        (b'{"images": null}', "images must be an object"),
        (b'{"images": []}', "images must be an object"),
        (b'{"images": {}}', "images has no 'mean'"),
        (b'{"images": {}, "model": null}', "the config of the model must be an object"),
        (b"{}", "that says on what"),
    ],
)
def test_a_config_file_that_is_none(content, words, run):
    (run / "config.json").write_bytes(content)
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), words)


@pytest.mark.parametrize("name", ["mean", "std", "class_names"])
def test_every_entry_of_the_images_is_looked_at(name, run):
    numbers = [[0.5, value, 0.5] for value in (None, "0.5", True, [], -0.1, 1.5, 1e300, float("nan"), float("inf"))]
    lists = [[], [0.5], [0.5] * 2, [0.5] * 4, *numbers, *WRONG]
    for value in [*lists, [0.5, 0.0, 0.5]] if name == "std" else lists:
        beside(run, **{name: value})
        refused(lambda: pretrained.load_run(run), str(run / "config.json"))
    content = json.loads((run / "config.json").read_text())
    del content["images"][name]
    (run / "config.json").write_text(json.dumps(content))
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), f"images has no '{name}'")


def test_statistics_of_another_number_of_channels(run):
    beside(run, mean=[0.5], std=[0.2])
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), "mean has 1 values", "3 channels")
    with pytest.raises(ValueError, match=r"std of channel 1 must be at least 0\.0001, got 0"):
        pretrained.shipped.AsTrained((8, 12), (0.5,) * 3, (0.5, 0, 0.5))


@cases(
    ("names", "words"),
    [
        (list("abcd"), "there are 4 class names for 5 classes"),
        (list("abcdef"), "there are 6 class names for 5 classes"),
        (["a", "b", 3, "d", "e"], "the name of class 2 must be a text, got 3"),
        ("abcde", "class_names must be a list of 5 names, got 'abcde'"),
    ],
)
def test_class_names(names, words, run):
    beside(run, class_names=names)
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), words)


def test_a_config_file_of_another_model(run):
    content = json.loads((run / "config.json").read_text())
    content["model"]["num_heads"] = 4
    (run / "config.json").write_text(json.dumps(content))
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), "another one than that of best.safetensors")
