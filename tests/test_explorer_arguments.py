"""What the explorer is given: what it cannot use is refused in one sentence, what is close to right is taken."""

import numpy as np
import pytest
import torch
import traitlets
import transformers
from conftest import cases
from PIL import Image
from sent import picture_of
from torch import nn
from torch.nn.functional import one_hot

from vit_course.explorer import AttentionExplorer, PictureUpload, explore, upload
from vit_course.explorer.arguments import STATE
from vit_course.vit import ViT, ViTConfig

L, H, T = 3, 2, 9
SIZES = dict(image_size=(8, 16), patch_size=4, num_classes=3, hidden_dim=12, num_layers=L, num_heads=H, mlp_dim=20)


@pytest.fixture
def maps():
    return torch.randn(L, H, T, T).softmax(dim=-1)


@pytest.fixture
def image():
    return torch.rand(3, 8, 16)


@pytest.fixture
def model():
    return ViT(ViTConfig(**SIZES)).eval()


def with_nan(values):
    return values.masked_fill(one_hot(torch.tensor(3), values.shape[-1]).bool(), torch.nan)


@cases(
    ("change", "message"),
    [
        (lambda i: None, "an image must be a tensor or an array .* got None"),
        (lambda i: "photo.jpg", "got 'photo.jpg'"),
        (lambda i: i.tolist(), r"got \[\[\[0\.[^\n]{1,80}$"),
        (lambda i: np.array(["a"]), r"got ndarray of shape \(1,\) of <U1"),
        (lambda i: i.permute(1, 2, 0), r"\(8, 16, 3\): move its last axis to the front"),
        (lambda i: i[None], r"got shape \(1, 3, 8, 16\)"),
        (lambda i: torch.rand(2, 8, 16), r"got shape \(2, 8, 16\)"),
        (lambda i: i[:, :0], r"at least one pixel, got shape \(3, 0, 16\)"),
        (lambda i: (255 * i).long(), "bytes .uint8. or floats, got torch.int64"),
        (lambda i: i > 0.5, "got torch.bool"),
        (lambda i: with_nan(i), "the image must be finite, 24 of 384 numbers are NaN or infinite"),
        (lambda i: i.to("meta"), "the image must hold numbers, got a tensor on the device meta"),
        (lambda i: i.to_sparse(), "the image must be a dense tensor, got a sparse_coo one"),
    ],
)
def test_an_image_that_is_none(maps, image, change, message):
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(maps, change(image))


def test_images_of_every_kind_are_the_same_image(maps, image):
    pixels = (255 * image).round().to(torch.uint8)
    pillows = Image.fromarray(pixels.permute(1, 2, 0).numpy())
    expected = AttentionExplorer(maps, pixels)
    for given in (
        pillows,
        pixels.numpy(),
        pixels / 255,
        (pixels / 255).double().requires_grad_(),
        (pixels / 255).numpy(),
    ):
        assert AttentionExplorer(maps, given)._data == expected._data
    assert AttentionExplorer(maps, image.bfloat16(), grid=[2, 4]).figure()


@cases(
    ("change", "message"),
    [
        (lambda m: "maps", "maps must be a tensor or an array .* got 'maps'"),
        (lambda m: m[0, 0, 0, 0].item(), r"got 0\.\d+$"),
        (lambda m: m.round().long(), r"got Tensor of shape \(3, 2, 9, 9\) of torch.int64"),
        (lambda m: m.to("meta"), "maps must hold numbers, got a tensor on the device meta"),
        (lambda m: m.to_sparse(), "maps must be a dense tensor, got a sparse_coo one"),
        (
            lambda m: type("Recorded", (), {"stacked": None})(),
            r"got Recorded: give its stacked\(\)\[0\], or its queries",
        ),
        (lambda m: (m, m), "a tuple is queries and keys, and these are maps: give several maps as a list"),
        (lambda m: (m[..., :5], m), r"queries have shape \(3, 2, 9, 5\) and keys \(3, 2, 9, 9\): they must be equal"),
        (lambda m: (m[..., :5], None), r"keys must be a tensor or an array \(L, h, T, d\) of floats, got None"),
        (lambda m: (m[0], m[0]), r"queries must be \(L, h, T, d\) of one image, got shape \(2, 9, 9\)"),
        (lambda m: (m / 0, m), "queries hold 486 numbers that are NaN or infinite"),
    ],
)
def test_maps_that_are_none(maps, image, change, message):
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(change(maps), image)


