"""Checkpoints that are damaged, foreign or a trap: refused in one sentence before a model is built."""

import json
import os
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from runs import SIZES, WRONG, header, new_run, refused
from safetensors.torch import save_file

from vit_course import pretrained
from vit_course._support.files import json_files
from vit_course._support.files.weights import METADATA_KEY, load_weights, save_weights, write_tensors
from vit_course.config import ViTConfig
from vit_course.pretrained import factory
from vit_course.pretrained.factory import build
from vit_course.vit import ViT


@pytest.fixture
def run(tmp_path) -> Path:
    """The folder of a small run."""
    return new_run(tmp_path)


def test_the_run_itself_is_taken(run):
    assert len(pretrained.load_run(run).top(ROOT / "res" / "photographs" / "cat.jpg")) == 5


# ---- numbers


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers(number, dtype, run):
    model, path = ViT(ViTConfig(**SIZES)).to(dtype), run / "best.safetensors"
    save_weights(path, model)
    assert torch.equal(pretrained.load(run).head.weight, model.head.weight.float())  # other floats are taken
    with torch.no_grad():
        model.encoder.blocks[1].mlp.expand.weight[3, 5] = number
    save_weights(path, model)
    for call in (load_weights, pretrained.load, pretrained.load_run):
        refused(lambda call=call: call(path), str(path), "'encoder.blocks.1.mlp.expand.weight'", str(number), "1 of 96")


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.complex64])
def test_weights_of_another_type(dtype, run):
    state = {**ViT(ViTConfig(**SIZES)).state_dict(), "head.weight": torch.ones(5, 8).to(dtype)}
    path = run / "best.safetensors"
    write_tensors(path, state, {"config": ViTConfig(**SIZES).to_dict()})
    refused(lambda: pretrained.load(path), str(path), f"'head.weight' has dtype {dtype}, but one of float32")
    if dtype in (torch.int64, torch.uint8, torch.bool):  # counts and states of a run
        assert load_weights(path)[0]["head.weight"].dtype == dtype
    else:
        refused(lambda: load_weights(path), str(path), f"'head.weight' has dtype {dtype}", "uint8")


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


def test_a_header_of_a_billion_layers_costs_nothing(run, monkeypatch):
    # A config would refuse the number by itself: here none is asked.
    monkeypatch.setattr(ViT, "__init__", lambda *_: pytest.fail("a model was built"))
    config = ViTConfig(**SIZES)
    object.__setattr__(config, "num_layers", 10**9)
    state, _ = load_weights(run / "best.safetensors")
    with pytest.raises(ValueError, match="num_layers is 1000000000 in the config, but the weights have 2 blocks"):
        build(config, state)


def test_no_real_memory_is_taken_before_the_sizes_fit(run, monkeypatch):
    path, asked = header(run, num_classes=2**20), []
    monkeypatch.setattr(torch.nn.Linear, "reset_parameters", lambda layer: asked.append(layer.weight.device.type))
    refused(lambda: pretrained.load(path), str(path), "'head.weight' has shape (5, 8), but (1048576, 8) is needed")
    assert set(asked) == {"meta"}


# ---- the config


@pytest.mark.parametrize("name", list(ViTConfig(**SIZES).to_dict()))
def test_every_field_of_the_config_is_looked_at(name, run):
    fields = ViTConfig(**SIZES).to_dict()
    for value in WRONG:
        flags = isinstance(value, bool) + isinstance(fields[name], bool)
        absent = value == 0 and name == "num_classes"  # a model without a head
        # Another flag is a fine one, and 0 for 0.0.
        if flags == 1 or (flags == 0 and value != fields[name] and not absent):
            refused(lambda value=value: factory.vit_config({**fields, name: value}), name)
    path = header(run, **{name: "x"})
    refused(lambda: pretrained.load(path), f"{path}: {name} must be")
    header(run, **{name: fields[name]})
    content = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**content, "model": {**fields, name: "x"}}))
    refused(lambda: pretrained.load_run(run), f"{run / 'config.json'}: {name} must be")


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


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"a"', "[" * 100_000, '{"config": }'])
def test_a_header_that_is_no_object(text, tmp_path):
    path = new_run(tmp_path) / "best.safetensors"
    save_file(load_weights(path)[0], path, {METADATA_KEY: text})
    refused(lambda: load_weights(path), str(path), "header")


