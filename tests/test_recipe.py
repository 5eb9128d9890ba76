"""The recipe, the schedule, the optimisers, objectives, the other network, and the device of a run: what each does."""

import inspect
import tomllib
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
import torch
from accelerate import Accelerator, PartialState
from accelerate.state import AcceleratorState, GradientState
from runs import new_model
from torch import nn

from vit_course import data, training
from vit_course.__main__ import main
from vit_course.config import ViTConfig
from vit_course.training import ConvNet, TrainingConfig, parameter_groups, processes, train, warmup_cosine
from vit_course.training.contrastive import Contrastive
from vit_course.training.masked import MaskedAutoencoder
from vit_course.training.optimisers import make_optimisers
from vit_course.training.recipe import OBJECTIVES, RECIPES, RULES
from vit_course.training.self_distilled import SelfDistillation
from vit_course.vit import ViT

INTS = {"epochs": 1, "batch_size": 1, "padding": 0, "cutout": 0, "seed": 0}
NUMBERS = ("warmup", "beta2", "label_smoothing", "average", "learning_rate", "weight_decay", "clip_norm")
NO_NUMBERS = ["x", None, True, [1], float("nan"), np.float32(0.5)]


def test_every_field_has_a_rule():
    assert set(RULES) == {field.name for field in fields(TrainingConfig)}


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        *((name, [-1, 1.5, np.int64(3), *NO_NUMBERS], f"(an int of )?at least {INTS[name]}, got ") for name in INTS),
        *((name, [2**32], r"at most \d+, got 4294967296") for name in INTS),
        *((name, NO_NUMBERS, "a number, got ") for name in NUMBERS),
        *((name, [-0.5, float("inf"), 1e9, 10**400], "(at least 0|greater than 0|at most)") for name in NUMBERS),
        *((name, [1], "at least 0 and less than 1, got 1") for name in NUMBERS[:4]),
        ("flip", ["no", 0, None, np.bool_(True)], "True or False, got "),
        ("optimiser", ["", "sgd", None, ["adamw"]], "'adamw' or 'muon', got "),
        ("precision", ["float16", 32], "'float32' or 'bfloat16', got "),
    ],
)
def test_what_is_refused(name, values, sentence):
    for value in values:
        with pytest.raises(ValueError, match=rf"^{name} must be {sentence}"):
            TrainingConfig(**{name: value})
    assert TrainingConfig(seed=2**32 - 1, learning_rate=100).seed == 2**32 - 1


def test_schedule():
    factors = [warmup_cosine(step, 100, 0.1) for step in range(101)]
    assert factors[0] == pytest.approx(0.1) and factors[9] == 1 and factors[10] == 1
    assert all(a < b for a, b in pairwise(factors[:10]))
    assert all(a > b for a, b in pairwise(factors[10:]))
    assert factors[55] == pytest.approx(0.5) and factors[100] == pytest.approx(0)
    assert warmup_cosine(0, 1, 0.0) == 1


def test_decay_only_on_matrices():
    model = new_model()
    decay, rest = parameter_groups(model, 0.05)
    names = {id(p): name for name, p in model.named_parameters()}
    assert decay["weight_decay"] == 0.05 and rest["weight_decay"] == 0
    assert len(decay["params"]) + len(rest["params"]) == len(names)
    assert all(names[id(p)].endswith(".weight") and "norm" not in names[id(p)] for p in decay["params"])
    undecayed = {names[id(p)] for p in rest["params"]}
    assert {"class_token.token", "positions.table", "encoder.norm.weight", "head.bias"} <= undecayed


def test_muon_takes_the_hidden_matrices():
    model = new_model()
    muon, adamw = make_optimisers(model, TrainingConfig(optimiser="muon", weight_decay=0.2))
    names = {id(p): name for name, p in model.named_parameters()}
    by_muon = {names[id(p)] for group in muon.param_groups for p in group["params"]}
    layers = ("attention.qkv", "attention.projection", "mlp.expand", "mlp.contract")
    hidden = {f"encoder.blocks.{i}.{layer}.weight" for i in range(2) for layer in layers}
    assert by_muon - {"patch_embedding.projection.weight"} == hidden
    assert muon.param_groups[0]["weight_decay"] == 0.2
    by_adamw = [names[id(p)] for group in adamw.param_groups for p in group["params"]]
    assert sorted(by_adamw) == sorted(set(names.values()) - by_muon)
    assert "head.weight" in {names[id(p)] for p in adamw.param_groups[0]["params"]}
    (alone,) = make_optimisers(model, TrainingConfig())
    assert isinstance(alone, torch.optim.AdamW)


MILLIONS = {"shapes": 0.142, "digits": 0.059, "tiny-cifar": 0.119, "small-cifar": 5.363}
WITHOUT_LABELS = {"mae-cifar": 0.676, "dino-cifar": 0.676, "clip-scenes": 0.458}

SIZES = {"shapes": (32, 3, 5), "digits": (8, 1, 10), "scenes": (48, 3, 30)}


