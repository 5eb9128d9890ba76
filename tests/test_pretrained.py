import csv
import json

import pytest
import torch
from conftest import ROOT, cases

from vit_course import data, pretrained, training
from vit_course.config import ViTConfig
from vit_course.files.weights import save_weights
from vit_course.vit import ViT


@pytest.mark.slow
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
    save_weights(path, model)
    loaded, images = pretrained.load(str(path)), torch.randn(2, 3, 8, 12)
    assert loaded.config == config and torch.equal(loaded(images), model(images))


CAT = ROOT / "res" / "photographs" / "cat.jpg"
RUNS = ["shapes", "tiny-cifar", "shapes-1000-right", "shapes-1000-permuted"]
OTHERS = ["vit-s14", "vit-s14-cifar10"]


@cases("name", RUNS)
def test_every_shipped_run_can_be_shown_a_picture(name):
    config = json.loads((ROOT / "res" / name / "config.json").read_text())
    best = pretrained.load_run(name).top(CAT, count=3)
    assert pretrained.load(name).config == ViTConfig(**config["model"])
    assert len(best) == 3 and {word for word, _ in best} <= set(config["images"]["class_names"])


def test_the_shipped_names_are_known_and_an_unknown_one_lists_them():
    assert set(pretrained.shipped.names()) == {*RUNS, *OTHERS}
    with pytest.raises(ValueError, match=r"no checkpoint 'vit-s16'; shipped are .*'vit-s14', 'vit-s14-cifar10'"):
        pretrained.load("vit-s16")


@cases(("name", "side"), [("shapes", 48), ("tiny-cifar", 36)])
def test_a_run_of_ours_at_another_size(name, side):
    model, preprocess, class_names = pretrained.load_run(name, image_size=side)
    expected = pretrained.resize(pretrained.load(name), side)
    images = preprocess(CAT)
    assert images.shape == (1, 3, side, side) and len(class_names) == model.config.num_classes
    assert torch.equal(model(images), expected(images))
    assert torch.equal(pretrained.load(name, image_size=side)(images), expected(images))


def test_any_name_or_path_is_loaded_by_what_knows_it(tmp_path):
    assert pretrained.load_any("shapes").class_names == [*data.SHAPES]
    assert pretrained.load_any(ROOT / "res" / "shapes").class_names == [*data.SHAPES]
    assert pretrained.load_any(str(ROOT / "res" / "shapes" / "best.safetensors")).class_names == [*data.SHAPES]
    with pytest.raises(ValueError, match="there is no checkpoint"):
        pretrained.load_any(tmp_path / "none.safetensors")
    with pytest.raises(ValueError, match=r"there is no config\.json"):
        pretrained.load_any(tmp_path)
    with pytest.raises(ValueError, match="no name of published weights"):
        pretrained.load_any("nothing")


@pytest.mark.slow
@cases("name", ["shapes-1000-right", "shapes-1000-permuted"])
def test_the_images_of_the_two_models_by_heart_are_the_shapes_that_they_learnt(name):
    shapes = data.shapes(num_train=1000)
    images = json.loads((ROOT / "res" / name / "config.json").read_text())["images"]
    assert images == {"class_names": [*shapes.class_names], "mean": [*shapes.mean], "std": [*shapes.std]}
    best, model = pretrained.load_run(name), pretrained.load(name)
    result = json.loads((ROOT / "res" / name / "result.json").read_text())
    with torch.no_grad():
        found = best.model(best.preprocess.normalise(shapes.test.images)).argmax(dim=1)
    assert (found == shapes.test.labels).float().mean() == pytest.approx(result["test_accuracy"], abs=0.003)
    assert all(torch.equal(a, b) for a, b in zip(best.model.parameters(), model.parameters(), strict=True))


def test_the_top_takes_a_count_of_at_least_1_and_pictures_alone():
    run = pretrained.load_run("shapes")
    for count in (0, -1, True, 2.5, "3", None, 10**9):
        with pytest.raises(ValueError, match=r"^count must be "):
            run.top(CAT, count=count)
    for picture in (None, 3, torch.zeros(3, 32, 32), [], ROOT / "res", ROOT / "README.md", ROOT / "none.png"):
        with pytest.raises(ValueError):
            run.top(picture)