def test_a_checkpoint_that_is_not_ours(run):
    path = run / "best.safetensors"
    save_file({"patch_embed.proj.weight": torch.ones(3), "blocks.0.norm1.weight": torch.ones(3)}, path)
    refused(lambda: pretrained.load(path), str(path), "holds no ViTConfig", "its names are those of timm")


# ---- names and files


@pytest.mark.parametrize("name", [None, 3, 2.5, [], {}, b"shapes", ViTConfig(**SIZES), "a\0b", "\ud800"])
def test_a_name_that_is_none(name):
    for call in (pretrained.load, pretrained.load_run, load_weights):
        refused(lambda call=call: call(name), "the name or path of a file or folder must be ", "got ")


def test_folders(run, tmp_path):
    assert pretrained.load(run).config == pretrained.load(str(run / "best.safetensors")).config == ViTConfig(**SIZES)
    (tmp_path / "empty").mkdir()
    for call in (pretrained.load, pretrained.load_run):
        refused(lambda call=call: call(tmp_path / "empty"), "is a folder without best.safetensors")
        with pytest.raises((ValueError, OSError)):
            call("x" * 5000)
    refused(lambda: load_weights(tmp_path), "is a folder, but a normal file is needed")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_pipe_or_a_device_does_not_hang(run):
    refused(lambda: pretrained.load("/dev/null"), "/dev/null is a pipe or device")
    os.mkfifo(run / "pipe")
    for name in ("config.json", "best.safetensors"):
        for place in (run / "pipe", Path("/dev/zero")):
            (run / name).unlink()
            (run / name).symlink_to(place)
            refused(lambda: pretrained.load_run(run), "is a pipe or device, but a normal file is needed")


def test_files_that_are_no_safetensors(run):
    path = run / "best.safetensors"
    whole = path.read_bytes()
    torch.save({"a": torch.zeros(3)}, run / "pickle")
    for content in (b"", b"x", whole[:7], whole[:100], whole[:-1], b"\xff" * 64, (run / "pickle").read_bytes()):
        path.write_bytes(content)
        refused(lambda: pretrained.load(path), str(path), "is not a complete checkpoint")


def test_a_json_file_of_a_gigabyte_is_not_read(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(2**30)
    refused(lambda: json_files.read_json(path), str(path), "has 1,073,741,824 bytes, at most 67,108,864")


# ---- what lies beside the weights of a run


def beside(run: Path, **images) -> None:
    """Other values in the part of config.json that speaks of the images."""
    path = run / "config.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "images": {**content["images"], **images}}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"images": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[]", "an object in curly brackets, got list"),
        (b'{"images": null}', "images must be an object"),
        (b'{"images": {}}', "images has no 'mean'"),
        (b'{"images": {}, "model": null}', "the config of the model must be an object"),
        (b"{}", "that says what"),
    ],
)
def test_a_config_file_that_is_none(content, words, run):
    (run / "config.json").write_bytes(content)
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), words)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean", "std", "class_names"])
def test_every_entry_of_the_images_is_looked_at(name, tmp_path):
    run = new_run(tmp_path)
    numbers = [[0.5, value, 0.5] for value in (None, "0.5", True, [], -0.1, 1.5, 1e300, float("nan"), float("inf"))]
    lists = [[], [0.5], [0.5] * 2, [0.5] * 4, *numbers, *WRONG, list("abcd"), list("abcdef"), ["a", "b", 3, "d", "e"]]
    for value in [*lists, [0.5, 0.0, 0.5]] if name == "std" else lists:
        beside(run, **{name: value})
        refused(lambda: pretrained.load_run(run), str(run / "config.json"))
    content = json.loads((run / "config.json").read_text())
    del content["images"][name]
    (run / "config.json").write_text(json.dumps(content))
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), f"images has no '{name}'")


def test_a_config_file_of_another_model(run):
    beside(run, mean=[0.5], std=[0.2])
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), "mean has 1 values", "3 channels")
    with pytest.raises(ValueError, match=r"std of channel 1 must be at least 0\.0001, got 0"):
        pretrained.bundled.AsTrained((8, 12), (0.5,) * 3, (0.5, 0, 0.5))
    content = json.loads((run / "config.json").read_text())
    content["model"]["num_heads"] = 4
    (run / "config.json").write_text(json.dumps(content))
    refused(lambda: pretrained.load_run(run), str(run / "config.json"), "differs from that of best.safetensors")
