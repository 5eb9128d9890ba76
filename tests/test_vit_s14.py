"""vit-s14, the real ViT that comes with the course: is it the network that it says it is?"""

import csv
import hashlib
import json

import pytest
import torch
from conftest import ROOT
from safetensors.torch import load_file
from transformers import Dinov2Model

from vit_course import data, pretrained

pytestmark = pytest.mark.slow

FOLDER = ROOT / "res" / "vit-s14"
HEAD = ROOT / "res" / "vit-s14-cifar10"


@pytest.fixture(scope="module")
def real() -> pretrained.Pretrained:
    """The model without a head, and its preprocessing."""
    return pretrained.load_run("vit-s14")


@pytest.fixture(scope="module")
def references() -> dict[str, torch.Tensor]:
    """What ONNX Runtime gave for the original file, and the pixels that went in."""
    return load_file(FOLDER / "references.safetensors")


@pytest.mark.parametrize("name", ["grace_hopper", "cat", "pagoda"])
def test_tokens_are_those_of_the_original_file(name, real, references):
    images = references[f"{name}.pixels"][None] / 255  # (1, 3, 224, 224)
    mean, std = (torch.tensor(values)[:, None, None] for values in (real.preprocess.mean, real.preprocess.std))
    given = real.preprocess(data.photographs()[name].path)
    assert (given * std + mean - images).abs().max() < 1e-5, "the preprocessing gives these pixels"
    with torch.no_grad():
        tokens = real.model.features((images - mean) / std)[0]  # (257, 384)
    expected = references[f"{name}.tokens"]
    assert tokens.shape == expected.shape == (257, 384)
    difference = ((tokens - expected).abs().max() / expected.abs().max()).item()
    print(f"{name}: largest difference {difference:.1e} of the largest value, {expected.abs().max():.2f}")
    assert difference < 3e-3  # the weights are stored in 16 bits


def test_it_is_what_its_page_says(real):
    config = real.model.config
    assert (config.image_size, config.patch_size, config.grid) == ((224, 224), 14, (16, 16))
    assert (config.num_layers, config.hidden_dim, config.num_heads, config.mlp_dim) == (12, 384, 6, 1536)
    assert real.model.patch_embedding.projection.weight.dtype == torch.float32 and not real.model.training
    # 1,369 positions are stored, 256 used.
    assert 21.5e6 < sum(parameter.numel() for parameter in real.model.parameters()) < 21.7e6
    weights = FOLDER / "model.safetensors"
    assert weights.stat().st_size < 45e6
    assert all(t.dtype == (torch.float16 if t.ndim > 1 else torch.float32) for t in load_file(weights).values())
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert "It is not the DINOv2 that Meta published" in page
    for licence in ("LICENSE-MIT.txt", "LICENSE-APACHE.txt"):
        assert licence in page and (FOLDER / licence).is_file()
    assert hashlib.sha256(weights.read_bytes()).hexdigest() in page
    result, page = json.loads((HEAD / "result.json").read_text()), (HEAD / "README.md").read_text(encoding="utf-8")
    assert f"{100 * result['test_accuracy']:.1f} %" in page and f"{result['num_train']:,}" in page


def test_without_a_head_it_says_so(real):
    photograph = data.photographs()["cat"].path
    with torch.no_grad():
        assert real.model.features(real.preprocess(photograph)).shape == (1, 257, 384)
    with pytest.raises(ValueError, match="no head"):
        real.top(photograph)
    assert real.class_names == []


@pytest.mark.parametrize("side", [98, 154, 224])
def test_positions_of_other_sizes_come_from_the_stored_ones(side):
    model, preprocess, _ = pretrained.load_run("vit-s14", image_size=side)
    theirs = Dinov2Model.from_pretrained(FOLDER, dtype=torch.float32).eval()
    images = preprocess(data.photographs()["cat"].path)
    assert images.shape == (1, 3, side, side)
    with torch.no_grad():
        expected = theirs(images).last_hidden_state  # by transformers, of the same folder
        assert ((model.features(images) - expected).abs().max() / expected.abs().max()).item() < 1e-4
    with pytest.raises(ValueError, match="not a multiple of patch size 14"):
        pretrained.load("vit-s14", image_size=side + 1)


# ---- the linear head


def test_no_word_of_ten_is_said_of_what_is_none_of_them():
    whole, table = pretrained.load_run("vit-s14-cifar10"), list(csv.DictReader((HEAD / "none.csv").open()))
    rule = json.loads((HEAD / "head.json").read_text())["none_below"]
    (row,) = (row for row in table if float(row["threshold"]) == rule["score"])
    photographs = data.photographs()
    with torch.no_grad():
        logits = {name: whole.model(whole.preprocess(one.path)) for name, one in photographs.items()}
    said = {name: pretrained.none_fits(whole.model, one) for name, one in logits.items()}
    passed = [name for name, sentence in said.items() if not sentence]
    assert passed == row["photographs_above"].split() and "cat" in passed
    others = set(photographs) - {"cat", "dogs", "hens", "horse", "nuthatch"}  # these show one of the ten
    share, others = f"{100 * float(row['test_images_below']):.0f} %", f"{len(others & {*passed})} of our {len(others)}"
    assert share in rule["errors"] and others in rule["errors"], "the errors are those of the table"
    faces = ("astronaut", "grace_hopper", "photographer")
    assert all(said[name].startswith("None of its 10 words fits: the score of its logits, ") for name in faces)
    assert pretrained.none_fits(pretrained.load("shapes"), torch.zeros(1, 5)) is None, "nobody has measured it"


def test_the_head_lies_on_the_frozen_features():
    whole, features = pretrained.load_run("vit-s14-cifar10"), pretrained.load("vit-s14", image_size=98)
    stored = load_file(HEAD / "head.safetensors")
    images = whole.preprocess(data.photographs()["cat"].path)
    assert images.shape == (1, 3, 98, 98)
    with torch.no_grad():
        expected = features.features(images)[:, 0] @ stored["weight"].T + stored["bias"]
        torch.testing.assert_close(whole.model(images), expected)
    assert whole.class_names == json.loads((HEAD / "head.json").read_text())["class_names"]
    assert pretrained.load("vit-s14-cifar10").config == whole.model.config