@pytest.mark.parametrize(("recipe", "millions"), [*MILLIONS.items(), *WITHOUT_LABELS.items()])
def test_every_recipe_makes_a_model_and_a_training(recipe, millions):
    parts = tomllib.loads((RECIPES / f"{recipe}.toml").read_text(encoding="utf-8"))
    wanted = {"data", "model", "training"} | ({"objective"} if recipe in WITHOUT_LABELS else set())
    assert set(parts) == wanted and parts["data"]["source"] in ("shapes", "digits", "scenes", "cifar10")
    side, channels, classes = SIZES.get(parts["data"]["source"], (32, 3, 10))
    classes = 0 if recipe in WITHOUT_LABELS else classes
    model = ViT(ViTConfig(image_size=side, in_channels=channels, num_classes=classes, **parts["model"]))
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 3) == millions
    config = TrainingConfig(**parts["training"])
    assert {name: getattr(config, name) for name in parts["training"]} == parts["training"]
    make_optimisers(model, config)
    assert {path.stem for path in RECIPES.glob("*.toml")} == {*MILLIONS, *WITHOUT_LABELS}


# ---- the objectives without labels


def hiding(mask_ratio: float) -> MaskedAutoencoder:
    return MaskedAutoencoder(new_model(), mask_ratio)  # of 6 patches


