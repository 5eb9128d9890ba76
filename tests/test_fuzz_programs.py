"""Drawn arguments for the explorer, and drawn recipes: a page, a recipe, or a sentence of ours."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from runs import new_model
from strategies import (
    ANYTHING,
    REFUSED,
    damaged,
    edited,
    fuzz,
    given_by_name,
    mostly,
    outcome,
    pictures,
    softmaxed,
    tensors,
)

from vit_course.commands.recipes import read_recipe
from vit_course.explorer import AttentionExplorer, explore, upload

pytestmark = pytest.mark.slow
MODEL = new_model().eval()
PICTURES = pictures()
MAPS = tensors(2, 3, 7, 7, make=softmaxed)
IMAGE = tensors(3, 12, 8, make=lambda x: x.sigmoid())
STATE = dict(
    layer=st.integers(0, 1), head=st.integers(0, 2), query=st.integers(0, 6), fixed=st.floats(0.01, 1),
    fusion=st.sampled_from(["head", "mean", "rollout"]), direction=st.sampled_from(["from", "to"]),
    pinned=st.booleans(), key=st.integers(-1, 6), view=st.sampled_from(["attention", "similarity", "colours"]),
)  # fmt: skip
GRID = mostly(st.sampled_from([None, (3, 2), (2, 3), [3, 2]]))


def look_at(explorer):
    if explorer is not REFUSED:
        attention = explorer.attention()
        assert abs(attention.sum() - 1) < 1e-2 or explorer.direction == "to"
        assert isinstance(explorer.figure(), Figure)
        assert "explorer" not in explorer._repr_mimebundle_()[0]["text/plain"]
        explorer.close()


@fuzz(60)
@given(
    MAPS | st.lists(MAPS, max_size=2), IMAGE | st.lists(IMAGE, max_size=2), GRID,
    mostly(st.sampled_from([None, ["a", "b"]])), given_by_name(**STATE),
)  # fmt: skip
def test_drawn_maps_are_explored_or_refused(maps, image, grid, titles, state):
    look_at(outcome(AttentionExplorer, maps, image, grid, titles, **state))


@pytest.mark.filterwarnings("ignore:the image goes to the model in numbers from 0 to 1")
@fuzz(80)
@given(
    mostly(st.just(MODEL)), IMAGE | st.sampled_from(sorted(PICTURES)).map(PICTURES.get), GRID, given_by_name(**STATE),
    st.none() | ANYTHING | st.just(lambda images: images / 2) | tensors(1, 3, 12, 8).map(lambda x: lambda images: x),
)  # fmt: skip
def test_a_drawn_image_is_explored_or_refused(model, image, grid, state, preprocess):
    if model is MODEL or not isinstance(model, torch.nn.Module):
        look_at(outcome(explore, model, image, preprocess, grid, **state))
        button = outcome(upload, model, preprocess, grid)
        assert button is REFUSED or button.explorer is None


# --- recipes

TOML = {
    "data": {"source": "shapes", "num_train": 6, "num_validation": 3, "num_test": 3, "image_size": 8},
    "model": {"patch_size": 4, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "mlp_dim": 9},
    "training": {"epochs": 1, "batch_size": 4, "precision": "float32"},
}


def toml(parts) -> bytes:
    """Nearly what TOML writes as JSON does."""
    lines = []
    for part, values in parts.items() if isinstance(parts, dict) else ():
        if not isinstance(values, dict):
            lines.insert(0, f"{json.dumps(part)} = {json.dumps(values)}")
            continue
        lines += [f"[{part}]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@fuzz(300)
@given(
    damaged(toml(TOML)) | edited(TOML).map(toml),
    st.dictionaries(st.sampled_from(["epochs", "hidden_dim", "num_heads", "data", "image_size", "pool"]), ANYTHING),
)
def test_a_drawn_recipe_is_read_or_refused(tmp_path_factory, content, flags):
    path = tmp_path_factory.mktemp("recipe") / "drawn.toml"
    path.write_bytes(content)
    recipe = outcome(read_recipe, {"recipe": str(path), **flags})
    assert recipe is REFUSED or (recipe.name == "drawn" and recipe.training.epochs >= 1)
