"""What cannot be trained, evaluated or gone on with, said before anything is done."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from runs import CONFIG, RECIPE, cut_after, files, new_model, rewritten, same, write_pictures
from torch import nn

from vit_course import data, training
from vit_course.training import TrainingConfig, evaluate, linear_baseline, loop, train

DATASET = data.shapes(40, 12, 9, image_size=(12, 8))
ONCE = replace(RECIPE, epochs=1)


def trained(model=None, dataset=DATASET, config=ONCE, run_dir=None, **options):
    return train(new_model() if model is None else model, dataset, config, run_dir, **{"progress": False, **options})


def evaluated(**changes):
    return evaluate(**{"model": new_model(), "images": DATASET.test, "dataset": DATASET, **changes})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trained(progress="no"), "progress must be True or False, got 'no'"),
        (lambda: trained(resume=1), "resume must be True or False, got 1"),
        (lambda: trained(resume=True), "resume=True needs the run_dir of the run to continue, got None"),
        (lambda: trained(compiled=None), "compiled must be True or False, got None"),
        (lambda: trained(run_dir="a\0b"), "run_dir must be one that a file can have, got 'a.*x00b'"),
        (lambda: trained(run_dir=3), "run_dir must be a str or a Path, got 3"),
        (lambda: trained(accumulate=10**5000), "accumulate must be at most 1000000, got an int too long to show"),
        (lambda: trained(accumulate=0), "accumulate must be at least 1, got 0"),
        (lambda: trained(workers=-1), "workers must be at least 0, got -1"),
        (lambda: trained(model={}), r"model must be a torch.nn.Module, got dict"),
        (lambda: trained(dataset=DATASET.train), "dataset must be a Dataset, got ImageSet"),
        (lambda: trained(config={}), "config must be a TrainingConfig, got dict"),
        (lambda: trained(config=TrainingConfig(padding=8)), "padding 8 does not fit an image of 12 x 8"),
        (lambda: trained(nn.Sequential(nn.Flatten(), nn.Linear(288, 4))), r"gives shape \(32, 4\) for 32 images,"),
        (lambda: evaluated(model=None), r"model must be a torch.nn.Module, got NoneType"),
        (lambda: evaluated(images=DATASET), "images must be an ImageSet or ImageFiles, got Dataset"),
        (lambda: evaluated(dataset=DATASET.test), "dataset must be a Dataset, got ImageSet"),
        (lambda: evaluated(batch_size=2.0), r"batch_size must be an int of at least 1, got 2\.0"),
        (lambda: evaluated(images=DATASET.test[:0]), "images must hold at least 1 image to evaluate"),
        (lambda: linear_baseline(DATASET, recipe={}), "recipe must be a TrainingConfig, got dict"),
        (lambda: linear_baseline(DATASET.train), "dataset must be a Dataset, got ImageSet"),
        (lambda: linear_baseline(DATASET, device="nothing"), "^device 'nothing' is not available here: ."),
        (lambda: linear_baseline(DATASET, device="meta"), "^device 'meta' holds no numbers"),
    ],
)
def test_arguments_that_are_none(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_a_momentum_of_the_whole_number_zero():
    (row,) = trained(config=TrainingConfig(epochs=1, batch_size=4, beta2=0))
    assert row["validation_accuracy"] <= 1


@pytest.mark.parametrize("cls", [training.MaskedAutoencoder, training.SelfDistillation], ids=lambda cls: cls.name)
@pytest.mark.parametrize(
    ("changes", "name"), [({}, "head.weight"), ({"num_classes": 0, "representation_size": 8}, "pre_logits.0.weight")]
)
def test_several_processes_refuse_a_head_that_gets_no_gradient(cls, changes, name, monkeypatch):
    objective = cls(new_model(**changes))
    loss, _ = objective(torch.randn(2, 3, 12, 8), None, objective.draws(2, torch.Generator()), 2)
    loss.backward()
    without = [name for name, parameter in objective.model.named_parameters() if parameter.grad is None]
    assert without and all(name.startswith(objective.unused) for name in without)
    monkeypatch.setattr(loop, "engine_for", lambda device: SimpleNamespace(num_processes=2))
    with pytest.raises(ValueError, match=f"objective {cls.name} uses no head.* num_classes=0 .*, got one with {name}"):
        trained(objective)


# ---- another run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one epoch with Muon, AdamW and an average; no test changes its files."""
    folder = tmp_path_factory.mktemp("finished")
    trained(run_dir=folder)
    return folder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: {"model": new_model(num_layers=3)}, "of a model with num_layers 2, this run's model has num_layers 3"),
        (lambda: {"model": new_model(num_heads=4)}, "of a model with num_heads 2, this run's model has num_heads 4"),
        (lambda: {"model": new_model(dropout=0.2)}, "of a model with dropout 0.1, this run's model has dropout 0.2"),
        (lambda: {"model": new_model(gelu="tanh")}, "of a model with gelu 'none', this run's model has gelu 'tanh'"),
        (lambda: {"model": nn.Sequential(nn.Flatten(), nn.Linear(288, 5))}, "has class 'Sequential'"),
        (lambda: {"config": RECIPE}, "was trained with epochs 1, this run has epochs 3"),
        (lambda: {"dataset": replace(DATASET, train=DATASET.train[:39])}, "training_images 40, this run's data are"),
        (lambda: {"dataset": replace(DATASET, class_names=tuple("abcde"))}, r"class_names \['circle', .* \['a', 'b',"),
        (lambda: {"dataset": replace(DATASET, mean=(0.5,) * 3)}, r"mean \[0.*\], this run's data are of mean \[0.5, 0"),
        (lambda: {"resume": False}, "finished0 holds a run already: add --resume .in Python"),
    ],
)
def test_a_run_of_something_else_is_refused_by_name_and_left_alone(make, message, finished):
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    changes = make()
    model = changes.pop("model", new_model())
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        trained(model, run_dir=finished, **{"resume": True, **changes})
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())


