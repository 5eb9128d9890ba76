"""The attention explorer without a browser: its data, its state, its picture, its page, and models of all kinds."""

import json

import numpy as np
import pytest
import torch
from conftest import ROOT
from PIL import Image
from sent import features_of, layer_of, maps_of, picture_of

from vit_course import pretrained
from vit_course._support.widgets.encoding import to_base64
from vit_course._support.widgets.pages import pack, unpack
from vit_course.attention import attention_weights
from vit_course.data import photographs
from vit_course.explorer import AttentionExplorer, explore
from vit_course.explorer.panel_data import fitting
from vit_course.maps import interpret, record_attention

VIEW = "application/vnd.jupyter.widget-view+json"
L, H, D, ROWS, COLUMNS = 3, 2, 5, 2, 4
T = ROWS * COLUMNS + 1


@pytest.fixture
def maps():
    return torch.randn(L, H, T, T).mul(2).softmax(dim=-1)


@pytest.fixture
def image():
    return torch.rand(3, 8, 16)


@pytest.fixture
def pair():
    """Queries and keys whose keys have much in common, as in real models."""
    return torch.randn(L, H, T, D), 5 * torch.randn(L, H, 1, D) + torch.randn(L, H, T, D)


def close(found, maps, most=2e-3):
    """Whether rows agree to a share of the largest weight in each."""
    maps = np.asarray(maps)
    assert (np.abs(found - maps) / maps.max(axis=-1, keepdims=True)).max() < most


def test_queries_and_keys_are_sent_and_give_the_same_rows(pair, image):
    explorer = AttentionExplorer(pair, image, head=0)
    expected = dict(
        title="", layers=L, heads=H, tokens=T, prefix=1, names=["class token"], rows=ROWS, columns=COLUMNS, height=8,
        width=16, kind="qk", dim=D, scale=D**-0.5, layer_numbers=[0, 1, 2], all_layers=L, link=None, says=None,
        telling=None, kept=None, asks=False, tested=[],
    )  # fmt: skip
    (panel,) = explorer._panels
    assert {name: value for name, value in panel.items() if name != "sections"} == expected
    close(maps_of(explorer), attention_weights(*pair))
    np.testing.assert_allclose(maps_of(explorer).sum(-1), 1, atol=1e-5)
    assert explorer.attention().shape == (T,) and explorer.layer == L - 1 and explorer.query == 0
    five = AttentionExplorer(tuple(each[None].double().numpy() for each in pair), image)
    np.testing.assert_array_equal(maps_of(five), maps_of(explorer))


@pytest.mark.slow
def test_of_the_real_model_too_rows_agree_to_a_share_of_the_largest_weight(some):
    # A few coordinates of its keys are far from 0 for every token, and it is sharper than what is drawn at random.
    for size, most in some([(224, 4.6e6), (518, 23e6)]):
        real, path = pretrained.load_run("vit-s14", image_size=size), photographs()["cat"].path
        explorer = explore(real, path)
        with torch.no_grad(), record_attention(real.model) as maps:
            real.model.features(real.preprocess(path))
        for layer, ((exact,),) in enumerate(maps.by_layer):  # layer by layer, for memory
            close(layer_of(explorer, layer), exact)
        assert len(explorer._data) < most


def test_maps_are_sent_exact_to_half_a_step(maps, image):
    explorer = AttentionExplorer(maps, image)
    assert explorer._panels[0]["kind"] == "maps" and "dim" not in explorer._panels[0]
    close(maps_of(explorer), maps, most=0.5 / 255 + 1e-6)
    assert sum(s["bytes"] for s in explorer._panels[0]["sections"] if s["name"] == "weights") == L * H * T * T


def test_the_picture_is_what_was_given_in_colour(maps, image):
    pixels = (image * 255).round().to(torch.uint8)
    expected = AttentionExplorer(maps, pixels)
    np.testing.assert_array_equal(picture_of(expected), pixels.permute(1, 2, 0))
    pillows = Image.fromarray(pixels.permute(1, 2, 0).numpy())
    for given in (pillows, pixels.numpy(), (pixels / 255).double().requires_grad_(), (pixels / 255).numpy()):
        assert AttentionExplorer(maps, given)._data == expected._data
    assert AttentionExplorer(maps, image.bfloat16(), grid=[2, 4]).figure()
    grey = picture_of(AttentionExplorer(maps, pixels[:1]))
    assert grey.shape == (8, 16, 3) and (grey == pixels[0, :, :, None].numpy()).all()
    noise = AttentionExplorer(maps, torch.rand(3, 400, 800))
    picture = next(s for s in noise._panels[0]["sections"] if s["name"] == "picture")
    assert picture["media"] == "image/jpeg" and picture["bytes"] < 3 * 400 * 800


