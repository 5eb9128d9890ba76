"""The attention explorer without a browser: its data, its state, its picture, its page, and models of all kinds."""

import json

import numpy as np
import pytest
import torch
import traitlets
from conftest import ROOT, cases
from sent import features_of, layer_of, maps_of, picture_of

from vit_course.attention import attention_weights
from vit_course.explorer import AttentionExplorer, embedded, explore
from vit_course.maps import interpret
from vit_course.vit import ViT, ViTConfig

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
    explorer = AttentionExplorer(pair, image)
    expected = dict(
        title="", layers=L, heads=H, tokens=T, prefix=1, names=["class token"], rows=ROWS, columns=COLUMNS, height=8,
        width=16, kind="qk", dim=D, scale=D**-0.5, layer_numbers=[0, 1, 2], all_layers=L, link=None, says=None,
    )  # fmt: skip
    (panel,) = explorer._panels
    assert {name: value for name, value in panel.items() if name != "sections"} == expected
    close(maps_of(explorer), attention_weights(*pair))
    np.testing.assert_allclose(maps_of(explorer).sum(-1), 1, atol=1e-5)
    assert explorer.attention().shape == (T,) and explorer.layer == L - 1 and explorer.query == 0
    five = AttentionExplorer(tuple(each[None].double().numpy() for each in pair), image)
    np.testing.assert_array_equal(maps_of(five), maps_of(explorer))


def test_maps_are_sent_exact_to_half_a_step(maps, image):
    explorer = AttentionExplorer(maps, image)
    assert explorer._panels[0]["kind"] == "maps" and "dim" not in explorer._panels[0]
    close(maps_of(explorer), maps, most=0.5 / 255 + 1e-6)
    assert sum(s["bytes"] for s in explorer._panels[0]["sections"] if s["name"] == "weights") == L * H * T * T


def test_the_picture_is_what_was_given_in_colour(maps, image):
    pixels = (image * 255).round().to(torch.uint8)
    np.testing.assert_array_equal(picture_of(AttentionExplorer(maps, pixels)), pixels.permute(1, 2, 0))
    grey = picture_of(AttentionExplorer(maps, pixels[:1]))
    assert grey.shape == (8, 16, 3) and (grey == pixels[0, :, :, None].numpy()).all()
    noise = AttentionExplorer(maps, torch.rand(3, 400, 800))
    picture = next(s for s in noise._panels[0]["sections"] if s["name"] == "picture")
    assert picture["media"] == "image/jpeg" and picture["bytes"] < 3 * 400 * 800


@cases("kind", ["pair", "maps"])
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


def test_it_opens_on_the_class_token_or_in_the_middle(pair, image):
    for prefix, query in ((["class token"], 0), (["register 1"], 1 + 4 + 2)):
        assert AttentionExplorer(pair, image, prefix=prefix).query == query
    without = tuple(each[:, :, 1:] for each in pair)
    assert AttentionExplorer(without, image).query == 6
    assert AttentionExplorer(without, image, query=0).query == 0


def test_the_state_can_be_observed(maps, image):
    explorer, seen = AttentionExplorer(maps, image), []
    explorer.observe(lambda change: seen.append((change["name"], change["new"])), ["layer", "query"])
    explorer.layer, explorer.query = 1, 5
    assert seen == [("layer", 1), ("query", 5)]


@cases(
    ("name", "value", "limit"),
    [
        ("layer", 3, "most 2"),
        ("head", 2, "most 1"),
        ("query", 9, "most 8"),
        ("query", -1, "least 0"),
        ("key", 9, "most 8"),
    ],
)
def test_a_state_out_of_range_names_both_numbers(maps, image, name, value, limit):
    explorer = AttentionExplorer(maps, image)
    with pytest.raises(traitlets.TraitError, match=f"{name} must be at {limit}, got {value}"):
        setattr(explorer, name, value)
    with pytest.raises(ValueError, match=f"{name} must be at {limit}, got {value}"):
        AttentionExplorer(maps, image, **{name: value})
    with pytest.raises(TypeError, match="no state 'color'"):
        AttentionExplorer(maps, image, color=1)


