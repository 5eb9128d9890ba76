"""The button for the reader's own picture, without a browser: what Python does with what the browser sends."""

import numpy as np
import pytest
import torch
from conftest import cases
from pictures import encoded
from PIL import Image
from torch import nn

from vit_course import data
from vit_course.explorer import explore, upload
from vit_course.vit import ViT, ViTConfig

SIZES = dict(image_size=(8, 16), patch_size=4, num_classes=3, hidden_dim=12, num_layers=3, num_heads=2, mlp_dim=20)
WORDS = "A button for a picture of your own: run this cell to use it."


@pytest.fixture
def model():
    return ViT(ViTConfig(**SIZES)).eval()


def photograph(size=(40, 60), seed=0):
    """The bytes of a picture taken upright and stored lying down."""
    pixels = np.random.RandomState(seed).randint(0, 256, (*size, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(pixels), format="JPEG", exif=exif)


def send(button, content, name="photo.jpg", note="", refusal=""):
    """As the browser sends it."""
    said = {"name": name, "note": note, "refusal": refusal}
    button.children[0]._handle_custom_msg(said, [memoryview(content)] if not refusal else [])


def said(button):
    return button.children[0].message


def test_the_picture_is_explored_as_its_file_would_be(model, tmp_path):
    seen = []

    def preprocess(images):
        seen.append(images)
        return images / 255

    button = upload(model, preprocess, layer=2)
    assert button.explorer is None and len(button.children) == 1
    send(button, photograph())
    (tmp_path / "photo.jpg").write_bytes(photograph())
    expected = explore(model, tmp_path / "photo.jpg", preprocess, layer=2)
    assert button.children[1] is button.explorer and button.explorer.layer == 2
    np.testing.assert_array_equal(button.explorer.attention(), expected.attention())
    assert button.explorer._data == expected._data and torch.equal(*seen)
    assert torch.equal(seen[0][0], data.open_image(photograph(), (8, 16)))
    assert said(button) == "Below: photo.jpg, upright and cropped at its centre, at 8 x 16 pixels."


def test_another_picture_takes_the_place_and_the_note_is_told(model):
    button = upload(model)
    assert button._repr_mimebundle_()["text/plain"] == WORDS
    send(button, photograph())
    first = button.explorer
    send(button, photograph(seed=1), name="second.jpg", note="Your browser made it smaller.")
    assert button.children == (button.children[0], button.explorer) and button.explorer is not first
    assert first.comm is None, "the first one's data are let go"
    assert said(button).startswith("Your browser made it smaller. Below: second.jpg, ")


@cases(
    ("content", "refusal", "message"),
    [
        (b"no picture", "", "photo.jpg is no readable image: its content has no image format that is known here. "),
        (photograph()[:700], "", "photo.jpg is no readable image: image file is truncated"),
        (b"", "", "photo.jpg is no readable image: it is empty. "),
        (b"", "photo.jpg has 12.0 MB: at most 8.0 MB can be sent. Please choose another picture.", "photo.jpg has 12"),
    ],
)
def test_what_cannot_be_used_takes_the_explorer_away(model, content, refusal, message):
    button, heard = upload(model), []
    send(button, photograph())
    button.children[0].observe(lambda change: heard.append(change["new"]), "message")
    for _ in range(2):
        send(button, content, refusal=refusal)
        assert button.explorer is None and len(button.children) == 1
        assert said(button).startswith(message) and said(button).endswith(" Please choose another picture.")
    assert heard == ["", said(button)] * 2, "said again, it is heard again"
    send(button, photograph())
    assert button.explorer is not None, "the next picture is shown"


def test_what_goes_wrong_elsewhere_is_told_too(model):
    def preprocess(images):
        raise KeyError("no such thing")

    button = upload(model, preprocess)
    send(button, photograph())
    assert said(button) == "photo.jpg could not be shown: KeyError: 'no such thing'" and button.explorer is None
    button = upload(model, color=1)
    send(button, photograph())
    assert "no state 'color'" in said(button)
    with pytest.raises(ValueError, match="what size of image the model takes"):
        upload(nn.Linear(2, 2))


def test_a_model_of_grey_images_gets_a_grey_picture():
    button = upload(ViT(ViTConfig(**{**SIZES, "in_channels": 1})))
    send(button, photograph())
    assert button.explorer is not None, said(button)