@cases("grid", [4, "24", (2,), (2, 4, 1), (2.0, 4.0), (-2, -4), (0, 9), (True, 8), np.array([2, 4]), [np.int64(2), 4]])
def test_a_grid_that_is_none(model, maps, image, grid):
    message = r"grid must be \(rows, columns\), two ints of at least 1, got "
    for make in (lambda: AttentionExplorer(maps, image, grid), lambda: explore(model, image, grid=grid)):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match=message):
        upload(model, grid=grid)


@cases("titles", ["ab", [1, 2], {"a": 1, "b": 2}, 5])
def test_titles_that_are_none(maps, image, titles):
    with pytest.raises(ValueError, match="titles must be a list of texts, one for each image, got "):
        AttentionExplorer([maps, maps], [image, image], titles=titles)


def test_several_need_a_list_of_images(maps, image):
    with pytest.raises(ValueError, match="several maps need a list of as many images, got Tensor"):
        AttentionExplorer([maps, maps], image)


WRONG = [
    ("layer", 1.5, "layer must be an int of at least 0, got 1.5"),
    ("query", torch.tensor(4), r"query must be an int of at least 0, got tensor\(4\)"),
    ("head", "0", "head must be an int of at least 0, got '0'"),
    ("query", True, "query must be an int of at least 0, got True"),
    ("query", None, "query must be an int of at least 0, got None"),
    ("query", 9, "query must be at most 8, got 9"),
    ("key", -2, "key must be at least -1, got -2"),
    ("fusion", "max", "fusion must be 'head', 'mean' or 'rollout', got 'max'"),
    ("fusion", ["head"], r"fusion must be .* got \['head'\]"),
    ("direction", "back", "direction must be 'from' or 'to', got 'back'"),
    ("view", "maps", "view must be 'attention', 'similarity' or 'colours', got 'maps'"),
    ("overlay", None, "overlay must be 'spotlight', 'heat', 'outline' or 'off', got None"),
    ("scale", "shared", "scale must be 'own', 'layer' or 'fixed', got 'shared'"),
    ("fixed", 0, "fixed must be greater than 0, got 0"),
    ("fixed", 1.5, "fixed must be at most 1, got 1.5"),
    ("fixed", float("nan"), "fixed must be a number, got nan"),
    ("smooth", "no", "smooth must be True or False, got 'no'"),
    ("tour", "looks", "tour must be '' or 'look', got 'looks'"),
    ("pinned", "no", "pinned must be True or False, got 'no'"),
]


@cases(("name", "value", "message"), WRONG)
def test_a_state_that_is_none(model, maps, image, name, value, message):
    for make in (
        lambda: AttentionExplorer(maps, image, **{name: value}),
        lambda: explore(model, 2 * image - 1, **{name: value}),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    explorer = AttentionExplorer(maps, image)
    before = getattr(explorer, name)
    with pytest.raises(traitlets.TraitError):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before


def test_a_state_of_another_name(maps, image):
    for name in ("color", "_panels", "layout", "comm"):
        with pytest.raises(TypeError, match=f"no state '{name}': it has {', '.join(STATE)}"):
            AttentionExplorer(maps, image, **{name: 1})
    with pytest.raises(ValueError, match=r"layer must be an int of at least 0, got np\.int64\(2\)"):
        AttentionExplorer(maps, image, layer=np.int64(2))  # set later, the widget's own machinery makes an int of it
    explorer = AttentionExplorer(maps, image, layer=1, query=4, fixed=1, tour="look")
    assert (explorer.layer, explorer.query, explorer.fixed, explorer.tour) == (1, 4, 1, "look")


def test_more_weights_than_a_page_takes(maps, image, monkeypatch):
    monkeypatch.setattr("vit_course.explorer.arguments.MOST_WEIGHTS", 3 * 2 * 9 * 9 - 1)
    message = r"maps of shape \(3, 2, 9, 9\) hold 0 million weights, .* give queries and keys, .* or fewer layers"
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(maps, image)
    assert AttentionExplorer(maps[-2:], image).layer == 1


SAYS = dict(labels=["a", "b"], probabilities=[0.5, 0.5], lens=[[0.5, 0.5]] * (L + 1), about="")


@cases(
    ("features", "says", "message"),
    [
        ([1, 2], None, r"features must be a tensor or an array \(T, D\), got \[1, 2\]"),
        (torch.zeros(8, 5), None, r"features must be \(T, D\) of 9 tokens, got shape \(8, 5\)"),
        (torch.full((9, 5), torch.nan), None, "features must be finite"),
        (None, "a cat", 'says must be a dict of "labels", "probabilities", "lens" and "about", got .a cat.'),
        (None, SAYS | {"lens": [[0.5, 0.5]] * L}, "for each of 2 labels, and lens 4 rows of as many"),
        (None, SAYS | {"probabilities": [0.5]}, "a probability for each of 2 labels"),
        (None, SAYS | {"probabilities": [1.5, -0.5]}, "says must hold probabilities, from 0 to 1"),
        (None, SAYS | {"labels": [1, 2]}, "titles must be a list of texts|labels"),
    ],
)
def test_features_and_words_that_are_none(maps, image, features, says, message):
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(maps, image, features=features, says=says)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ViT, "got the class ViT"),
        ("shapes", "got str"),
        (None, "got NoneType"),
    ],
    ids=["class", "name", "none"],
)
def test_a_model_that_is_none(image, given, message):
    for call in (lambda: explore(given, image), lambda: upload(given)):
        with pytest.raises(TypeError, match=f"^model must be a torch.nn.Module, {message}$"):
            call()


