"""Drawn configs, images, maps, recipes and arguments: a right result, or a sentence of ours."""

import json
import math
from dataclasses import replace

import pytest
import strategies
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from runs import RECIPE, cut_after, new_model
from strategies import (
    ANYTHING,
    REFUSED,
    UNKNOWN_CHECKSUM,
    damaged,
    damaged_safetensors,
    edited,
    fuzz,
    given_by_name,
    is_tame,
    mostly,
    outcome,
    pictures,
    softmaxed,
    sums_to_one,
    tensors,
)
from torch import nn

from vit_course._support.files.weights import load_weights
from vit_course.commands.recipes import read_recipe
from vit_course.config import ViTConfig
from vit_course.data import shapes
from vit_course.explorer import AttentionExplorer, explore, upload
from vit_course.maps import attention_gradients, record_attention
from vit_course.training import TrainingConfig, evaluate, train
from vit_course.vit import ViT

pytestmark = pytest.mark.slow
SIZE, FLAG, SHARE = st.integers(1, 5), st.booleans(), st.floats(0, 0.9)
WIDTH = st.sampled_from([4, 8, 12, 24])
FIELDS = dict(
    image_size=st.sampled_from([4, 12, (8, 12), [12, 4], 7]),
    patch_size=st.sampled_from([4, 2, 1]),
    num_classes=st.integers(0, 5),
    hidden_dim=WIDTH,
    num_layers=st.integers(1, 3),
    num_heads=st.sampled_from([1, 2, 4, 3]),
    mlp_dim=SIZE,
    in_channels=SIZE,
    pool=st.sampled_from(["cls", "mean"]),
    position=st.sampled_from(["learned", "sincos2d", "none"]),
    qkv_bias=FLAG,
    dropout=SHARE,
    attention_dropout=SHARE,
    gelu=st.sampled_from(["none", "tanh"]),
    norm_epsilon=st.floats(1e-12, 1e-3),
    representation_size=st.integers(0, 5),
    patch_norm=FLAG,
    num_registers=st.integers(0, 4),
)


@fuzz(150)
@given(given_by_name(**FIELDS), st.data())
def test_a_model_gives_finite_logits_or_says_what_is_wrong(fields, data):
    torch.manual_seed(0)
    config = outcome(ViTConfig, **fields)
    model = REFUSED if config is REFUSED else outcome(ViT, config)
    if model is REFUSED:
        return
    assert sum(parameter.numel() for parameter in model.parameters()) == config.num_parameters
    images = data.draw(tensors(2, config.in_channels, *config.image_size))
    logits, tokens = outcome(model, images), outcome(model.features, images)
    assert (logits is REFUSED) == (tokens is REFUSED or config.num_classes == 0)
    if tokens is not REFUSED:
        assert tokens.shape == (len(images), config.num_tokens, config.hidden_dim)
    if logits is not REFUSED:
        assert logits.shape == (len(images), config.num_classes)
        if is_tame(images):
            assert logits.isfinite().all()


MODEL = new_model().eval()  # images (3, 12, 8) in 3 x 2 patches of 4, 7 tokens, 2 layers, 2 heads, 5 classes
CLASSES = tensors(2, dtype=torch.int64, make=lambda x: x.abs().clamp(max=4))


@fuzz(80)
@given(mostly(st.just(MODEL)), tensors(2, 3, 12, 8), CLASSES)
def test_recorded_maps_and_their_gradients_are_right_or_refused(model, images, classes):
    def record():
        with record_attention(model) as maps:
            model(images)
        return maps.stacked()

    if isinstance(model, torch.nn.Module) and model is not MODEL:
        return
    maps, found = outcome(record), outcome(attention_gradients, model, images, classes)
    if maps is not REFUSED:
        assert maps.shape == (len(images), 2, 2, 7, 7)
        assert not is_tame(images) or sums_to_one(maps)
    if found is not REFUSED:
        assert found[0].shape == found[1].shape == (len(images), 2, 2, 7, 7)
        assert not is_tame(images) or (sums_to_one(found[0]) and found[1].isfinite().all())


