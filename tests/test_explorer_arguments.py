"""What the explorer is given: what it cannot use is refused in one sentence, what is close to right is taken."""

import numpy as np
import pytest
import torch
import torchvision
import traitlets
import transformers
from PIL import Image
from sent import maps_of, picture_of
from torch import nn

from vit_course.explorer import AttentionExplorer, PictureUpload, explore, upload
from vit_course.explorer.arguments import STATE
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT, ViTConfig

L, H, T = 3, 2, 9
SIZES = dict(image_size=(8, 16), patch_size=4, num_classes=3, hidden_dim=12, num_layers=L, num_heads=H, mlp_dim=20)
SAYS = dict(labels=["a", "b"], probabilities=[0.5, 0.5], lens=[[0.5, 0.5]] * (L + 1), about="")
MAPS, IMAGE = torch.randn(L, H, T, T).softmax(dim=-1), torch.rand(3, 8, 16)
TWO = {"maps": [MAPS, MAPS], "image": [IMAGE, IMAGE]}


@pytest.fixture
def model():
    return ViT(ViTConfig(**SIZES)).eval()


class Recorded:
    stacked = None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": None}, "an image must be a tensor or an array .* got None"),
        ({"image": np.array(["a"])}, r"got ndarray of shape \(1,\) of <U1"),
        ({"image": IMAGE.permute(1, 2, 0)}, r"\(8, 16, 3\): move its last axis to the front"),
        ({"image": torch.rand(2, 8, 16)}, r"got shape \(2, 8, 16\)"),
        ({"image": IMAGE[:, :0]}, r"at least one pixel, got shape \(3, 0, 16\)"),
        ({"image": (255 * IMAGE).long()}, "bytes .uint8. or floats, got torch.int64"),
        ({"image": IMAGE / 0}, "the image must be finite, but 384 of 384 numbers are NaN or infinite"),
        ({"maps": MAPS.round().long()}, r"got Tensor of shape \(3, 2, 9, 9\) of torch.int64"),
        ({"maps": MAPS.to("meta")}, "maps must hold numbers, got a tensor on the device meta"),
        ({"maps": Recorded()}, r"got Recorded: give its stacked\(\)\[0\], or its queries"),
        ({"maps": (MAPS, MAPS)}, "a tuple means queries and keys, but these are maps: give several maps as a list"),
        ({"maps": (MAPS[..., :5], MAPS)}, r"queries have shape \(3, 2, 9, 5\), but keys \(3, 2, 9, 9\): they must be"),
        ({"maps": (MAPS[0], MAPS[0])}, r"queries must be \(L, h, T, d\) of one image, got shape \(2, 9, 9\)"),
        ({"maps": (MAPS / 0, MAPS)}, "queries must be finite, but 486 numbers are NaN or infinite"),
        ({"maps": torch.stack([MAPS, MAPS])}, r"\(L, h, T, T\) of one image, got shape \(2, 3, 2, 9, 9\)"),
        ({"maps": MAPS[..., :-1]}, r"\(L, h, T, T\) of one image, got shape \(3, 2, 9, 8\)"),
        ({"maps": 2 * MAPS}, r"must sum to 1 .* but one sum is 2\.000"),
        ({"maps": MAPS.roll(1, -1) * 2 - MAPS}, "negative number, .* the smallest number is -"),
        ({"maps": [MAPS, MAPS]}, "several maps need a list of images, one for each, got Tensor"),
        ({"grid": (0, 9)}, r"grid must be \(rows, columns\), two ints of at least 1, got "),
        ({"grid": (3, 4)}, "the maps have 9 tokens, but 3 x 4 patches with no other token make 12"),
        ({"image": IMAGE[..., :-1]}, "no grid of square patches over an image of 8 x 15 has 9 tokens"),
        ({"image": IMAGE[..., :8]}, r"may be 0 and 3 x 3 patches, or 5 and 2 x 2 patches: give grid=.*, prefix="),
        ({"features": [1, 2]}, r"features must be a tensor or an array \(T, D\), got \[1, 2\]"),
        ({"features": torch.zeros(8, 5)}, r"features must be \(T, D\) of 9 tokens, got shape \(8, 5\)"),
        ({"says": "a cat"}, 'says must be a dict of "labels", "probabilities", "lens" and "about", got .a cat.'),
        ({"says": SAYS | {"lens": [[0.5, 0.5]] * L}}, "for each of 2 labels, and lens 4 rows of as many"),
        ({"says": SAYS | {"probabilities": [1.5, -0.5]}}, "says must hold probabilities, from 0 to 1"),
        ({"says": SAYS | {"labels": [1, 2]}}, "titles must be a list of texts, one for each image, got "),
        (TWO | {"image": [IMAGE]}, "the same length, at least 1, got 2 for maps, 1 for image"),
        (TWO | {"prefix": [["a"], ["b"], ["c"]]}, "2 for maps, 2 for image, 2 for title, 2 for grid, 3 for prefix"),
        (TWO | {"titles": "ab"}, "titles must be a list of texts, one for each image, got 'ab'"),
        (TWO | {"link": [None, [0] * 8]}, "link must be 9 ints from 0 to 8, one for each token of the first panel"),
        (TWO | {"link": [None, [9] * 9]}, "link must be 9 ints from 0 to 8"),
    ],
)
def test_what_the_explorer_cannot_use(changes, message):
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(**{"maps": MAPS, "image": IMAGE} | changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layer", 3, "layer must be a whole number from 0 to 2, got 3"),
        ("head", 2, "head must be a whole number from 0 to 1, got 2"),
        ("query", True, "query must be a whole number from 0 to 8, got True"),
        ("query", 9, "query must be a whole number from 0 to 8, got 9"),
        ("key", -2, "key must be a whole number from -1 to 8, got -2"),
        ("fusion", "max", 'fusion must be one of "head", "mean", "rollout", got \'max\''),
        ("overlay", None, 'overlay must be one of "spotlight", "heat", "outline", "off", got None'),
        ("fixed", 1.5, "fixed must be a number from 0.0001 to 1, got 1.5"),
        ("smooth", "no", "smooth must be True or False, got 'no'"),
        ("tour", "looks", 'tour must be one of "", "look", got \'looks\''),
    ],
)
def test_a_state_that_is_none(model, name, value, message):
    for make in (AttentionExplorer, explore):
        with pytest.raises(ValueError, match=message):
            make(*((MAPS, IMAGE) if make is AttentionExplorer else (model, 2 * IMAGE - 1)), **{name: value})
    explorer = AttentionExplorer(MAPS, IMAGE)
    before = getattr(explorer, name)
    with pytest.raises(traitlets.TraitError):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before


