import csv
import json

import pytest
import torch
import torchvision
from conftest import ROOT

from vit_course import data, pretrained, training
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@pytest.fixture(scope="module")
def theirs():
    # A small ViT of torchvision's, heads of width 64 as in the published ones.
    model = torchvision.models.VisionTransformer(
        image_size=24, patch_size=8, num_layers=2, num_heads=2, hidden_dim=128, mlp_dim=80, num_classes=5
    ).eval()
    for parameter in model.parameters():  # no zeros and no ones, so that a swap shows
        torch.nn.init.normal_(parameter, std=0.1)
    return model


def test_load_torchvision_reads_the_config_and_gives_the_same_logits(theirs):
    ours = pretrained.load_torchvision(theirs.state_dict())
    assert not ours.training
    assert ours.config == ViTConfig(
        image_size=24, patch_size=8, num_classes=5, hidden_dim=128, num_layers=2, num_heads=2, mlp_dim=80
    )
    images = torch.randn(3, 3, 24, 24)
    torch.testing.assert_close(ours(images), theirs(images), atol=1e-5, rtol=0)


def test_load_torchvision_names_what_does_not_fit(theirs):
    state = theirs.state_dict()
    norm = "encoder.layers.encoder_layer_1.ln_2.bias"
    with pytest.raises(ValueError, match=f"key '{norm}' is missing"):
        pretrained.load_torchvision({key: value for key, value in state.items() if key != norm})
    with pytest.raises(ValueError, match="key 'extra' is left over"):
        pretrained.load_torchvision({**state, "extra": torch.zeros(1)})
    with pytest.raises(ValueError, match=r"norm2.bias' has shape \(127,\), \(128,\) is needed"):
        pretrained.load_torchvision({**state, norm: state[norm][1:]})
    with pytest.raises(
        ValueError, match=r"'conv_proj\.weight' is missing: this is not the state dict of a torchvision"
    ):
        pretrained.load_torchvision(torchvision.models.resnet18().state_dict())
    assert len(state) == len(theirs.state_dict())  # nothing was taken from the caller's dict


def test_the_shipped_shapes_model_is_as_good_as_its_log_says():
    folder = ROOT / "res" / "shapes"
    result = json.loads((folder / "result.json").read_text())
    rows = list(csv.DictReader((folder / "log.csv").read_text().splitlines()))
    recipe = json.loads((folder / "config.json").read_text())
    model, dataset = pretrained.load("shapes"), data.shapes()
    assert not model.training
    _, accuracy = training.evaluate(model, dataset.test, dataset)
    print(f"shapes: test accuracy {accuracy:.3f}, linear classifier {result['linear_test_accuracy']:.3f}")
    assert accuracy >= 0.9
    assert accuracy == pytest.approx(result["test_accuracy"], abs=0.003)
    assert result["linear_test_accuracy"] < 0.35
    assert len(rows) == recipe["training"]["epochs"]
    assert model.config == ViTConfig(**recipe["model"])


def test_load_by_path_and_errors(tmp_path):
    config = ViTConfig(
        image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=8, num_layers=1, num_heads=2, mlp_dim=8
    )
    model, path = ViT(config).eval(), tmp_path / "mine.safetensors"
    training.save_weights(path, model)
    loaded, images = pretrained.load(str(path)), torch.randn(2, 3, 8, 12)
    assert loaded.config == config and torch.equal(loaded(images), model(images))
    with pytest.raises(ValueError, match=r"no checkpoint 'nothing'; shipped are .*'shapes'"):
        pretrained.load("nothing")
    training.save_weights(path, torch.nn.Linear(2, 3))
    with pytest.raises(ValueError, match="holds no ViTConfig"):
        pretrained.load(str(path))
    path.write_bytes(b"damaged")
    with pytest.raises(ValueError, match="is no whole checkpoint"):
        pretrained.load(str(path))