def test_grids_and_the_names_of_the_tokens_before_the_patches(maps, image):
    oblong, square, without = torch.rand(3, 8, 15), torch.rand(3, 8, 8), maps[..., 1:, 1:].softmax(dim=-1)
    four = torch.randn(L, H, T + 3, T + 3).softmax(dim=-1)
    extra = [f"extra token {n}" for n in (1, 2, 3, 4)]
    for given, picture, options, (rows, names, query) in (
        (maps, image, {}, (2, ["class token"], 0)),
        (maps, image, {"prefix": 1}, (2, ["class token"], 0)),
        (maps, image, {"prefix": ["register 1"]}, (2, ["register 1"], 1 + 4 + 2)),  # the middle
        (maps, oblong, {"grid": (4, 2)}, (4, ["class token"], 0)),
        (without, image, {}, (2, [], 6)),
        (without, image, {"query": 0}, (2, [], 0)),
        (four, image, {}, (2, extra, 6 + 4)),
        (maps, square, {"prefix": 0}, (3, [], 4)),
        (maps, square, {"grid": (3, 3)}, (3, [], 4)),
        (maps, square, {"grid": (2, 2)}, (2, [*extra, "extra token 5"], 5 + 3)),
    ):
        explorer = AttentionExplorer(given, picture, **{"head": 0} | options)
        panel = explorer._panels[0]
        assert (panel["rows"], panel["names"], panel["prefix"], explorer.query) == (rows, names, len(names), query)
    assert "register 1" in AttentionExplorer(maps, image, prefix=["register 1"], query=0).figure().get_suptitle()
    both = AttentionExplorer([maps, four], [image, image], prefix=[["class token"], list("abcd")])
    assert [panel["names"] for panel in both._panels] == [["class token"], list("abcd")]


def test_several_images_side_by_side(maps, pair, image):
    explorer = AttentionExplorer([maps, maps[:2]], [image, torch.rand(1, 4, 8)], titles=["one", "two"], head=0)
    assert [(p["title"], p["layers"]) for p in explorer._panels] == [("one", 3), ("two", 2)]
    assert explorer.layer == 2  # the first has it; the second shows its last
    np.testing.assert_allclose(explorer.attention(1), maps[1, 0, 0])
    # One query for both: by the link, by the name, or by the place.
    link = [0, *range(T - 1, 0, -1)]
    turned = AttentionExplorer([maps, pair], [image, image], link=[None, link], query=3)
    np.testing.assert_allclose(turned.attention(1), attention_weights(*pair)[2, 0, T - 3], rtol=1e-5)
    four = torch.randn(L, H, 3 + 32, 3 + 32).softmax(-1)
    finer = AttentionExplorer([maps, four], [image, image], prefix=[["b"], list("abc")], query=0)
    np.testing.assert_allclose(finer.attention(1), four[2, 0, 1])
    finer.query = 1 + 1 * 4 + 2  # row 1 of 2, column 2 of 4: row 3 of 4, column 5 of 8
    np.testing.assert_allclose(finer.attention(1), four[2, 0, 3 + 3 * 8 + 5])


@pytest.mark.parametrize("kind", ["pair", "maps"])
def test_attention_follows_the_state(maps, pair, image, kind):
    given = pair if kind == "pair" else maps
    maps = attention_weights(*pair) if kind == "pair" else maps
    explorer = AttentionExplorer(given, image, layer=1, head=1, query=3)

    def sees(expected):
        np.testing.assert_allclose(explorer.attention(), expected, rtol=1e-4)

    sees(maps[1, 1, 3])
    explorer.direction = "to"
    sees(maps[1, 1, :, 3])
    explorer.fusion = "mean"
    sees(maps[1].mean(0)[:, 3])
    explorer.direction = "from"
    sees(maps[1].mean(0)[3])
    explorer.fusion = "rollout"
    sees(interpret.rollout(maps[None, :2])[0, 3])
    explorer.layer = 2
    sees(interpret.rollout(maps[None])[0, 3])
    explorer.direction = "to"
    sees(interpret.rollout(maps[None])[0, :, 3])