def test_the_judge_of_the_fuzz_tests_knows_ours_from_others():
    with pytest.raises(ValueError) as ours:
        ViTConfig.preset("nothing")
    with pytest.raises(ValueError) as theirs:
        json.loads("{")
    with pytest.raises(TypeError) as python:
        ViTConfig(nothing=1)
    assert strategies.is_ours(ours.value)
    assert not strategies.is_ours(theirs.value) and not strategies.is_ours(python.value)


DATASET = shapes(num_train=9, num_validation=4, num_test=3, image_size=(12, 8))
SHORT = replace(RECIPE, epochs=2, batch_size=6)
# Anything but what would train for hours, or call a compiler.
TRAINING = dict(
    epochs=st.integers(1, 2), batch_size=SIZE, learning_rate=st.floats(1e-6, 1), warmup=SHARE, weight_decay=SHARE,
    optimiser=st.sampled_from(["adamw", "muon"]), beta2=SHARE, label_smoothing=SHARE, clip_norm=st.floats(0, 9),
    padding=st.integers(0, 3), flip=st.booleans(), cutout=st.integers(0, 3), average=SHARE,
    randaugment=st.integers(0, 30), mixup=st.sampled_from([0, 0.2, 1]),
    precision=st.sampled_from(["float32", "bfloat16"]), seed=st.integers(0, 99),
)  # fmt: skip


def is_whole(history, epochs):
    assert [row["epoch"] for row in history] == [*range(1, epochs + 1)]
    assert all(math.isfinite(value) for row in history for value in row.values())
    assert all(0 <= row[name] <= 1 for row in history for name in ("train_accuracy", "validation_accuracy"))


@fuzz(60)
@given(given_by_name(**TRAINING))
def test_a_drawn_recipe_trains_or_is_refused(fields):
    config = outcome(TrainingConfig, **fields)
    if config is not REFUSED:
        history = outcome(train, new_model(), DATASET, config, progress=False)
        if history is not REFUSED:
            is_whole(history, config.epochs)


ONCE = replace(SHORT, epochs=1)
ARGUMENTS = dict(
    model=st.just("new"),
    dataset=st.just(DATASET),
    config=st.just(ONCE),
    run_dir=st.none() | st.just("run"),
    resume=st.booleans(),
    accumulate=st.integers(1, 7),
    workers=st.just(0),
    progress=st.just(False),
    compiled=st.just(False),
)