@cases(
    ("change", "message"),
    [
        (lambda m: m[0], r"\(L, h, T, T\) of one image, got shape \(2, 9, 9\)"),
        (lambda m: m[:, :, :, :-1], "got shape"),
        (lambda m: torch.stack([m, m]), "got shape"),
        (lambda m: 2 * m, r"sums to 1 .* here a sum is 2\.000"),
        (
            lambda m: m + torch.tensor([1.0, -1.0] + [0.0] * (T - 2)),
            "holds no negative number; .* the smallest number -",
        ),
        (lambda m: m * torch.nan, "NaN or infinite"),
        (lambda m: m[:0], "got shape"),
    ],
)
def test_bad_maps(maps, image, change, message):
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(change(maps), image)


def test_grids(maps, image):
    with pytest.raises(ValueError, match="a grid of 3 x 4 has 12 patches, the maps have 9 tokens"):
        AttentionExplorer(maps, image, grid=(3, 4))
    with pytest.raises(ValueError, match="no grid of square patches over an image of 8 x 15 has 9 tokens"):
        AttentionExplorer(maps, torch.rand(3, 8, 15))
    assert AttentionExplorer(maps, torch.rand(3, 8, 15), grid=(4, 2))._panels[0]["rows"] == 4
    without = maps[..., 1:, 1:] / maps[..., 1:, 1:].sum(-1, keepdim=True)
    assert AttentionExplorer(without, image)._panels[0]["prefix"] == 0


def test_names_of_the_tokens_before_the_patches(maps, image):
    for prefix, names in ((None, ["class token"]), (["register 1"], ["register 1"]), (1, ["class token"])):
        explorer = AttentionExplorer(maps, image, prefix=prefix, query=0)
        assert explorer._panels[0]["names"] == names and names[0] in explorer.figure().get_suptitle()
    four = torch.randn(L, H, T + 3, T + 3).softmax(dim=-1)
    assert AttentionExplorer(four, image)._panels[0]["names"] == [f"extra token {n}" for n in (1, 2, 3, 4)]
    both = AttentionExplorer([maps, four], [image, image], prefix=[["class token"], list("abcd")])
    assert [panel["names"] for panel in both._panels] == [["class token"], list("abcd")]
    assert len(AttentionExplorer([maps, maps], [image, image], prefix=["one"])._panels) == 2
    with pytest.raises(ValueError, match=r"9 tokens, and 2 x 4 patches with a, b make 10"):
        AttentionExplorer(maps, image, grid=(2, 4), prefix=["a", "b"])
    with pytest.raises(ValueError, match="got 2 for maps, 2 for image, 2 for title, 2 for grid, 3 for prefix"):
        AttentionExplorer([maps, maps], [image, image], prefix=[["a"], ["b"], ["c"]])


def test_more_than_one_grid_that_fits_is_asked_for(maps):
    square = torch.rand(3, 8, 8)
    message = (
        r"9 tokens may be 0 and 3 x 3 patches, or 5 and 2 x 2 patches: give grid=\(rows, columns\), prefix= or both"
    )
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(maps, square)
    for options, prefix in ((dict(prefix=0), 0), (dict(prefix=5), 5), (dict(grid=(3, 3)), 0), (dict(grid=(2, 2)), 5)):
        assert AttentionExplorer(maps, square, **options)._panels[0]["prefix"] == prefix
    with pytest.raises(ValueError, match="no grid of square patches"):
        AttentionExplorer(maps, square, prefix=1)