def test_features_and_what_the_model_says_go_along(pair, image):
    features = torch.randn(T, 7) * torch.logspace(-3, 2, 7)
    says = dict(labels=["cat", "dog"], probabilities=[0.9, 0.1], lens=[[0.5, 0.5]] * L + [[0.9, 0.1]], about="a head")
    explorer = AttentionExplorer(pair, image, features=features, says=says)
    error = np.abs(features_of(explorer) - features.numpy()) / features.abs().amax(0).numpy()
    assert error.max() < 1 / 16000
    assert explorer._panels[0]["says"] == says
    both = AttentionExplorer([pair, pair], [image, image], features=[None, features], says=[says, None])
    assert [panel["says"] for panel in both._panels] == [says, None]
    assert "features" not in [s["name"] for s in both._panels[0]["sections"]]
    np.testing.assert_array_equal(features_of(both, 1), features_of(explorer))


def test_a_page_and_a_repository_have_something_to_show(maps, image, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, metadata, **_: shown.append((data, metadata)))
    explorer = AttentionExplorer(maps, image)
    explorer._ipython_display_()
    explorer._ipython_display_()
    (picture, about), (again, _), (live, _) = shown[:3]
    assert picture["image/png"].startswith("iVBOR") and len(picture["image/png"]) < 90_000
    assert len(about["image/png"]["alt"]) > 20 and picture == shown[3][0]
    assert again["text/plain"] in again["text/html"] and "run this cell for the live explorer" in again["text/plain"]
    assert live["text/plain"] == "AttentionExplorer(3 layers, 2 heads, 9 tokens)"
    assert set(live) == {"text/plain", "application/vnd.jupyter.widget-view+json"}


def test_a_state_packed_for_a_stored_notebook_comes_back(maps, pair, image):
    explorer = AttentionExplorer([maps, pair], [image, image], layer=2, fusion="mean")
    state = explorer.everything()
    view = pack(state)
    assert unpack(json.loads(json.dumps(view))) == state
    # JupyterLab hides a view that names no model; another widget's view is not ours.
    assert view["model_id"] == "" and unpack({"model_id": "123"}) is None


def test_what_a_notebook_of_an_earlier_release_keeps_is_read():
    packed = lambda **values: to_base64(json.dumps(values).encode() + b"\0a\0b")  # noqa: E731
    explorer = {"model_id": "", "vit_explorer": packed(layer=3, _panels=[])}
    assert unpack(explorer) == {"_name": "explorer", "layer": 3, "_panels": [], "_data": b"a\0b"}
    figure = {"model_id": "", "vit_play": packed(_name="rope", _facts={}, state={"key": 3})}
    assert unpack(figure) == {"_name": "rope", "_facts": {}, "state": {"key": 3}, "_data": b"a\0b"}


@pytest.mark.parametrize("kind", ["pair", "maps"])
def test_of_a_large_one_some_layers_are_kept(kind, image):
    q, k = torch.randn(2, 7, H, T, D)
    maps = attention_weights(q, k)
    explorer = AttentionExplorer((q, k) if kind == "pair" else maps, image, layer=3, fusion="rollout",
                                 features=torch.randn(T, 5))  # fmt: skip
    whole = explorer.everything()
    found = fitting(whole, 0.8 * len(whole["_data"]))
    (panel,) = found["_panels"]
    assert panel["layer_numbers"] == [0, 2, 3, 4, 6] and (panel["layers"], panel["all_layers"]) == (5, 7)
    assert found["layer"] == 2 and found["fusion"] == "mean" and len(found["_data"]) < 0.8 * len(whole["_data"])
    for index, number in enumerate(panel["layer_numbers"]):
        np.testing.assert_array_equal(layer_of(found, index), layer_of(explorer, number))
    np.testing.assert_array_equal(picture_of(explorer), image.permute(1, 2, 0).mul(255).round())
    assert fitting(whole, 10**6) is whole
    least = fitting(whole, 1)
    assert least["_panels"][0]["layer_numbers"] == [3, 6], "the one that is shown and the last stay"


def test_stored_explorers_are_small():
    views = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        assert path.stat().st_size < 5e6
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        views += [output.get("data", {}).get(VIEW) for cell in cells for output in cell.get("outputs", [])]
    found = [(view, unpack(view)) for view in views if view]
    explorers = [view for view, state in found if state and state["_name"] == "explorer" and state["_panels"]]
    assert explorers and all(len(json.dumps(view)) < 2.7e6 for view in explorers)
