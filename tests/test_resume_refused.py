"""What a run does not go on with: other data, another recipe or model, foreign and damaged checkpoints."""

import math
from dataclasses import replace

import pytest
import torch
from conftest import cases
from runs import RECIPE, cut_after, new_model, rewritten, write_pictures
from safetensors.torch import save_file

from vit_course import data
from vit_course.files.weights import save_weights, write_tensors
from vit_course.training import TrainingConfig, train
from vit_course.training.describe import described


@pytest.fixture(scope="module")
def dataset():
    return data.shapes(100, 40, 40, image_size=(12, 8))


@pytest.fixture
def pictures(tmp_path):
    return write_pictures(tmp_path / "pictures")


@pytest.mark.parametrize("recipe", [RECIPE, TrainingConfig(epochs=3, batch_size=32)], ids=["muon", "adamw"])
def test_a_resume_on_other_data_is_refused(recipe, dataset, tmp_path):
    train(new_model(), dataset, replace(recipe, epochs=1), tmp_path, progress=False)
    fewer = replace(dataset, train=dataset.train[:99])
    renamed = replace(dataset, class_names=("a", "b", "c", "d", "e"))
    brighter = replace(dataset, mean=(0.5, 0.5, 0.5))
    for other, message in (
        (fewer, r"trained on data of training_images 100, this run's data are of training_images 99"),
        (renamed, r"class_names \['circle', .*\], this run's data are of class_names \['a', 'b', 'c', 'd', 'e'\]"),
        (brighter, r"mean \[0.*\], this run's data are of mean \[0.5, 0.5, 0.5\]"),
    ):
        model = new_model()
        with pytest.raises(ValueError, match=message):
            train(model, other, replace(recipe, epochs=1), tmp_path, resume=True, progress=False)
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), new_model().parameters(), strict=True))


def test_a_resume_on_other_files_is_refused(pictures, tmp_path):
    recipe = TrainingConfig(epochs=1, batch_size=8)
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)
    train(new_model(num_classes=2), dataset, recipe, tmp_path / "run", progress=False)
    (pictures / "class0" / "04.png").write_bytes(b"")
    damaged = data.folder(pictures, image_size=(12, 8), on_disk=True)
    assert damaged.mean != dataset.mean
    train(new_model(num_classes=2), damaged, recipe, tmp_path / "run", resume=True, progress=False)
    (pictures / "class0" / "04.png").rename(pictures / "class0" / "05.png")
    other = data.folder(pictures, image_size=(12, 8), on_disk=True)
    with pytest.raises(
        ValueError, match=r"data of checksum_of_file_names \d+, this run's data are of checksum_of_file"
    ):
        train(new_model(num_classes=2), other, recipe, tmp_path / "run", resume=True, progress=False)


@cases("part", ["model", "data", "history"])
def test_a_state_that_does_not_say_of_what_is_refused(part, dataset, tmp_path):
    recipe = replace(RECIPE, epochs=1)
    train(new_model(), dataset, recipe, tmp_path, progress=False)
    rewritten(
        tmp_path / "last.safetensors",
        lambda tensors, metadata: (tensors, {k: v for k, v in metadata.items() if k != part}),
    )
    message = rf"last.safetensors does not say of what {part} it is: a run of an earlier version is begun anew"
    with pytest.raises(ValueError, match=message):
        train(new_model(), dataset, recipe, tmp_path, resume=True, progress=False)


def test_a_run_goes_on_on_another_kind_of_device(dataset, tmp_path, monkeypatch):
    whole = new_model(dropout=0.0)
    history = train(whole, dataset, RECIPE, progress=False)
    cut_after(2, monkeypatch, tmp_path, dataset, RECIPE, dropout=0.0)
    # The state of a GPU's generator has 16 bytes.
    gpu = {"random.dropout": torch.zeros(1, 16, dtype=torch.uint8)}
    rewritten(tmp_path / "last.safetensors", lambda tensors, metadata: ({**tensors, **gpu}, metadata))
    resumed = new_model(dropout=0.0)
    assert train(resumed, dataset, RECIPE, tmp_path, resume=True, progress=False) == history
    assert all(torch.equal(a, b) for a, b in zip(resumed.parameters(), whole.parameters(), strict=True))


def foreign_weights(path):
    save_weights(path, new_model())


