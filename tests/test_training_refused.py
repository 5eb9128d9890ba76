"""What cannot be trained, evaluated or gone on with, said before anything is done."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from runs import RECIPE, cut_after, files, new_model, refused, rewritten, same, write_pictures
from safetensors.torch import save_file
from torch import nn

from vit_course import data, training
from vit_course._support.files.weights import METADATA_KEY, load_weights, save_weights
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
        (lambda: {"model": new_model(num_layers=3)}, "whose model has num_layers 2, but this run's has 3: resume wi"),
        (lambda: {"model": new_model(num_heads=4)}, "whose model has num_heads 2, but this run's has 4"),
        (lambda: {"model": new_model(dropout=0.2)}, "whose model has dropout 0.1, but this run's has 0.2"),
        (lambda: {"model": new_model(gelu="tanh")}, "whose model has gelu 'none', but this run's has 'tanh'"),
        (
            lambda: {"model": nn.Sequential(nn.Flatten(), nn.Linear(288, 5))},
            "whose model has class None, but this run's has 'Seq",
        ),
        (lambda: {"config": RECIPE}, "whose recipe has epochs 1, but this run's has 3"),
        (lambda: {"dataset": replace(DATASET, train=DATASET.train[:39])}, "training_images 40, but this run's has 39"),
        (lambda: {"dataset": replace(DATASET, class_names=tuple("abcde"))}, r"class_names \['circle', .* \['a', 'b',"),
        (lambda: {"dataset": replace(DATASET, mean=(0.5,) * 3)}, r"data has mean \[0.*\], but this run's has \[0.5, 0"),
        (lambda: {"resume": False}, "finished0 already holds a run: add --resume .in Python"),
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
    with pytest.raises(ValueError, match="is from a run whose model has layers 'Sequential"):
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
    with pytest.raises(ValueError, match=r"has checksum_of_file_names \d+, but this run's has \d"):
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


def refused_and_left(folder, *words):
    """A run that is not gone on with; its files, and the model, stay as they are."""
    before, model = files(folder), new_model()
    refused(lambda: trained(model, run_dir=folder, resume=True), *words)
    assert files(folder) == before and same(model, new_model())


def flipped(place):
    def damage(path):
        content = bytearray(path.read_bytes())
        content[round(place * (len(content) - 1))] ^= 1
        path.write_bytes(content)

    return damage


@pytest.mark.parametrize("name", ["last.safetensors", "best.safetensors"])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        *((flipped(place), "restore it from a copy") for place in (0, 0.002, 0.4, 0.7, 1)),
        (lambda path: path.write_bytes(path.read_bytes()[:-5]), "is not a complete checkpoint"),
        (lambda path: path.write_bytes(b""), "is not a complete checkpoint"),
        (Path.unlink, ""),
    ],
)
def test_any_damage_is_refused_by_name(name, damage, words, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / name)
    refused_and_left(tmp_path, str(tmp_path / name), words)


def test_files_of_something_else_in_their_places(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    last, best = tmp_path / "last.safetensors", tmp_path / "best.safetensors"
    shutil.copy(best, last)
    refused_and_left(tmp_path, f"{last} holds no state of a run to continue: start the training in another folder")
    shutil.copy(finished / last.name, last)
    save_weights(best, new_model(hidden_dim=24))
    refused_and_left(tmp_path, f"{best}: key 'patch_embedding.projection.weight' has shape (24, 3, 4, 4)")


# As 1.0.0 described the run of `RECIPE`, which had neither objectives nor the recipe's later fields.
OF_1_0_0 = {
    "model": {
        **{"image_size": [12, 8], "patch_size": 4, "num_classes": 5, "hidden_dim": 16, "num_layers": 2, "num_heads": 2},
        **{"mlp_dim": 24, "in_channels": 3, "pool": "cls", "position": "learned", "qkv_bias": True, "dropout": 0.1},
        **{"attention_dropout": 0.0, "gelu": "none", "norm_epsilon": 1e-6, "representation_size": 0},
        **{"patch_norm": False, "num_registers": 0},
    },
    "recipe": {
        **{"epochs": 3, "batch_size": 32, "learning_rate": 1e-3, "warmup": 0.05, "weight_decay": 0.05, "beta2": 0.99},
        **{"optimiser": "muon", "label_smoothing": 0.0, "clip_norm": 1.0, "padding": 2, "flip": True, "cutout": 0},
        **{"average": 0.9, "precision": "float32", "seed": 0},
    },
}


def test_a_run_of_1_0_0_goes_on(tmp_path, monkeypatch):
    whole = new_model()
    history = trained(whole, config=RECIPE)
    cut_after(2, monkeypatch, tmp_path, DATASET, RECIPE)
    tensors, metadata = load_weights(tmp_path / "last.safetensors")
    old = {key.replace("objective.model", "model").replace("module.model", "module"): tensors[key] for key in tensors}
    text = json.dumps(metadata | OF_1_0_0)
    save_file(old, tmp_path / "last.safetensors", {METADATA_KEY: text})
    resumed = new_model()
    with pytest.warns(UserWarning, match=r"last\.safetensors was written by a version without checksums"):
        assert trained(resumed, config=RECIPE, run_dir=tmp_path, resume=True) == history
    assert same(resumed, whole)


def test_what_can_be_written_anew_is(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    for name in ("config.json", "log.csv"):
        (tmp_path / name).unlink()
    trained(run_dir=tmp_path, resume=True)
    assert files(tmp_path) == files(finished)
    (tmp_path / "last.safetensors").unlink()  # begun anew, beside what an attempt before has left
    shutil.copy(finished / "config.json", tmp_path)
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