def test_a_model_of_one_s_own_is_compared_by_its_layers(tmp_path):
    def own(rate):
        return nn.Sequential(nn.Flatten(), nn.Dropout(rate), nn.Linear(288, 5))

    trained(own(0.1), run_dir=tmp_path)
    trained(own(0.1), run_dir=tmp_path, resume=True)
    with pytest.raises(ValueError, match="is of a model with layers 'Sequential"):
        trained(own(0.2), run_dir=tmp_path, resume=True)


def test_a_resume_on_other_files_is_refused(tmp_path):
    pictures = write_pictures(tmp_path / "pictures")
    recipe = TrainingConfig(epochs=1, batch_size=8)

    def go_on(resume=True):
        dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)
        trained(new_model(num_classes=2), dataset, recipe, tmp_path / "run", resume=resume)
        return dataset.mean

    mean = go_on(resume=False)
    (pictures / "class0" / "04.png").write_bytes(b"")
    assert go_on() != mean
    (pictures / "class0" / "04.png").rename(pictures / "class0" / "05.png")
    with pytest.raises(ValueError, match=r"of checksum_of_file_names \d+, this run's data are of checksum_of_file"):
        go_on()


def test_a_run_goes_on_on_another_kind_of_device(tmp_path, monkeypatch):
    whole = new_model(dropout=0.0)
    history = trained(whole, config=RECIPE)
    cut_after(2, monkeypatch, tmp_path, DATASET, RECIPE, dropout=0.0)
    # The state of a GPU's generator has 16 bytes.
    gpu = {"random.dropout": torch.zeros(1, 16, dtype=torch.uint8)}
    rewritten(tmp_path / "last.safetensors", lambda tensors, metadata: ({**tensors, **gpu}, metadata))
    resumed = new_model(dropout=0.0)
    assert trained(resumed, config=RECIPE, run_dir=tmp_path, resume=True) == history and same(resumed, whole)


# ---- damaged and foreign checkpoints


def without(values: dict, begin: str) -> dict:
    return {key: value for key, value in values.items() if not key.startswith(begin)}


def of_history(change):
    """The same tensors under another history."""
    return lambda tensors, metadata: (tensors, {**metadata, "history": change(metadata["history"])})


def more(**tensors):
    return lambda old, metadata: (old | {key.replace("__", "."): value for key, value in tensors.items()}, metadata)


