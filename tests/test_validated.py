"""Checkpoints that are damaged, foreign or a trap: refused in one sentence before a model is built."""

import json
import os
from pathlib import Path

import pytest
import torch
from conftest import ROOT, cases
from safetensors.torch import save_file
from small_run import SIZES, WRONG, header, new_run, refused

from vit_course import pretrained
from vit_course.config import ViTConfig
from vit_course.files import validated
from vit_course.files.weights import METADATA_KEY, load_weights, save_weights, write_tensors
from vit_course.pretrained.building import build
from vit_course.vit import ViT


@pytest.fixture
def run(tmp_path) -> Path:
    """The folder of a small run."""
    return new_run(tmp_path)


def test_the_run_itself_is_taken(run):
    assert len(pretrained.load_run(run).top(ROOT / "res" / "photographs" / "cat.jpg")) == 5


# ---- numbers


@cases("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@cases("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers(number, dtype, run):
    model = ViT(ViTConfig(**SIZES)).to(dtype)
    with torch.no_grad():
        model.encoder.blocks[1].mlp.expand.weight[3, 5] = number
    path = run / "best.safetensors"
    save_weights(path, model)
    for call in (load_weights, pretrained.load, pretrained.load_run):
        refused(lambda call=call: call(path), str(path), "'encoder.blocks.1.mlp.expand.weight'", str(number), "1 of 96")


@cases("dtype", [torch.int64, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.complex64])
def test_weights_of_another_type(dtype, run):
    state = ViT(ViTConfig(**SIZES)).state_dict()
    state["head.weight"] = torch.ones(5, 8).to(dtype)
    path = run / "best.safetensors"
    write_tensors(path, state, {"config": ViTConfig(**SIZES).to_dict()})
    refused(lambda: pretrained.load(path), str(path), f"'head.weight' has dtype {dtype}, one of float32")


def test_a_run_may_hold_counts_but_no_complex_numbers(tmp_path):
    path = tmp_path / "last.safetensors"
    write_tensors(path, {"random.order": torch.zeros(7, dtype=torch.uint8), "step": torch.tensor(3)}, {})
    assert load_weights(path)[0]["step"] == 3
    write_tensors(path, {"a": torch.zeros(2, dtype=torch.complex64)}, {})
    refused(lambda: load_weights(path), str(path), "'a' has dtype torch.complex64", "uint8")


@cases("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floats_are_taken(dtype, run):
    model = ViT(ViTConfig(**SIZES))
    save_weights(run / "best.safetensors", model.to(dtype))
    loaded = pretrained.load(run)
    assert loaded.head.weight.dtype == torch.float32
    assert torch.equal(loaded.head.weight, model.head.weight.float())


# ---- the tensors against the config


def test_tensors_that_do_not_fit(run):
    path, key = run / "best.safetensors", "encoder.blocks.0.norm2.bias"
    tensors, metadata = load_weights(path)
    write_tensors(path, {**tensors, "encoder.encoder.norm.bias": torch.zeros(8)}, metadata)
    refused(lambda: pretrained.load(path), str(path), "'encoder.encoder.norm.bias' is left over")
    write_tensors(path, {name: value for name, value in tensors.items() if name != key}, metadata)
    refused(lambda: pretrained.load(path), str(path), f"'{key}' is missing", "(8,)")
    for wrong in (torch.zeros(7), torch.zeros(0), torch.zeros(()), torch.zeros(8, 1)):
        write_tensors(path, {**tensors, key: wrong}, metadata)
        refused(lambda: pretrained.load(path), str(path), f"'{key}' has shape", "(8,) is needed")


@cases(
    "sizes",
    [
        {"num_layers": 3},
        {"hidden_dim": 10, "mlp_dim": 40},
        {"image_size": (8, 16)},
        {"num_classes": 6},
        {"pool": "mean"},
        {"qkv_bias": False},
        {"position": "none"},
        {"representation_size": 3},
        {"patch_norm": True},
    ],
)
def test_a_header_of_another_model(sizes, run):
    path = header(run, **sizes)
    refused(lambda: pretrained.load(path), str(path))


def test_a_header_of_a_billion_layers_costs_nothing(run, monkeypatch):
    # A config would refuse the number by itself: here none is asked.
    monkeypatch.setattr(ViT, "__init__", lambda *_: pytest.fail("a model was built"))
    config = ViTConfig(**SIZES)
    object.__setattr__(config, "num_layers", 10**9)
    state, _ = load_weights(run / "best.safetensors")
    with pytest.raises(ValueError, match="num_layers is 1000000000 in the config, the weights have 2 blocks"):
        build(config, state)


def test_no_real_memory_is_taken_before_the_sizes_fit(run, monkeypatch):
    path, asked = header(run, num_classes=2**20), []
    monkeypatch.setattr(torch.nn.Linear, "reset_parameters", lambda layer: asked.append(layer.weight.device.type))
    refused(lambda: pretrained.load(path), str(path), "'head.weight' has shape (5, 8), (1048576, 8) is needed")
    assert set(asked) == {"meta"}


# ---- the config


@cases("name", list(ViTConfig(**SIZES).to_dict()))
def test_every_field_of_the_config_is_looked_at(name, run):
    fields = ViTConfig(**SIZES).to_dict()
    for value in WRONG:
        flags = isinstance(value, bool) + isinstance(fields[name], bool)
        absent = value == 0 and name == "num_classes"  # a model without a head
        if flags == 1 or (
            flags == 0 and value != fields[name] and not absent
        ):  # another flag is a fine one, and 0 for 0.0
            refused(lambda value=value: validated.vit_config({**fields, name: value}), name)
    path = header(run, **{name: "x"})
    refused(lambda: pretrained.load(path), f"{path}: {name} must be")
    header(run, **{name: fields[name]})
    content = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**content, "model": {**fields, name: "x"}}))
    refused(lambda: pretrained.load_run(run), f"{run / 'config.json'}: {name} must be")


