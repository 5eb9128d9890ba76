"""The attention explorer on models of all kinds: what they give, and that what they cannot give is said."""

import numpy as np
import pytest
import torch
import torchvision
from sent import maps_of, picture_of
from torch import nn

from vit_course.explorer import explore
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT, ViTConfig

L, H = 3, 2


@pytest.fixture
def image():
    return torch.rand(3, 8, 16)


def close(found, maps, most=2e-3):
    """Whether rows agree to a share of the largest weight in each."""
    maps = np.asarray(maps)
    assert (np.abs(found - maps) / maps.max(axis=-1, keepdims=True)).max() < most


def ours():
    return ViT(ViTConfig(image_size=(8, 16), patch_size=4, num_classes=3, hidden_dim=12, num_layers=L, num_heads=H,
                         mlp_dim=20))  # fmt: skip


def test_our_model(image):
    model = ours().train()
    image = 2 * image - 1
    explorer = explore(model, image, layer=2)
    with torch.no_grad(), record_attention(model.eval()) as recorded:
        model(image[None])
    close(maps_of(explorer), recorded.stacked()[0])
    assert explorer.layer == 2
    assert explore(model.train(), image) and model.training, "the mode is put back"


def test_other_peoples_models(image):
    timm, transformers = pytest.importorskip("timm"), pytest.importorskip("transformers")
    sizes = dict(num_heads=2, embed_dim=12, num_classes=5, patch_size=4)
    models = {
        "timm": timm.models.VisionTransformer(img_size=(8, 16), depth=3, **sizes),
        "timm with registers": timm.models.VisionTransformer(img_size=(8, 16), depth=3, reg_tokens=4, **sizes),
        "torchvision": torchvision.models.VisionTransformer(8, 4, 3, 2, 12, 20, num_classes=5),
        "huggingface": transformers.ViTForImageClassification(
            transformers.ViTConfig(image_size=[8, 16], patch_size=4, num_hidden_layers=3, num_attention_heads=2,
                                   hidden_size=12, intermediate_size=20)
        ),
        "distilled": transformers.DeiTForImageClassificationWithTeacher(
            transformers.DeiTConfig(image_size=[8, 16], patch_size=4, num_hidden_layers=3, num_attention_heads=2,
                                    hidden_size=12, intermediate_size=20)
        ),
    }  # fmt: skip
    prefixes = {"timm with registers": 5, "distilled": 2}
    for name, model in models.items():
        panel = explore(model, 2 * image - 1)._panels[0]
        columns = 2 if name == "torchvision" else 4
        assert (panel["layers"], panel["heads"], panel["rows"], panel["columns"]) == (3, 2, 2, columns), name
        assert panel["prefix"] == prefixes.get(name, 1), name


def test_images_of_all_kinds(image, tmp_path):
    from PIL import Image

    model, seen = ours(), []

    def preprocess(batch):
        seen.append((batch.dtype, tuple(batch.shape)))
        return batch.float()

    whole = (image * 255).round().to(torch.uint8)
    Image.fromarray(whole.permute(1, 2, 0).numpy()).save(tmp_path / "image.png")
    for given in (whole, whole[None], str(tmp_path / "image.png"), torch.rand(3, 20, 40)):
        explore(model, given, preprocess=preprocess)
    assert seen == [(torch.uint8, (1, 3, 8, 16))] * 3 + [(torch.float32, (1, 3, 8, 16))]
    sent = picture_of(explore(model, 10 * image - 5))
    assert sent.min() < 40 and sent.max() > 215, "numbers beyond 0 to 1 are shown from darkest to brightest"


def test_bad_images_and_models(image, tmp_path):
    model = ours()
    (tmp_path / "no.png").write_bytes(b"no image")
    for given, message in (
        (tmp_path / "none.png", "there is no file"),
        (tmp_path / "no.png", "no readable image"),
        (torch.rand(2, 3, 8, 16), r"got shape \(2, 3, 8, 16\)"),
        (torch.rand(8, 16), r"got shape \(8, 16\)"),
        ([1, 2], "a path or a tensor"),
    ):
        with pytest.raises(ValueError, match=message):
            explore(model, given, lambda images: images)
    with pytest.raises(ValueError, match="nothing was recorded"):
        explore(nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 16, 2)), image)
    swin = torchvision.models.SwinTransformer([4, 4], 12, [1, 1], [2, 2], [2, 2])
    with pytest.raises(ValueError, match="a model of windows"):
        explore(swin, torch.randn(3, 32, 32))