@fuzz(80)
@given(given_by_name(**ARGUMENTS))
def test_drawn_arguments_train_or_are_refused(tmp_path_factory, values):
    if values["compiled"] is True:
        return
    if values["model"] == "new":
        values["model"] = new_model()
    run_dir = values["run_dir"]
    if isinstance(run_dir, str) and run_dir.isprintable() and "/" not in run_dir:
        values["run_dir"] = tmp_path_factory.mktemp("run") / (run_dir or "run")
    elif run_dir is not None and not isinstance(run_dir, (int, float, bool, bytes)):
        values["run_dir"] = None if hasattr(run_dir, "parts") or isinstance(run_dir, str) else run_dir
    history = outcome(train, **values)
    if history is not REFUSED:
        is_whole(history, 1)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """The state of a run that was cut off after the first of two epochs."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        cut_after(1, patch, folder, DATASET, SHORT)
    return (folder / "last.safetensors").read_bytes()


@UNKNOWN_CHECKSUM
@fuzz(150)
@given(st.data())
def test_a_damaged_state_is_gone_on_with_or_refused(state, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("resumed")
    (folder / "last.safetensors").write_bytes(data.draw(damaged_safetensors(state)))
    history = outcome(train, new_model(), DATASET, SHORT, folder, resume=True, progress=False)
    assert not (folder / ".lock").exists()
    if history is not REFUSED:
        is_whole(history, 2)
        load_weights(folder / "last.safetensors")


@fuzz(100)
@given(
    mostly(st.just(new_model())), mostly(st.just(DATASET.test)), mostly(st.just(DATASET)), mostly(st.integers(1, 9)),
    mostly(st.just(0)),
)  # fmt: skip
def test_an_evaluation_gives_a_share_or_is_refused(model, images, dataset, batch_size, workers):
    found = outcome(evaluate, model, images, dataset, batch_size, workers=workers)
    if found is not REFUSED:
        assert math.isfinite(found[0]) and 0 <= found[1] <= 1


@fuzz(30)
@given(ANYTHING)
def test_what_a_model_gives_is_taken_or_refused(output):
    class Gives(nn.Linear):
        def forward(self, images):
            return output

    assert outcome(train, Gives(2, 3), DATASET, ONCE, progress=False) is REFUSED
    assert outcome(evaluate, Gives(2, 3), DATASET.test, DATASET) is REFUSED


PICTURES = pictures()
MAPS = tensors(2, 3, 7, 7, make=softmaxed)
IMAGE = tensors(3, 12, 8, make=lambda x: x.sigmoid())
STATE = dict(
    layer=st.integers(0, 1), head=st.integers(0, 2), query=st.integers(0, 6), fixed=st.floats(0.01, 1),
    fusion=st.sampled_from(["head", "mean", "rollout"]), direction=st.sampled_from(["from", "to"]),
    pinned=st.booleans(), key=st.integers(-1, 6), view=st.sampled_from(["attention", "similarity", "colours"]),
)  # fmt: skip
GRID = mostly(st.sampled_from([None, (3, 2), (2, 3), [3, 2]]))


def look_at(explorer):
    if explorer is not REFUSED:
        attention = explorer.attention()
        assert abs(attention.sum() - 1) < 1e-2 or explorer.direction == "to"
        assert isinstance(explorer.figure(), Figure)
        assert "explorer" not in explorer._repr_mimebundle_()[0]["text/plain"]
        explorer.close()


@fuzz(60)
@given(
    MAPS | st.lists(MAPS, max_size=2), IMAGE | st.lists(IMAGE, max_size=2), GRID,
    mostly(st.sampled_from([None, ["a", "b"]])), given_by_name(**STATE),
)  # fmt: skip
def test_drawn_maps_are_explored_or_refused(maps, image, grid, titles, state):
    look_at(outcome(AttentionExplorer, maps, image, grid, titles, **state))


@pytest.mark.filterwarnings("ignore:the image goes to the model as numbers from 0 to 1")
@fuzz(80)
@given(
    mostly(st.just(MODEL)), IMAGE | st.sampled_from(sorted(PICTURES)).map(PICTURES.get), GRID, given_by_name(**STATE),
    st.none() | ANYTHING | st.just(lambda images: images / 2) | tensors(1, 3, 12, 8).map(lambda x: lambda images: x),
)  # fmt: skip
def test_a_drawn_image_is_explored_or_refused(model, image, grid, state, preprocess):
    if model is MODEL or not isinstance(model, torch.nn.Module):
        look_at(outcome(explore, model, image, preprocess, grid, **state))
        button = outcome(upload, model, preprocess, grid)
        assert button is REFUSED or button.explorer is None


# --- recipes
TOML = {
    "data": {"source": "shapes", "num_train": 6, "num_validation": 3, "num_test": 3, "image_size": 8},
    "model": {"patch_size": 4, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "mlp_dim": 9},
    "training": {"epochs": 1, "batch_size": 4, "precision": "float32"},
}


def toml(parts) -> bytes:
    """Nearly what TOML writes as JSON does."""
    lines = []
    for part, values in parts.items() if isinstance(parts, dict) else ():
        if not isinstance(values, dict):
            lines.insert(0, f"{json.dumps(part)} = {json.dumps(values)}")
            continue
        lines += [f"[{part}]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@fuzz(300)
@given(
    damaged(toml(TOML)) | edited(TOML).map(toml),
    st.dictionaries(st.sampled_from(["epochs", "hidden_dim", "num_heads", "data", "image_size", "pool"]), ANYTHING),
)
def test_a_drawn_recipe_is_read_or_refused(tmp_path_factory, content, flags):
    path = tmp_path_factory.mktemp("recipe") / "drawn.toml"
    path.write_bytes(content)
    recipe = outcome(read_recipe, {"recipe": str(path), **flags})
    assert recipe is REFUSED or (recipe.name == "drawn" and recipe.training.epochs >= 1)
