"""Several at once: two pictures, two models, or one picture changed, with one query that stands on the same content."""

import numpy as np
import pytest
import torch
from conftest import cases
from sent import maps_of, picture_of

from vit_course.explorer import explore
from vit_course.explorer.beside import CHANGES, changed, link_of
from vit_course.maps.tokens import Tokens
from vit_course.vit import ViT, ViTConfig

SIZES = dict(image_size=(12, 20), patch_size=4, num_classes=3, hidden_dim=12, num_layers=2, num_heads=2, mlp_dim=20)
ORDER = Tokens(("class token", "register 1"), (3, 5))


@pytest.fixture
def model():
    return ViT(ViTConfig(**SIZES)).eval()


def patches(images):
    return images.unflatten(3, (5, -1)).unflatten(2, (3, -1)).permute(2, 4, 0, 1, 3, 5).flatten(0, 1)  # (N, B, C, P, P)


def test_a_link_leads_to_the_same_content():
    image = torch.rand(1, 3, 12, 20)
    for how in ("flipped", "shuffled"):
        other, link = changed(image, ORDER, how), link_of(ORDER, how)
        assert link[:2] == [0, 1] and sorted(link) == list(range(17)) and not torch.equal(other, image)
        for token in range(2, 17):
            there = patches(other)[link[token] - 2]
            here = patches(image)[token - 2]
            assert torch.equal(there.flip(3) if how == "flipped" else there, here), (how, token)
    assert torch.equal(changed(image, ORDER, "shuffled"), changed(image, ORDER, "shuffled")), "drawn once and for all"


def test_the_middle_is_enlarged_and_linked():
    order = Tokens((), (8, 16))
    places = torch.arange(16.0).repeat_interleave(8).expand(1, 1, 64, 128)  # each column of patches its own grey
    other, link = changed(places, order, "cropped"), link_of(order, "cropped")
    for token in range(8 * 16):
        row, column = divmod(token, 16)
        there = divmod(link[token], 16)
        seen = other[0, 0, there[0] * 8 : there[0] * 8 + 8, there[1] * 8 : there[1] * 8 + 8]
        if 3 <= column < 13:
            assert seen.min() - 1 < column < seen.max() + 1, (row, column)
    assert link[0] == 0 and link[-1] == 127, "beyond the edge the nearest"


@cases("how", CHANGES)
def test_one_picture_changed_stands_beside_itself(model, how):
    image = 2 * torch.rand(3, 12, 20) - 1
    explorer = explore(model, image, beside=how, query=9)
    first, second = explorer._panels
    assert [first["title"], second["title"]] == ["the picture", how]
    assert first["link"] is None and second["link"] == link_of(Tokens(("class token",), (3, 5)), how)
    expected = explore(model, changed(image[None], Tokens((), (3, 5)), how)[0])
    np.testing.assert_allclose(maps_of(explorer, 1), maps_of(expected), atol=1e-5)
    np.testing.assert_allclose(
        explorer.attention(1), expected._shown[0].shown(1, 0, "head", second["link"][9], "from"), atol=1e-5
    )
    assert np.abs(picture_of(explorer, 1).astype(int) - picture_of(explorer)).max() > 20
    assert [p["title"] for p in explore(model, image, beside=how, titles=["a", "b"])._panels] == ["a", "b"]


def test_several_images_and_several_models(model, tmp_path):
    from PIL import Image

    images = [torch.randn(3, 12, 20) for _ in range(3)]
    explorer = explore(model, images)
    assert [panel["title"] for panel in explorer._panels] == ["A", "B", "C"]
    np.testing.assert_array_equal(maps_of(explorer, 2), maps_of(explore(model, images[2])))
    other = ViT(ViTConfig(**{**SIZES, "patch_size": 2, "pool": "mean", "num_layers": 3}))
    explorer = explore([model, other], images[0], titles=["coarse", "fine"])
    assert [panel["tokens"] for panel in explorer._panels] == [16, 60] and explorer.layer == 2
    paths = [tmp_path / f"{name}.png" for name in ("hill", "sea")]
    for path in paths:
        Image.effect_noise((40, 30), 50).save(path)
    explorer = explore(model, paths, preprocess=lambda images: images / 200)
    assert [panel["title"] for panel in explorer._panels] == ["hill", "sea"]
    explorer = explore([model, model], paths[0], preprocess=[lambda images: images / 200, lambda images: images / 300])
    assert [panel["title"] for panel in explorer._panels] == ["A", "B"]


def test_what_does_not_go_together_is_said(model):
    image = torch.randn(3, 12, 20)
    for call, message in (
        (lambda: explore([model, model], [image, image]), "several models take one image, .* got 2 models and 2"),
        (lambda: explore([], image), "got 0 models"),
        (lambda: explore(model, [image, image], beside="flipped"), "beside='flipped' takes one model and one image"),
        (lambda: explore(model, image, beside="mirrored"), "beside must be 'flipped', 'shuffled' or 'cropped'"),
        (lambda: explore([model, model], image, preprocess=[None]), "there are 2 models and 1 preprocess"),
        (lambda: explore(model, [1, 2]), "a path or a tensor"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