def test_a_state_of_another_name():
    for name in ("color", "_panels"):
        with pytest.raises(TypeError, match=f"no state '{name}': it has {', '.join(STATE)}"):
            AttentionExplorer(MAPS, IMAGE, **{name: 1})
    explorer = AttentionExplorer(MAPS, IMAGE, layer=1, query=4, fixed=1, tour="look")
    assert (explorer.layer, explorer.query, explorer.fixed, explorer.tour) == (1, 4, 1, "look")


def test_more_weights_than_a_page_takes(monkeypatch):
    monkeypatch.setattr("vit_course.explorer.arguments.MOST_WEIGHTS", 3 * 2 * 9 * 9 - 1)
    message = r"maps of shape \(3, 2, 9, 9\) hold 0 million weights, .* give queries and keys, .* or fewer layers"
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(MAPS, IMAGE)
    assert AttentionExplorer(MAPS[-2:], IMAGE).layer == 1


def test_both_functions_look_at_the_model_and_its_arguments(model):
    for error, message, given, options in (
        (TypeError, "^model must be a torch.nn.Module, got the class ViT$", ViT, {}),
        (TypeError, "^model must be a torch.nn.Module, got str$", "shapes", {}),
        (
            ValueError,
            "model holds no numbers, because it is on the device meta",
            ViT(ViTConfig(**SIZES)).to("meta"),
            {},
        ),
        (ValueError, r"grid must be \(rows, columns\), two ints of at least 1, got ", model, {"grid": (2,)}),
        (ValueError, "prefix must be the names of the tokens before the patches", model, {"prefix": -1}),
        (ValueError, "prefix must be the names of the tokens before the patches", model, {"prefix": [1]}),
        (ValueError, "preprocess must be a function of the images, got 3", model, {"preprocess": 3}),
    ):
        for arguments in ((given, IMAGE), (given,)):
            with pytest.raises(error, match=message):
                (explore if len(arguments) == 2 else upload)(*arguments, **options)
    with pytest.raises(ValueError, match="show must be a function from a file to a widget, got str"):
        PictureUpload("show")