def test_heads_that_do_not_divide_the_width(run):
    path = header(run, num_heads=3)
    refused(lambda: pretrained.load(path), f"{path}: hidden_dim 8 is not a multiple of num_heads 3")


def test_fields_that_are_unknown_or_missing(run):
    path = header(run, depth=3)
    refused(lambda: pretrained.load(path), str(path), "a field 'depth'", "num_layers")
    tensors, _ = load_weights(path)
    for name in SIZES:
        fields = {key: value for key, value in ViTConfig(**SIZES).to_dict().items() if key != name}
        write_tensors(path, tensors, {"config": fields})
        refused(lambda: pretrained.load(path), str(path), f"no field '{name}'")
    for config in (None, [], "tiny", 3, True):
        write_tensors(path, tensors, {"config": config})
        refused(lambda: pretrained.load(path), str(path), "config", "an object in curly brackets")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"a"', "[" * 100_000, '{"config": }', "\ud800x"])
def test_a_header_that_is_no_object(text, run):
    path = run / "best.safetensors"
    tensors, _ = load_weights(path)
    try:
        save_file(tensors, path, {METADATA_KEY: text})
    except UnicodeEncodeError:
        pytest.skip("safetensors does not write this")
    refused(lambda: load_weights(path), str(path), "header")


def test_a_checkpoint_that_is_not_ours(run):
    path = run / "best.safetensors"
    save_file({"blocks.0.attn.gating_param": torch.ones(3)}, path)
    refused(lambda: pretrained.load(path), str(path), "holds no ViTConfig", "a ConViT")


# ---- names and files


@cases("name", [None, 3, 2.5, [], {}, b"shapes", ViTConfig(**SIZES), "a\0b", "\ud800"])
def test_a_name_that_is_none(name):
    for call in (pretrained.load, pretrained.load_run, pretrained.from_pretrained, load_weights):
        refused(lambda call=call: call(name), "the name or path of a file or folder must be ", "got ")


def test_a_name_that_no_file_can_have():
    for call in (pretrained.load, pretrained.load_run, load_weights):
        with pytest.raises((ValueError, OSError)):
            call("x" * 5000)


def test_folders(run, tmp_path):
    assert pretrained.load(run).config == pretrained.load(str(run / "best.safetensors")).config == ViTConfig(**SIZES)
    (tmp_path / "empty").mkdir()
    for call in (pretrained.load, pretrained.load_run):
        refused(lambda call=call: call(tmp_path / "empty"), "is a folder without best.safetensors")
    refused(lambda: load_weights(tmp_path), "is a folder, an ordinary file is needed")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["best.safetensors", "config.json"])
def test_a_pipe_does_not_hang(name, run):
    (run / name).unlink()
    os.mkfifo(run / name)
    refused(lambda: pretrained.load_run(run), str(run / name), "is a pipe or device, an ordinary file is needed")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_does_not_hang(device, run):
    for name in ("config.json", "best.safetensors"):
        (run / name).unlink()
        (run / name).symlink_to(device)
        refused(lambda: pretrained.load_run(run), "is a pipe or device")
    refused(lambda: pretrained.load(device), f"{device} is a pipe or device")


def test_files_that_are_no_safetensors(run):
    path = run / "best.safetensors"
    whole = path.read_bytes()
    torch.save({"a": torch.zeros(3)}, run / "pickle")
    for content in (b"", b"x", whole[:7], whole[:100], whole[:-1], b"\xff" * 64, (run / "pickle").read_bytes()):
        path.write_bytes(content)
        refused(lambda: pretrained.load(path), str(path), "is no whole checkpoint")


def test_a_json_file_of_a_gigabyte_is_not_read(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(2**30)
    refused(lambda: validated.read_json(path), str(path), "has 1,073,741,824 bytes, at most 67,108,864")