def typed(key, dtype):
    return lambda tensors, metadata: (tensors | {key: tensors[key].to(dtype)}, metadata)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, m: (t, without(m, "model")), "does not say which model it is of: start a run of an earlier version"),
        (lambda t, m: (t, without(m, "data")), "does not say which data it is of: start a run of an earlier"),
        (of_history(lambda history: None), "does not say which history it is of: start a run of an earlier"),
        (of_history(lambda history: []), "a history of 0 epochs, but from 1 to 1 are needed"),
        (of_history(lambda history: history * 4), "a history of 4 epochs, but from 1 to 1 are needed"),
        (of_history(lambda history: [{**history[0], "epoch": 2}]), "row 1 of the history must hold epoch, learning_ra"),
        (of_history(lambda history: [{**history[0], "validation_accuracy": "high"}]), "row 1 of the history must"),
        (of_history(lambda history: [{**history[0], "train_loss": math.nan}]), "row 1 of the history must hold epoch,"),
        (of_history(lambda history: [None]), "row 1 of the history must hold epoch, .*, got None"),
        (lambda t, m: (t, {"config": CONFIG.to_dict()}), r"holds no state of a run to continue, \d+ tensors of"),
        (lambda t, m: ({"other.weight": torch.zeros(2, 2)}, m), "holds the parts other, but this run needs objective,"),
        (lambda t, m: (without(t, "optimiser"), m), "holds the parts average, objective, random, but this run needs"),
        (lambda t, m: (without(t, "random.dropout"), m), r"holds no table random\.dropout of bytes, with"),
        (lambda t, m: (without(t, "average.module.model.head.bias"), m), r"module\.model\.head\.bias. is missing"),
        (more(optimiser__1__0__exp_avg=torch.zeros(2, 3)), r"exp_avg. has shape \(2, 3\), but \(16, 3, 4, 4\) is"),
        (more(optimiser__2__0__exp_avg=torch.zeros(2, 3)), r"2\.0\.exp_avg. is left over"),
        (more(random__order=torch.zeros(7, dtype=torch.uint8)), r"random\.order. has shape \(7,\), but \(5056,\) is"),
        (lambda t, m: (without(t, "optimiser.1.0.exp_avg"), m), r"optimiser\.1\.0\.exp_avg. is missing: a tensor of"),
        (lambda t, m: (without(t, "optimiser.1.0."), m), r"key .optimiser\.1\.0\.step. is missing: a tensor of"),
        (lambda t, m: (without(t, "optimiser.0.1."), m), r"key .optimiser\.0\.1\.momentum_buffer. is missing"),
        (typed("optimiser.1.0.exp_avg", torch.int64), r"exp_avg. has dtype torch\.int64, but torch\.float32 is needed"),
        (typed("objective.model.head.bias", torch.float16), r"bias. has dtype torch\.float16, but torch\.float32"),
        (typed("random.order", torch.int16), r"random\.order. has dtype torch\.int16, but torch\.uint8 is needed"),
        (typed("random.dropout", torch.int64), "holds no table random.dropout of bytes, with a row for each"),
        (more(random__order=torch.full((5056,), 9, dtype=torch.uint8)), r"random\.order. is not a state of a random"),
        (more(random__dropout=torch.zeros(1, 5056, dtype=torch.uint8)), r"random\.dropout. is not a state of a random"),
        (more(optimiser__1__0__step=torch.tensor(3.0)), r"1\.0\.step. counts 3 steps, by its history the run has"),
        (more(optimiser__1__0__step=torch.tensor(0.0)), r"1\.0\.step. counts 0 steps, by its history the run has"),
        (more(average__n_averaged=torch.tensor(1)), "key .average.n_averaged. counts 1 steps, by its history the run"),
        (more(optimiser__1__0__exp_avg_sq=torch.full((16, 3, 4, 4), -1.0)), "is a mean of squares and holds -1, but"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, message, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    rewritten(tmp_path / "last.safetensors", change)
    refused_and_left(tmp_path, message)


def refused_and_left(folder, message, config=ONCE):
    """A run that is not gone on with; its files, and the model, stay as they are."""
    before, model = files(folder), new_model()
    with pytest.raises(ValueError, match=message):
        trained(model, run_dir=folder, resume=True, config=config)
    assert files(folder) == before and same(model, new_model())


def changed_json(change):
    def damage(path):
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return damage


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("best.safetensors", Path.unlink, "best.safetensors is missing, the best weights of the run so far: put it b"),
        ("best.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-5]), "best.safetensors is not a com"),
        ("best.safetensors", lambda path: rewritten(path, typed("head.bias", torch.float16)), "head\\.bias.*float16"),
        ("best.safetensors", lambda path: rewritten(path, lambda t, m: (without(t, "head"), m)), "'head.* missing"),
        ("best.safetensors", lambda path: rewritten(path, lambda t, m: (t, {"config": {}})), "best.*config differs"),
        ("config.json", lambda path: path.write_text(path.read_text()[:99]), "config.json is not valid JSON: .*; re"),
        ("config.json", changed_json(lambda c: c["images"]["mean"].reverse()), "config.json: images is not what this"),
        ("config.json", changed_json(lambda c: c.pop("training")), "config.json: training is not what this run wrote"),
        ("config.json", changed_json(lambda c: c["model"].update(num_heads=8)), "config.json: model is not what this"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused_by_file(name, damage, message, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / name)
    refused_and_left(tmp_path, message)


def test_a_history_that_is_shorter_than_the_state(tmp_path, monkeypatch):
    cut_after(2, monkeypatch, tmp_path, DATASET, RECIPE)
    rewritten(tmp_path / "last.safetensors", of_history(lambda history: history[:1]))
    refused_and_left(tmp_path, "counts 4 steps, by its history the run has made 2", RECIPE)


def test_what_can_be_written_anew_is(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    for name in ("config.json", "log.csv"):
        (tmp_path / name).unlink()
    trained(run_dir=tmp_path, resume=True)
    assert files(tmp_path) == files(finished)
    (tmp_path / "last.safetensors").unlink()  # begun anew, beside what an attempt before has left
    (tmp_path / "config.json").write_text("{}")
    trained(run_dir=tmp_path)
    assert files(tmp_path) == files(finished)


def test_a_parameter_that_has_no_part_in_the_logits(tmp_path):
    class Partly(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.left_out, self.frozen = nn.Linear(288, 5), nn.Linear(3, 2), nn.Linear(2, 2)
            self.frozen.requires_grad_(False)

        def forward(self, images):
            return self.used(images.flatten(1))

    cut = replace(ONCE, optimiser="adamw")
    trained(Partly(), config=cut, run_dir=tmp_path)
    trained(Partly(), config=cut, run_dir=tmp_path, resume=True)
    rewritten(tmp_path / "last.safetensors", lambda t, m: ({k: v for k, v in t.items() if "unused" not in k}, m))
    with pytest.raises(ValueError, match=r"key .optimiser\.0\.\d\.step. is missing"):
        trained(Partly(), config=cut, run_dir=tmp_path, resume=True)