class Encoding(dict):
    pixel_values = None


SWIN = torchvision.models.SwinTransformer([4, 4], 12, [1, 1], [2, 2], [2, 2])
FLAT = nn.Sequential(nn.Flatten(), nn.Linear(5, 3), nn.MultiheadAttention(4, 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preprocess": lambda x: None}, "preprocess must return a tensor .1, C, H, W. of floats, got None"),
        ({"preprocess": lambda x: Encoding()}, "got {}: take its pixel_values"),
        ({"preprocess": lambda x: x.repeat(2, 1, 1, 1)}, r"got shape \(2, 3, 8, 16\)"),
        ({"preprocess": lambda x: x.long()}, "of torch.int64"),
        ({"preprocess": lambda x: x / 0}, "what preprocess returned must be finite, but 384 of 384"),
        ({"image": "none.png"}, "there is no file"),
        ({"image": __file__}, "not a readable image"),
        ({"image": torch.rand(2, 3, 8, 16)}, r"got shape \(2, 3, 8, 16\)"),
        ({"image": [1, 2]}, "a path or a tensor"),
        ({"model": FLAT}, r"the model cannot take images of shape \(1, 3, 8, 16\): .*mat1"),
        ({"model": nn.Sequential(nn.Flatten(), nn.Linear(384, 2))}, "nothing was recorded"),
        ({"model": SWIN, "image": torch.randn(3, 32, 32)}, "windows, frames, several"),
    ],
)
def test_what_cannot_be_explored(model, changes, message):
    with pytest.raises(ValueError, match=message):
        explore(**dict(model=model, image=2 * IMAGE - 1) | changes)
    assert FLAT.training, "the mode is put back"


def test_a_model_of_two_towers_names_the_one_to_explore():
    sizes = dict(num_hidden_layers=1, num_attention_heads=2, hidden_size=12, intermediate_size=20)
    config = transformers.SiglipConfig(text_config=sizes, vision_config=dict(sizes, image_size=28, patch_size=7))
    model, image = transformers.SiglipModel(config), torch.randn(3, 28, 28)
    with pytest.raises(ValueError, match=r"cannot take images .* several parts: explore model\.vision_model"):
        explore(model, image)
    assert explore(model.vision_model, image)._panels[0]["names"] == []


def test_the_maps_are_those_of_the_model_and_its_mode_is_put_back(model):
    image = 2 * IMAGE - 1
    with torch.no_grad(), record_attention(model) as recorded:
        model(image[None])
    np.testing.assert_allclose(maps_of(explore(model.train(), image)), recorded.stacked()[0], atol=1e-3)
    assert model.training


def test_images_of_any_numbers_are_shown(model):
    pixels = np.random.RandomState(0).randint(0, 256, (30, 40, 4), dtype=np.uint8)
    panel = explore(model, Image.fromarray(pixels), lambda images: images / 100)._panels[0]
    assert (panel["height"], panel["width"]) == (8, 16)
    assert picture_of(explore(model, torch.full((3, 8, 16), 5.0))).max() == 0
    sent = picture_of(explore(model, 10 * IMAGE - 5))
    assert sent.min() < 40 and sent.max() > 215, "from the darkest to the brightest"
