"""Weights and states that are not what was written: one flipped bit is seen, in ours and in what is shipped."""

import hashlib
import shutil
import warnings

import pytest
import torch
from conftest import ROOT
from runs import new_run, refused
from safetensors.torch import load_file, save_file

from vit_course import pretrained
from vit_course._support.files import course_files
from vit_course._support.files.weights import METADATA_KEY, load_weights, write_tensors
from vit_course.explorer.live_page.models import describe

ODD = {"count": torch.tensor(7), "none": torch.zeros(0, 3), "flags": torch.tensor([True, False]),
       "half": torch.tensor([[1.5], [-2.0]], dtype=torch.bfloat16)}  # fmt: skip


def flipped(path, at: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize("part", range(12))
def test_a_flipped_bit_is_refused_by_name_or_changes_nothing(part, tmp_path):
    path = new_run(tmp_path) / "best.safetensors"
    whole, (tensors, metadata) = path.read_bytes(), load_weights(path)
    for at in range(part * 97, len(whole), 1201):
        flipped(path, at, bit=part % 8)
        try:
            with warnings.catch_warnings(action="ignore"):
                found, said = load_weights(path)
        except ValueError as error:
            assert str(path) in str(error)
        else:  # the names of the two keys, and what fills the header up
            assert all(torch.equal(found[key], value) for key, value in tensors.items())
            assert said.get("config", metadata["config"]) == metadata["config"]
        path.write_bytes(whole)
    flipped(path, len(whole) - 3)
    refused(
        lambda: pretrained.load(path), f"{path} is damaged: the SHA-256 of its content is", "restore it from a copy"
    )


def test_every_type_and_shape_is_summed_up(tmp_path):
    write_tensors(tmp_path / "a", ODD, {"pair": (1, 2), "rate": 0.1, 3: "three"})
    tensors, metadata = load_weights(tmp_path / "a")
    assert metadata == {"pair": [1, 2], "rate": 0.1, "3": "three"} and tensors.keys() == ODD.keys()
    for name, value in ODD.items():
        other = ~value if value.dtype == torch.bool else value + 1
        changed = {**tensors, name: other if value.numel() else torch.zeros(3, 0)}
        with warnings.catch_warnings(action="ignore"):
            save_file(changed, tmp_path / "b", _header(tmp_path / "a"))
        refused(lambda: load_weights(tmp_path / "b"), "is damaged: the SHA-256")


def _header(path) -> dict:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return file.metadata()


def test_files_without_a_checksum(tmp_path):
    path = new_run(tmp_path) / "best.safetensors"
    state, text = load_file(path), _header(path)[METADATA_KEY]
    save_file(state, path, {METADATA_KEY: text[: text.index(', "sha256"')] + "}"})
    with pytest.warns(UserWarning, match=r"best\.safetensors was written by a version without checksums"):
        assert torch.equal(pretrained.load(path).head.weight, state["head.weight"])
    save_file(state, path)  # somebody else's
    assert load_weights(path)[0].keys() == state.keys()


# ---- what is shipped


def test_the_table_has_all_weights_that_are_shipped():
    """Made anew, in res/, by: sha256sum */*.safetensors */*.onnx > weights.sha256"""
    files = [path for kind in ("safetensors", "onnx") for path in sorted((ROOT / "res").glob(f"*/*.{kind}"))]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT / 'res')}" for path in files]
    shipped = [line for line in lines if "last.safetensors" not in line]
    assert sorted((ROOT / "res" / course_files.SUMS).read_text().splitlines()) == sorted(shipped)


@pytest.mark.parametrize("file", sorted((ROOT / "res").glob("*/best.safetensors")), ids=lambda file: file.parent.name)
def test_a_copy_of_a_shipped_run_is_checked_as_well(file, tmp_path):
    run = shutil.copytree(file.parent, tmp_path / "copy")
    flipped(run / file.name, file.stat().st_size - 7)
    refused(lambda: pretrained.load_run(run), f"{run / file.name} is damaged: the SHA-256 of its content is")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A course of its own, with copies of some of the shipped files."""
    res = tmp_path / "res"
    (res / "diagrams").mkdir(parents=True)
    shutil.copy(ROOT / "res" / course_files.SUMS, res)
    for name in ("shapes", "tiny-cifar", "vit-s14-cifar10", "live"):
        shutil.copytree(ROOT / "res" / name, res / name, ignore=shutil.ignore_patterns("runtime", "vit-s14-*.onnx"))
    shutil.copytree(ROOT / "res" / "vit-s14", res / "vit-s14")
    monkeypatch.setattr(course_files, "ROOTS", (tmp_path,))
    return res


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file", "words", "advice"),
    [
        ("shapes", "shapes/best.safetensors", "is damaged: the SHA-256 of its content", "restore it"),
        ("vit-s14-cifar10", "vit-s14-cifar10/head.safetensors", "is damaged: the SHA-256 of its content", "restore it"),
        ("vit-s14", "vit-s14/model.safetensors", "is damaged, or not the file that comes with", "install the"),
    ],
)
def test_a_shipped_file_is_whole_or_refused_by_name(name, file, words, advice, installed):
    assert pretrained.load_run(name).model.config.hidden_dim
    path = installed / file
    flipped(path, path.stat().st_size - 7)
    refused(lambda: pretrained.load_run(name), f"{path} {words}", advice)


def test_the_live_page_takes_no_damaged_file(installed):
    copied = []
    for name in ("tiny-cifar/best.safetensors", "live/tiny-cifar-block.onnx"):
        path = installed / name
        flipped(path, path.stat().st_size - 7)
        call = lambda: describe("tiny-cifar", installed / "live", lambda *file: copied.append(file) or {})  # noqa: E731
        refused(call, str(path), "is damaged")
        flipped(path, path.stat().st_size - 7)
    assert copied == []
