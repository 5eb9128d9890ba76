"""The weights that come with the course, and a linear head on frozen features."""

import csv
import json

import numpy as np
import pytest
import torch
from conftest import ROOT
from sklearn.linear_model import LogisticRegression
from torch import nn
from torchvision.transforms.v2.functional import to_pil_image

from vit_course import data, pretrained, training
from vit_course._support.files.weights import save_weights
from vit_course.config import ViTConfig
from vit_course.pretrained import Preprocessing, class_tokens, fit_linear_head, with_head
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


CAT = ROOT / "res" / "photographs" / "cat.jpg"
RUNS = ["shapes", "tiny-cifar", "shapes-1000-right", "shapes-1000-permuted"]
WITHOUT_LABELS = ["mae-cifar", "dino-cifar", "clip-scenes"]
OTHERS = ["vit-s14", "vit-s14-cifar10"]


@pytest.mark.parametrize("name", RUNS)
def test_every_shipped_run_can_be_shown_a_picture(name):
    config = json.loads((ROOT / "res" / name / "config.json").read_text())
    best = pretrained.load_run(name).top(CAT, count=3)
    assert pretrained.load(name).config == ViTConfig(**config["model"])
    assert len(best) == 3 and {word for word, _ in best} <= set(config["images"]["class_names"])


@pytest.mark.parametrize("name", WITHOUT_LABELS)
def test_what_was_trained_without_labels_gives_features_better_than_before(name):
    run = pretrained.load_run(name)
    assert run.class_names == [] and pretrained.load(name).config.num_classes == 0
    assert run.model.features(run.preprocess(CAT)).shape == (1, run.model.config.num_tokens, 96)
    result = json.loads((ROOT / "res" / name / "result.json").read_text())
    if name == "clip-scenes":
        assert result["retrieval_test_accuracy"] > result["retrieval_by_chance"] + 0.5
    else:
        assert result["knn_test_accuracy"] > result["untrained_knn_test_accuracy"] + 0.1


def test_the_shipped_names_are_known_and_an_unknown_one_lists_them():
    assert set(pretrained.bundled.names()) == {*RUNS, *WITHOUT_LABELS, *OTHERS}
    with pytest.raises(ValueError, match=r"no checkpoint 'vit-s16'; the shipped ones .*'vit-s14', 'vit-s14-cifar10'"):
        pretrained.load("vit-s16")


@pytest.mark.parametrize(("name", "side"), [("shapes", 48), ("tiny-cifar", 36)])
def test_a_run_of_ours_at_another_size(name, side):
    model, preprocess, class_names = pretrained.load_run(name, image_size=side)
    expected = pretrained.resize(pretrained.load(name), side)
    images = preprocess(CAT)
    assert images.shape == (1, 3, side, side) and len(class_names) == model.config.num_classes
    assert torch.equal(model(images), expected(images))
    assert torch.equal(pretrained.load(name, image_size=side)(images), expected(images))


def test_a_run_without_a_head_names_no_classes_though_its_images_had_names(tmp_path):
    config = {"image_size": (8, 12), "patch_size": 4, "hidden_dim": 24, "num_layers": 1, "num_heads": 3, "mlp_dim": 40}
    model = ViT(ViTConfig(**config, num_classes=0))
    save_weights(tmp_path / "best.safetensors", model)
    images = {"class_names": ["a", "b"], "mean": [0.5] * 3, "std": [0.2] * 3}
    (tmp_path / "config.json").write_text(json.dumps({"images": images}))
    run = pretrained.load_run(tmp_path)
    assert run.class_names == [] and run.model.features(run.preprocess(CAT)).shape == (1, 7, 24)


def test_a_run_is_found_by_its_name_its_folder_and_its_file(tmp_path):
    assert pretrained.load_run("shapes").class_names == [*data.SHAPES]
    assert pretrained.load_run(ROOT / "res" / "shapes").class_names == [*data.SHAPES]
    assert pretrained.load_run(str(ROOT / "res" / "shapes" / "best.safetensors")).class_names == [*data.SHAPES]
    with pytest.raises(ValueError, match="there is no checkpoint"):
        pretrained.load_run(tmp_path / "none.safetensors")
    with pytest.raises(ValueError, match=r"is a folder without best\.safetensors"):
        pretrained.load_run(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shapes-1000-right", "shapes-1000-permuted"])
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


SIZES = dict(image_size=(15, 10), patch_size=5, hidden_dim=12, num_layers=2, num_heads=3, mlp_dim=7)
PREPROCESS = Preprocessing(
    resize=(15, 10), crop=None, interpolation="bicubic", mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4), on_tensor=True
)


