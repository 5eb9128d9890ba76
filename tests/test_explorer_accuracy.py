"""What the browser computes of what is sent: rows agree with `record_attention` to 2e-3 of each row's maximum."""

import numpy as np
import pytest
import timm
import torch
import torchvision
from conftest import cases
from sent import layer_of

from vit_course import data, pretrained
from vit_course.explorer import explore
from vit_course.maps.recording import record_attention

pytestmark = pytest.mark.slow


def worst(explorer, model, images) -> float:
    """-> the largest error of a weight, as a share of the largest weight in its row; layer by layer, for memory."""
    with torch.no_grad(), record_attention(model) as maps:
        (model.features if hasattr(model, "features") else model)(images)
    found = 0.0
    for layer in range(len(maps.by_layer)):
        exact = maps.by_layer[layer][0][0].numpy()  # (h, T, T)
        error = np.abs(layer_of(explorer, layer) - exact).max(axis=-1) / exact.max(axis=-1)
        found = max(found, float(error.max()))
    print(f"worst error of a row's maximum: {found:.1e}, {len(explorer._data) / 1e6:.1f} MB")
    return found


@pytest.mark.parametrize("size", [224, pytest.param(518, marks=pytest.mark.slow)])
def test_the_real_model_on_a_photograph(size):
    real = pretrained.load_run("vit-s14", image_size=size)
    path = data.photographs()["cat"].path
    explorer = explore(real, path)
    assert worst(explorer, real.model, real.preprocess(path)) < 2e-3
    assert len(explorer._data) < (4.6e6 if size == 224 else 23e6)


def sharper(model, factor):
    """The model with queries and keys so many times as long: with weights as they are drawn maps are nearly even."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("qkv.weight", "in_proj_weight")):
                width = parameter.shape[1]
                parameter[: 2 * width] *= factor
    return model.eval()


@pytest.mark.thorough
@cases("factor", [1, 2])
@cases("library", ["timm", "torchvision"])
def test_published_sizes_with_weights_as_drawn(library, factor, tmp_path):
    model = timm.create_model("vit_base_patch16_224") if library == "timm" else torchvision.models.vit_b_16()
    model, image = sharper(model, factor), torch.randn(3, 224, 224)
    explorer = explore(model, image)
    assert worst(explorer, model, image[None]) < 2e-3
    explorer.save_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 8e6, "ViT-B/16 at 224 px"
