"""Damaged checkpoints, headers, config files and state dicts: a model that works, or a sentence of ours."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from runs import SIZES, new_run
from strategies import (
    ANYTHING,
    REFUSED,
    UNKNOWN_CHECKSUM,
    damaged_json,
    damaged_safetensors,
    fuzz,
    mostly,
    outcome,
    pictures,
    tensors,
)

from vit_course import pretrained
from vit_course._support.files.weights import load_weights
from vit_course.config import ViTConfig
from vit_course.vit import ViT

pytestmark = pytest.mark.slow
PNG = pictures()["PNG RGB"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The content of the files of a small run."""
    folder = new_run(tmp_path_factory.mktemp("run"))
    return (folder / "best.safetensors").read_bytes(), json.loads((folder / "config.json").read_text())


def works(model):
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    weight = model.patch_embedding.projection.weight
    images = torch.randn(2, model.config.in_channels, *model.config.image_size).to(weight)
    assert outcome(model.features, images).shape == (2, model.config.num_tokens, model.config.hidden_dim)
    logits = outcome(model, images)
    assert (logits is REFUSED) == (model.config.num_classes == 0)
    assert logits is REFUSED or logits.shape == (2, model.config.num_classes)


def look_at(found):
    if found is not REFUSED:
        works(found.model)
        best = outcome(found.top, PNG, 3)
        assert best is REFUSED or len(best) == min(3, found.model.config.num_classes)


@UNKNOWN_CHECKSUM
@fuzz(300)
@given(st.data())
def test_a_damaged_checkpoint_loads_or_is_refused(run, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "best.safetensors"
    path.write_bytes(data.draw(damaged_safetensors(run[0])))
    outcome(load_weights, path)
    model = outcome(pretrained.load, path)
    if model is not REFUSED:
        works(model)


@fuzz(80)
@given(st.data())
def test_a_run_with_a_damaged_config_loads_or_is_refused(run, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("run")
    (folder / "best.safetensors").write_bytes(run[0])
    (folder / "config.json").write_bytes(data.draw(damaged_json(run[1])))
    look_at(outcome(pretrained.load_run, folder))


def made(**changes) -> ViT:
    sizes = {**SIZES, "image_size": 8, "hidden_dim": 64, "num_heads": 1, "num_layers": 1, **changes}
    return ViT(ViTConfig(**sizes))


APART = {"qkv_bias": False, "patch_norm": True, "norm_epsilon": 1e-5}
LIBRARIES = {
    "torchvision": (pretrained.load_torchvision, pretrained.to_torchvision, {}),
    "timm": (pretrained.load_timm, pretrained.to_timm, {}),
    "huggingface": (pretrained.load_huggingface, pretrained.to_huggingface, {"norm_epsilon": 1e-12}),
    "vit_pytorch": (pretrained.load_vit_pytorch, pretrained.to_vit_pytorch, APART),
}


@st.composite
def changed(draw, state: dict):
    """A state dict with one or two of its entries replaced, taken out or named otherwise, or something else."""
    found = dict(state)
    for _ in range(draw(st.integers(1, 2))):
        key = draw(st.sampled_from(sorted(found, key=repr)))
        how = draw(st.sampled_from(["value", "value", "out", "named", "turned", "half", "all"]))
        if how == "value":
            found[key] = draw(tensors(*state[key].shape) if key in state else ANYTHING)
        elif how == "out":
            del found[key]
        elif how == "named":
            other = draw(st.text(max_size=5) | st.integers() | st.sampled_from([f"module.{key}", f"{key}.0"]))
            found[other] = found.pop(key)
        elif how == "turned" and key in state:
            found[key] = state[key].flatten()[: draw(st.integers(0, 40))]
        elif how == "half" and isinstance(found[key], torch.Tensor):
            found[key] = found[key].to(torch.float16)
        elif how == "all":
            return draw(ANYTHING)
    return found


@pytest.mark.parametrize("library", LIBRARIES)
@fuzz(60)
@given(st.data())
def test_a_changed_state_dict_loads_or_is_refused(library, data):
    load, export, sizes = LIBRARIES[library]
    torch.manual_seed(0)
    ours = made(**sizes)
    state = outcome(export, ours)
    assert state is not REFUSED
    options = {name: data.draw(ANYTHING) for name in ("num_heads", "num_classes") if data.draw(st.integers(0, 5)) == 5}
    model = outcome(load, data.draw(changed(state)), **{"num_heads": 1, **options})
    if model is not REFUSED:
        works(model)


@fuzz(60)
@given(tensors(2, 3, 8, 8), mostly(st.just(made())), mostly(st.sampled_from([1e-9, 0.5])),
       mostly(st.sampled_from([8, (12, 8), [4, 16]])), mostly(st.booleans()))  # fmt: skip
def test_models_are_compared_and_resized_or_refused(images, model, tolerance, size, antialias):
    stages = outcome(pretrained.stages, model, images)
    assert stages is REFUSED or "logits" in stages
    found = outcome(pretrained.first_difference, model, model, images, tolerance)
    assert found is REFUSED or found.first is None
    resized = outcome(pretrained.resize, model, size, antialias)
    if resized is not REFUSED:
        works(resized)
