"""A linear head on frozen features."""

import numpy as np
import pytest
import torch
from conftest import cases
from sklearn.linear_model import LogisticRegression
from torch import nn
from torchvision.transforms.v2.functional import to_pil_image

from vit_course.config import ViTConfig
from vit_course.pretrained import Preprocessing, class_tokens, fit_linear_head, with_head
from vit_course.vit import ViT

SIZES = dict(image_size=(15, 10), patch_size=5, hidden_dim=12, num_layers=2, num_heads=3, mlp_dim=7)
PREPROCESS = Preprocessing(
    resize=(15, 10), crop=None, interpolation="bicubic", mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4), on_tensor=True
)


def clouds(classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points in seven dimensions of very different scales, around a centre for each class."""
    labels = torch.arange(classes).repeat(23)
    return (torch.randn(classes, 7) * 3)[labels] * torch.logspace(-2, 2, 7) + torch.randn(len(labels), 7) + 40, labels


@cases("num_classes", [0, 4])
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


@cases("classes", [2, 3, 5])
def test_the_head_is_scikit_learns_on_standardised_features(classes):
    features, labels = clouds(classes)
    head = fit_linear_head(features, labels, regularisation=0.1)
    scaled = ((features - features.mean(dim=0)) / features.std(dim=0)).numpy()
    theirs = LogisticRegression(C=0.1, max_iter=1000).fit(scaled, labels.numpy())
    found = head(features).softmax(dim=1).detach().numpy()
    assert np.abs(found - theirs.predict_proba(scaled)).max() < 1e-3
    assert (head(features).argmax(dim=1) == labels).float().mean() > 0.9
    assert head.weight.shape == (classes, 7)


@cases(
    ("changes", "words"),
    [
        ({"features": torch.zeros(3)}, "features must have 2 axes"),
        ({"features": torch.full((4, 2), torch.nan)}, "features"),
        ({"labels": torch.tensor([0, 1, 2])}, "there are 4 features and 3 labels"),
        ({"labels": torch.tensor([0, 2, 2, 0])}, r"labels must be 0, 1 and so on, each of them there, got \[0, 2\]"),
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
    with pytest.raises(ValueError, match="a model with a class token is needed, this one has pool='mean'"):
        class_tokens(ViT(ViTConfig(**SIZES, num_classes=0, pool="mean")), PREPROCESS, images)
    model = ViT(ViTConfig(**SIZES, num_classes=0))
    with pytest.raises(ValueError, match=r"images must be uint8, got torch\.float32"):
        class_tokens(model, PREPROCESS, images.float())
    with pytest.raises(ValueError, match=r"images must have 4 axes \(n, 3, H, W\)"):
        class_tokens(model, PREPROCESS, images[0])
    with pytest.raises(ValueError, match="a ViT of this course is needed"):
        class_tokens(nn.Linear(2, 2), PREPROCESS, images)