def foreign_library(path):
    save_file({"layer": torch.zeros(2)}, path)


def a_pickle(path):
    torch.save({"model": new_model().state_dict()}, path)


HISTORY = [
    {"epoch": 1, "learning_rate": 1e-3, "train_loss": 1.5, "train_accuracy": 0.25, "validation_loss": 1.4,
     "validation_accuracy": 0.375}
]  # fmt: skip


@cases(
    ("history", "message"),
    [
        ([], "a history of 0 epochs, from 1 to 3 are needed"),
        (HISTORY * 4, "a history of 4 epochs, from 1 to 3 are needed"),
        (HISTORY * 2, "row 2 of the history must hold epoch, learning_rate, "),
        ([{**HISTORY[0], "validation_accuracy": "high"}], "row 1 of the history must hold epoch, learning_rate, "),
        ([{**HISTORY[0], "train_loss": math.nan}], "row 1 of the history must hold epoch, learning_rate, "),
        ([None], "row 1 of the history must hold epoch, .*, got None"),
    ],
)
def test_a_history_that_is_none_is_refused(history, message, dataset, tmp_path):
    train(new_model(), dataset, RECIPE, tmp_path, progress=False)
    rewritten(tmp_path / "last.safetensors", lambda tensors, metadata: (tensors, {**metadata, "history": history}))
    with pytest.raises(ValueError, match=message):
        train(new_model(), dataset, RECIPE, tmp_path, resume=True, progress=False)


def state_of(path, tensors):
    """A state that says of the right run, and holds other tensors."""
    metadata = described(new_model(), data.shapes(100, 40, 40, image_size=(12, 8)), RECIPE)
    write_tensors(path, tensors, {**metadata, "history": HISTORY})


def of_the_model():
    """Weights, average and random states as RECIPE leaves them; no optimiser."""
    weights = new_model().state_dict()
    average = {"n_averaged": torch.tensor(3)} | {f"module.{key}": value.clone() for key, value in weights.items()}
    tensors = {f"model.{key}": value for key, value in weights.items()}
    tensors |= {f"average.{key}": value for key, value in average.items()}
    return tensors | {"random.order": torch.Generator().get_state(), "random.dropout": torch.get_rng_state()[None]}


def other_parts(path):
    state_of(path, {"other.weight": torch.zeros(2, 2)})


def without_optimiser(path):
    state_of(path, of_the_model())


def without_a_layer(path):
    tensors = {key: v for key, v in of_the_model().items() if key != "average.module.head.bias"}
    state_of(path, {**tensors, "optimiser.0.0.step": torch.tensor(1.0)})


def with_another_moment(path):
    state_of(path, {**of_the_model(), "optimiser.1.0.exp_avg": torch.zeros(2, 3)})


def with_one_optimiser_more(path):
    state_of(path, {**of_the_model(), "optimiser.2.0.exp_avg": torch.zeros(2, 3)})


def with_another_generator(path):
    state_of(
        path,
        {**of_the_model(), "random.order": torch.zeros(7, dtype=torch.uint8), "optimiser.0.0.step": torch.ones(())},
    )


@cases(
    ("write", "message"),
    [
        (foreign_weights, r"holds no state of a run to go on with, 32 tensors of something else"),
        (foreign_library, r"holds no state of a run to go on with, 1 tensors"),
        (a_pickle, r"is no whole checkpoint"),
        (other_parts, r"holds the parts other, this run needs model, average, optimiser"),
        (without_optimiser, r"holds the parts average, model, random, this run needs"),
        (without_a_layer, r"key .average.module.head.bias. is missing"),
        (with_another_moment, r"key .optimiser.1.0.exp_avg. has shape \(2, 3\), \(16, 3, 4, 4\) is needed"),
        (with_one_optimiser_more, r"key .optimiser.2.0.exp_avg. is left over: this run has no such parameter"),
        (with_another_generator, r"key .random.order. has shape \(7,\), \(5056,\) is needed"),
    ],
)
def test_foreign_checkpoints_are_refused_and_left_alone(write, message, dataset, tmp_path):
    path = tmp_path / "last.safetensors"
    write(path)
    before = path.read_bytes()
    model = new_model()
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        train(model, dataset, RECIPE, tmp_path, resume=True, progress=False)
    assert path.read_bytes() == before
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())