@pytest.mark.parametrize("cls", [MaskedAutoencoder, SelfDistillation, Contrastive], ids=lambda cls: cls.name)
def test_the_recipe_s_defaults_are_those_of_the_class(cls):
    first, *options = inspect.signature(cls).parameters.values()
    assert first.name == "vit" and OBJECTIVES[cls.name] == {one.name: one.default for one in options}
    assert OBJECTIVES[cls.name] == cls(new_model(pool="mean", image_size=16)).options
    assert set(OBJECTIVES) == {"supervised", "masked", "self-distilled", "contrastive"}
    assert OBJECTIVES["supervised"] == {}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: hiding(0.0),
            ValueError,
            r"mask_ratio 0\.0 leaves 6 of 6 patches visible: at least one must be hidden",
        ),
        (lambda: hiding(0.08), ValueError, r"mask_ratio 0\.08 leaves 6 of 6 patches visible"),
        (lambda: hiding(0.92), ValueError, r"mask_ratio 0\.92 leaves 0 of 6 patches visible"),
        (lambda: hiding(1.0), ValueError, "mask_ratio must be at least 0 and less than 1"),
        (lambda: MaskedAutoencoder(new_model(), 0.5, 68), ValueError, "decoder_dim must be a multiple of 32, got 68"),
        (
            lambda: MaskedAutoencoder(new_model(), decoder_layers=0),
            ValueError,
            "decoder_layers must be at least 1, got 0",
        ),
        (
            lambda: MaskedAutoencoder(new_model(), normalise_patches=1),
            ValueError,
            "normalise_patches must be True or F",
        ),
        (lambda: MaskedAutoencoder(nn.Linear(3, 3)), TypeError, "vit must be a ViT, got Linear"),
        (lambda: SelfDistillation(nn.Linear(3, 3)), TypeError, "vit must be a ViT, got Linear"),
        (lambda: SelfDistillation(new_model(), temperature=0), ValueError, "temperature must be greater than 0, got 0"),
        (lambda: SelfDistillation(new_model(), teacher_temperature=0.0), ValueError, "^teacher_temperature must be gr"),
        (lambda: SelfDistillation(new_model(), momentum=1), ValueError, "momentum must be at least 0 and less than 1"),
        (lambda: SelfDistillation(new_model(), outputs=1), ValueError, "outputs must be at least 2, got 1"),
        (
            lambda: SelfDistillation(new_model())(torch.randn(1, 3, 12, 12), None, torch.rand(1, 48), 1),
            ValueError,
            r"the model takes images of size \(12, 8\), got \(12, 12\)",
        ),
    ],
)
def test_what_no_objective_can_be(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- the convolutional network to compare with


def test_shapes_of_oblong_images_and_an_odd_number_of_classes():
    model = ConvNet(widths=(3, 5, 6), in_channels=2, num_classes=7).eval()
    images = torch.randn(4, 2, 8, 12)
    assert model(images).shape == (4, 7)
    places = []
    model.stages.register_forward_hook(lambda module, inputs, out: places.append(tuple(out.shape)))
    model(images)
    assert places == [(4, 6, 2, 3)]  # two poolings: a quarter of each side


def test_every_image_by_itself_once_it_is_trained():
    model = ConvNet(widths=(3, 5, 6), num_classes=7)
    images = torch.randn(4, 3, 8, 12)
    model(images)  # batch norm has seen something
    model.eval()
    torch.testing.assert_close(model(images)[:1], model(images[:1]))
    model.train()
    assert not torch.allclose(model(images)[:1], model(images[:2])[:1])


def test_as_many_parameters_as_the_small_vit():
    small = ViTConfig.preset("tiny-cifar").num_parameters
    assert sum(p.numel() for p in ConvNet().parameters()) == pytest.approx(small, rel=0.01)


def trained() -> ViT:
    model = new_model()
    train(model, data.shapes(60, 20, 20, image_size=(12, 8)), TrainingConfig(epochs=1, batch_size=32), progress=False)
    return model


@pytest.fixture
def foreign_state():
    """What a notebook leaves that made an Accelerator of its own: another precision, and another device."""
    Accelerator(cpu=True, mixed_precision="bf16")
    PartialState._shared_state["device"] = torch.device("meta")
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


def test_the_state_of_accelerate_changes_nothing(request):
    before = trained()
    assert AcceleratorState._shared_state == {} and PartialState._shared_state == {}, "it leaves no state itself"
    request.getfixturevalue("foreign_state")
    after = trained()
    assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
    assert processes.engine_for(torch.device("cpu")).device == torch.device("cpu")
    assert 0 < training.linear_baseline(data.shapes(60, 20, 20, image_size=(12, 8)), epochs=1) < 1


def test_one_process_stays_on_the_device_that_was_named():
    engine = processes.engine_for(torch.device("cuda", 1))
    assert engine.device == torch.device("cuda", 1) and (engine.num_processes, engine.process_index) == (1, 0)


def test_the_baseline_is_trained_on_the_device_of_the_run(tmp_path, monkeypatch):
    asked = []
    stand_in = "vit_course.commands.training_run.linear_baseline"
    monkeypatch.setattr(stand_in, lambda dataset, **options: asked.append(options) or 0.2)
    flags = ["--data", "shapes", "--num-train", "40", "--image-size", "8", "--epochs", "1", "--hidden-dim", "8"]
    assert main(["train", *flags, "--num-heads", "2", "--device", "cpu:0", "--out", str(tmp_path / "run")]) == 0
    assert asked == [{"device": torch.device("cpu", 0)}]


@pytest.mark.parametrize("device", [torch.device("cuda", 1), torch.device("mps"), torch.device("cpu")])
def test_dropout_is_that_of_the_model_s_device(device, monkeypatch):
    state, put = torch.arange(16, dtype=torch.uint8), []
    module = {"cuda": torch.cuda, "mps": torch.mps, "cpu": torch}[device.type]
    named = (device,) if device.type == "cuda" else ()
    for other in (torch, torch.cuda, torch.mps):
        monkeypatch.setattr(other, "get_rng_state", lambda *a: torch.zeros(3, dtype=torch.uint8))
        monkeypatch.setattr(other, "set_rng_state", lambda *a: pytest.fail("of another device"))
    monkeypatch.setattr(module, "get_rng_state", lambda *a: state if a == named else None)
    monkeypatch.setattr(module, "set_rng_state", lambda value, *a: put.append((value.tolist(), a)))
    engine = processes.Alone(torch.device("cpu"))
    states = processes.dropout_states(engine, device)
    assert states.tolist() == [state.tolist()]
    processes.restore_dropout(states, engine, device)
    assert put == [(state.tolist(), named)]
    processes.restore_dropout(torch.zeros(1, 5056, dtype=torch.uint8), engine, device)
    assert len(put) == 1, "of another kind of device"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ConvNet((0, 5, 6)), ValueError, "the width of stage 0 must be at least 1, got 0"),
        (lambda: ConvNet((3, 5.0, 6)), ValueError, r"the width of stage 1 must be an int of at least 1, got 5\.0"),
        (lambda: ConvNet((3, 5)), ValueError, r"widths must be three ints of at least 1, got \(3, 5\)"),
        (lambda: ConvNet(24), ValueError, "widths must be three ints of at least 1, got 24"),
        (lambda: ConvNet(in_channels=0), ValueError, "in_channels must be at least 1, got 0"),
        (lambda: ConvNet(num_classes=0), ValueError, "num_classes must be at least 1, got 0"),
        (lambda: ConvNet()("a.jpg"), TypeError, r"images must be a torch\.Tensor, got str"),
        (lambda: ConvNet()(torch.zeros(3, 8, 12)), ValueError, r"images must have 4 axes .*got shape \(3, 8, 12\)"),
        (lambda: ConvNet()(torch.zeros(2, 1, 8, 12)), ValueError, "images have 1 channels, but the model takes 3"),
        (lambda: ConvNet()(torch.zeros(2, 3, 3, 12)), ValueError, r"at least 4 x 4 pixels, got shape \(2, 3, 3, 12\)"),
        (lambda: ConvNet()(torch.zeros(0, 3, 8, 12)), ValueError, r"at least 1 and .* got shape \(0, 3, 8, 12\)"),
        (
            lambda: ConvNet()(torch.zeros(2, 3, 8, 12).byte()),
            ValueError,
            "images are uint8, but the weights are float32: normalise them first",
        ),
        (lambda: ConvNet()(torch.zeros(2, 3, 8, 12).double()), ValueError, "images are float64, but the weights"),
    ],
)
def test_what_the_other_network_cannot_be_or_take(call, error, message):
    with pytest.raises(error, match=message):
        call()