@pytest.mark.parametrize("num_classes", [0, 4])
def test_class_tokens_are_those_of_one_image_after_the_other(num_classes):
    model = ViT(ViTConfig(**SIZES, num_classes=num_classes)).eval()
    images = torch.randint(256, (7, 3, 9, 11), dtype=torch.uint8)
    found = class_tokens(model, PREPROCESS, images, batch_size=3)
    with torch.no_grad():
        for image, row in zip(images, found, strict=True):
            torch.testing.assert_close(model.features(PREPROCESS(to_pil_image(image)))[0, 0], row)
    half = class_tokens(model, PREPROCESS, images, bfloat16=True)
    assert half.dtype == torch.float32 and not torch.equal(half, found)
    torch.testing.assert_close(half, found, rtol=0.1, atol=0.1)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_head_is_scikit_learns_on_standardised_features(classes):
    # Points in seven dimensions of very different scales, around a centre for each class.
    labels, scales = torch.arange(classes).repeat(23), torch.logspace(-2, 2, 7)
    features = (torch.randn(classes, 7) * 3)[labels] * scales + torch.randn(len(labels), 7) + 40
    head = fit_linear_head(features, labels, regularisation=0.1)
    scaled = ((features - features.mean(dim=0)) / features.std(dim=0)).numpy()
    theirs = LogisticRegression(C=0.1, max_iter=1000).fit(scaled, labels.numpy())
    found = head(features).softmax(dim=1).detach().numpy()
    assert np.abs(found - theirs.predict_proba(scaled)).max() < 1e-3
    assert (head(features).argmax(dim=1) == labels).float().mean() > 0.9
    assert head.weight.shape == (classes, 7)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": torch.zeros(3)}, "features must have 2 axes"),
        ({"features": torch.full((4, 2), torch.nan)}, "features"),
        ({"labels": torch.tensor([0, 1, 2])}, "there are 4 features but 3 labels"),
        (
            {"labels": torch.tensor([0, 2, 2, 0])},
            r"labels must be 0, 1 and so on, at least two and without gaps, got \[0, 2\]",
        ),
        ({"labels": torch.zeros(4, dtype=torch.int64)}, "labels must be 0, 1"),
        ({"labels": torch.tensor([0.0, 1.0, 0.0, 1.0])}, "labels must be int64"),
        ({"regularisation": 0}, "regularisation"),
    ],
)
def test_what_is_no_training_set_is_refused(changes, words):
    arguments = {"features": torch.randn(4, 2), "labels": torch.tensor([0, 1, 0, 1])} | changes
    with pytest.raises(ValueError, match=words):
        fit_linear_head(**arguments)


def test_with_head_gives_a_copy_with_logits():
    model = ViT(ViTConfig(**SIZES, num_classes=0)).eval()
    head, images = nn.Linear(12, 5), torch.randn(2, 3, 15, 10)
    whole = with_head(model, head)
    torch.testing.assert_close(whole(images), head(model.features(images)[:, 0]))
    assert whole.config.num_classes == 5 and model.config.num_classes == 0 and not whole.training
    other = with_head(whole, nn.Linear(12, 5))
    assert not torch.equal(other(images), whole(images)), "the model that was given is another one still"
    for wrong in (nn.Linear(11, 5), nn.Linear(12, 5, bias=False), nn.Identity(), None):
        with pytest.raises(ValueError, match="a bias that takes 12 numbers"):
            with_head(model, wrong)


def test_what_has_no_class_token_is_refused():
    images = torch.zeros(1, 3, 15, 10, dtype=torch.uint8)
    with pytest.raises(ValueError, match="a model with a class token is needed, but this one has pool='mean'"):
        class_tokens(ViT(ViTConfig(**SIZES, num_classes=0, pool="mean")), PREPROCESS, images)
    model = ViT(ViTConfig(**SIZES, num_classes=0))
    with pytest.raises(ValueError, match=r"images must be uint8, got torch\.float32"):
        class_tokens(model, PREPROCESS, images.float())
    with pytest.raises(ValueError, match=r"images must have 4 axes \(n, 3, H, W\)"):
        class_tokens(model, PREPROCESS, images[0])
    with pytest.raises(ValueError, match="a ViT of this course is needed"):
        class_tokens(nn.Linear(2, 2), PREPROCESS, images)
