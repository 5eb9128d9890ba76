"""The recipes of docs/own_model.md for other people's models, run as they stand, on random weights."""

import re

import numpy as np
import pytest
import torch
import transformers
from conftest import ROOT
from PIL import Image

SIZES = dict(num_attention_heads=3, hidden_size=24, intermediate_size=20)
# The models as published, narrow, and their processors with the numbers that lie beside the weights.
CONFIGS = {
    "google/vit-base-patch16-224": transformers.ViTConfig(**SIZES),
    "facebook/dinov2-with-registers-small": transformers.Dinov2WithRegistersConfig(
        **SIZES, image_size=518, patch_size=14, num_register_tokens=4
    ),
}
IMAGENET = dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
PROCESSORS = {
    "google/vit-base-patch16-224": transformers.ViTImageProcessor(),
    "facebook/dinov2-with-registers-small": transformers.BitImageProcessor(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}, **IMAGENET
    ),
}
WEIGHTS = {
    "pretrained=True": "pretrained=False",
    "AutoModel.from_pretrained(name)": "AutoModel.from_config(CONFIGS[name])",
    "AutoImageProcessor.from_pretrained(name)": "PROCESSORS[name]",
}


def recipes() -> list[str]:
    text = (ROOT / "docs" / "own_model.md").read_text(encoding="utf-8")
    part = text.partition("<!-- recipes -->")[2].partition("<!-- end of the recipes -->")[0]
    return re.findall(r"```python\n(.*?)```", part, re.DOTALL)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """-> runs a recipe beside a photograph, and gives its names."""
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    Image.fromarray(pixels).save("photo.jpg")

    def run(recipe: str) -> dict:
        for theirs, ours in WEIGHTS.items():
            recipe = recipe.replace(theirs, ours)
        assert "from_pretrained" not in recipe and "pretrained=True" not in recipe, "that would download"
        names = {"CONFIGS": CONFIGS, "PROCESSORS": PROCESSORS}
        exec(recipe, names)
        return names

    return run


def test_each_of_the_three_is_short():
    assert len(recipes()) == 3
    assert all(len(recipe.strip().splitlines()) <= 15 for recipe in recipes())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "page", "grid", "names"),
    [
        (0, "timm.html", (14, 14), ["class token"]),
        (1, "huggingface.html", (14, 14), ["class token"]),
        (2, "registers.html", (16, 16), ["class token", "register 1", "register 2", "register 3", "register 4"]),
    ],
    ids=["timm", "huggingface", "registers"],
)
def test_a_recipe_runs_as_it_stands(run, tmp_path, number, page, grid, names):
    made = run(recipes()[number])
    explorer = made["explorer"]
    panel = explorer._panels[0]
    assert (panel["rows"], panel["columns"]) == grid and panel["names"] == names
    assert (panel["layers"], explorer.layer) == (12, 11)
    assert (panel["height"], panel["width"]) == (224, 224), "what the model sees is shown"
    assert "explorer" in (tmp_path / page).read_text(encoding="utf-8")
    if number == 2:
        count = len(names) + grid[0] * grid[1]
        assert made["maps"].shape == (1, 12, 3, count, count)
        assert made["tokens"].grid == grid and list(made["tokens"].prefix) == names
        np.testing.assert_allclose(explorer.attention(), made["maps"][0, 11, 0, 1], atol=1e-6)


def test_what_is_said_of_ones_own_model_runs_offline(capsys):
    text = (ROOT / "docs" / "own_model.md").read_text(encoding="utf-8")
    part = text.partition("<!-- offline -->")[2].partition("<!-- end of offline -->")[0]
    printed = re.search(r"```\n(RecordedMaps.*?\n)```", part)[1]
    names: dict = {}
    exec("".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL)), names)
    assert capsys.readouterr().out == printed
    model, images, found = names["model"], names["images"], names["found"]
    assert names["attention"].shape == (3, 4, 3, 37, 37)
    mine = names["recorded"]
    assert mine.stacked().shape == (2, 4, 3, 21, 21) and mine.tokens().grid == (4, 5) and mine.tokens().tested
    assert names["table"].shape == (4, 2) and names["table"].min() > 0
    assert (names["tokens"].pixels(36), names["tokens"].area) == ((80, 80, 96, 96), (0, 0, 96, 96))
    assert found.values.shape == found.error.shape == (4, 3) and found.each.shape == (3, 4, 3)
    assert not torch.allclose(names["changed"], model(images))
    assert names["cache"]["blocks.3.heads"].shape == (3, 3, 37, 64) and "blocks.3" in names["cache"]
    assert names["lens"].shape == (3, 5, 10) and names["lengths"].shape == (3, 4, 3, 37, 37)
    torch.testing.assert_close(names["parts"].total(), names["lens"][:, -1, 3], rtol=0, atol=1e-4)