def test_several_images_side_by_side(maps, pair, image):
    explorer = AttentionExplorer([maps, maps[:2]], [image, torch.rand(1, 4, 8)], titles=["one", "two"])
    assert [p["title"] for p in explorer._panels] == ["one", "two"]
    assert [p["layers"] for p in explorer._panels] == [3, 2]
    assert explorer.layer == 2  # the first has it; the second shows its last
    np.testing.assert_allclose(explorer.attention(1), maps[1, 0, 0])
    with pytest.raises(ValueError, match="as many of each, and at least one, got 2 for maps, 1 for image"):
        AttentionExplorer([maps, maps], [image])
    # One query for both: by the link, by the name, or by the place.
    link = [0, *range(T - 1, 0, -1)]
    turned = AttentionExplorer([maps, pair], [image, image], link=[None, link], query=3)
    np.testing.assert_allclose(turned.attention(1), attention_weights(*pair)[2, 0, T - 3], rtol=1e-5)
    four = torch.randn(L, H, 3 + 32, 3 + 32).softmax(-1)
    finer = AttentionExplorer([maps, four], [image, image], prefix=[["b"], list("abc")], query=0)
    np.testing.assert_allclose(finer.attention(1), four[2, 0, 1])
    finer.query = 1 + 1 * 4 + 2  # row 1 of 2, column 2 of 4: row 3 of 4, column 5 of 8
    np.testing.assert_allclose(finer.attention(1), four[2, 0, 3 + 3 * 8 + 5])
    for wrong in ([0] * 8, [9] * 9, [0.5] * 9):
        with pytest.raises(ValueError, match="link must be 9 ints from 0 to 8, one for each token of the first panel"):
            AttentionExplorer([maps, maps], [image, image], link=[None, wrong])


def test_a_page_and_a_repository_have_something_to_show(maps, image, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw, metadata: shown.append((data, metadata)))
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
    view = embedded.pack(state)
    assert embedded.unpack(json.loads(json.dumps(view))) == state
    # JupyterLab hides a view that names no model; another widget's view is not ours.
    assert view["model_id"] == "" and embedded.unpack({"model_id": "123"}) is None


@cases("kind", ["pair", "maps"])
def test_of_a_large_one_some_layers_are_kept(kind, image):
    q, k = torch.randn(2, 7, H, T, D)
    maps = attention_weights(q, k)
    explorer = AttentionExplorer((q, k) if kind == "pair" else maps, image, layer=3, fusion="rollout",
                                 features=torch.randn(T, 5))  # fmt: skip
    whole = explorer.everything()
    found = embedded.fitting(whole, 0.8 * len(whole["_data"]))
    (panel,) = found["_panels"]
    assert panel["layer_numbers"] == [0, 2, 3, 4, 6] and (panel["layers"], panel["all_layers"]) == (5, 7)
    assert found["layer"] == 2 and found["fusion"] == "mean" and len(found["_data"]) < 0.8 * len(whole["_data"])
    for index, number in enumerate(panel["layer_numbers"]):
        np.testing.assert_array_equal(layer_of(found, index), layer_of(explorer, number))
    np.testing.assert_array_equal(picture_of(explorer), image.permute(1, 2, 0).mul(255).round())
    assert embedded.fitting(whole, 10**6) is whole
    least = embedded.fitting(whole, 1)
    assert least["_panels"][0]["layer_numbers"] == [3, 6], "the one that is shown and the last stay"


def test_stored_explorers_are_small():
    views = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            views += [
                view
                for o in cell.get("outputs", [])
                if (view := o.get("data", {}).get(VIEW)) and embedded.STORED in view
            ]
        assert path.stat().st_size < 5e6
    assert views and all(len(json.dumps(view)) < 2.7e6 and embedded.unpack(view)["_panels"] for view in views)


def test_the_tiny_model_makes_a_small_page(tmp_path):
    model = ViT(ViTConfig.preset("tiny-cifar"))
    explore(model, torch.randn(3, 32, 32)).save_html(tmp_path / "tiny.html")
    scripts = len(embedded.script()) + len(embedded.scripts.style("page"))
    assert (tmp_path / "tiny.html").stat().st_size < scripts + 100_000