def test_a_model_without_numbers(image, model):
    for call in (lambda: explore(model.to("meta"), image), lambda: upload(model.to("meta"))):
        with pytest.raises(ValueError, match="model holds no numbers, as it is on the device meta"):
            call()


class Features(dict):
    pixel_values = None


@cases(
    ("preprocess", "message"),
    [
        ("normalise", "preprocess must be a function of the images, got 'normalise'"),
        (lambda x: None, "preprocess must return a tensor .1, C, H, W. of floats, got None"),
        (lambda x: Features(), "got {}: take its pixel_values"),
        (lambda x: x[0], r"got shape \(3, 8, 16\)"),
        (lambda x: x.repeat(2, 1, 1, 1), r"got shape \(2, 3, 8, 16\)"),
        (lambda x: x.long(), "of torch.int64"),
        (lambda x: with_nan(x), "what preprocess returned must be finite, 24 of 384"),
        (lambda x: x[:, :2], "2"),
    ],
)
def test_a_preprocess_that_is_none(model, image, preprocess, message):
    with pytest.raises(ValueError, match=message):
        explore(model, image, preprocess)


def test_a_foreign_model_that_cannot_take_the_image(image):
    model = nn.Sequential(nn.Flatten(), nn.Linear(5, 3), nn.MultiheadAttention(4, 2))
    with pytest.raises(ValueError, match=r"the model cannot take images of shape \(1, 3, 8, 16\): .*mat1"):
        explore(model, image)
    assert model.training, "the mode is put back"


def test_a_model_of_two_towers_names_the_one_to_explore():
    sizes = dict(num_hidden_layers=1, num_attention_heads=2, hidden_size=12, intermediate_size=20)
    config = transformers.SiglipConfig(text_config=sizes, vision_config=dict(sizes, image_size=28, patch_size=7))
    model, image = transformers.SiglipModel(config), torch.randn(3, 28, 28)
    with pytest.raises(ValueError, match=r"cannot take images .* several parts, explore model\.vision_model"):
        explore(model, image)
    assert explore(model.vision_model, image)._panels[0]["names"] == []


def test_pillows_images_and_images_of_one_colour_are_explored(model):
    pixels = np.random.RandomState(0).randint(0, 256, (30, 40, 4), dtype=np.uint8)
    explorer = explore(model, Image.fromarray(pixels), lambda images: images / 100)
    assert (explorer._panels[0]["height"], explorer._panels[0]["width"]) == (8, 16)
    assert picture_of(explore(model, torch.full((3, 8, 16), 5.0))).max() == 0


def test_the_button_needs_functions(model):
    with pytest.raises(ValueError, match="show must be a function from a file to a widget, got str"):
        PictureUpload("show")
    with pytest.raises(ValueError, match="preprocess must be a function of the images, got 3"):
        upload(model, preprocess=3)
