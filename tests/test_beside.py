"""What is made of explorers: several at once, a saved page, the button for the reader's own picture."""

import errno
import json
import os
import re

import numpy as np
import pytest
import torch
from pictures import encoded
from PIL import Image
from sent import maps_of, picture_of
from torch import nn

from vit_course import data
from vit_course._support.widgets import scripts
from vit_course.explorer import AttentionExplorer, explore, upload
from vit_course.explorer.comparison import CHANGES, changed, link_of
from vit_course.maps.models.tokens import Tokens
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


@pytest.mark.parametrize("how", CHANGES)
def test_one_picture_changed_stands_beside_itself(model, how):
    image = 2 * torch.rand(3, 12, 20) - 1
    explorer = explore(model, image, beside=how, query=9)
    first, second = explorer._panels
    assert [first["title"], second["title"]] == ["the picture", how]
    assert first["link"] is None and second["link"] == link_of(Tokens(("class token",), (3, 5)), how)
    expected = explore(model, changed(image[None], Tokens((), (3, 5)), how)[0])
    np.testing.assert_allclose(maps_of(explorer, 1), maps_of(expected), atol=1e-5)
    there = expected._shown[0].shown(1, 0, "head", second["link"][9], "from")
    np.testing.assert_allclose(explorer.attention(1), there, atol=1e-5)
    assert np.abs(picture_of(explorer, 1).astype(int) - picture_of(explorer)).max() > 20
    assert [p["title"] for p in explore(model, image, beside=how, titles=["a", "b"])._panels] == ["a", "b"]


def test_several_images_and_several_models(model, tmp_path):
    images = [torch.randn(3, 12, 20) for _ in range(3)]
    explorer = explore(model, images)
    assert [panel["title"] for panel in explorer._panels] == ["A", "B", "C"]
    np.testing.assert_array_equal(maps_of(explorer, 2), maps_of(explore(model, images[2])))
    other = ViT(ViTConfig(**{**SIZES, "patch_size": 2, "pool": "mean", "num_layers": 3}))
    explorer = explore([model, other], images[0], titles=["coarse", "fine"], head=0)
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


@pytest.fixture
def explorer():
    return AttentionExplorer(torch.randn(3, 2, 9, 9).softmax(dim=-1), torch.rand(3, 8, 16), layer=1)


def test_the_saved_page_is_whole_and_asks_for_nothing(explorer, tmp_path):
    explorer.save_html(tmp_path / "page.html", title="</script><b>mine & yours")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href|import|fetch|url)\s*[=(]\s*[\"']?(https?:|//)", page)
    assert "&lt;/script&gt;&lt;b&gt;mine &amp; yours" in page and "</script><b>" not in page
    assert page.count("</script>") == 3, "nothing ends a script early"
    state = json.loads(re.search(r'class="vit-explorer-state">(.*?)</script>', page, re.DOTALL)[1])
    assert state["layer"] == 1 and state["_panels"][0]["tokens"] == 9


def test_a_page_is_replaced_only_if_asked(explorer, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"page\.html already exists: choose another name, or pass overwrite=True"
    ):
        explorer.save_html(path)
    assert path.read_text() == "mine"
    explorer.save_html(str(path), overwrite=True)
    assert path.read_text().startswith("<!doctype html>") and list(tmp_path.iterdir()) == [path]


def test_a_path_that_is_none(explorer, tmp_path):
    (tmp_path / "folder.html").mkdir()
    for path, message in (
        (tmp_path / "page", r"the name of a page must end in \.html, got .*page"),
        (tmp_path / "page.png", r"page\.png"),
        (tmp_path / "folder.html", r"folder\.html is a folder"),
        (5, "path must be a str or a Path, got 5"),
    ):
        with pytest.raises(ValueError, match=message):
            explorer.save_html(path, overwrite=True)
    with pytest.raises(FileNotFoundError, match=os.strerror(errno.ENOENT)) as caught:
        explorer.save_html(tmp_path / "no" / "page.html")
    assert caught.value.filename == str(tmp_path / "no" / "page.html")
    with pytest.raises(ValueError, match=r"titles must be .* got .*5"):
        explorer.save_html(tmp_path / "page.html", title=5)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_a_script_ends_no_element(tmp_path, monkeypatch):
    (tmp_path / "explorer" / "static").mkdir(parents=True)
    (tmp_path / "explorer" / "static" / "widget.js").write_text('const a = "</script>";')
    monkeypatch.setattr(scripts, "PACKAGE", tmp_path)
    assert scripts.module("explorer") == r'const a = "<\/script>";'


WORDS = "A button for a picture of your own: run this cell to use it."


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

    button = upload(model, preprocess, layer=0)
    assert button.explorer is None and len(button.children) == 1
    send(button, photograph())
    (tmp_path / "photo.jpg").write_bytes(photograph())
    expected = explore(model, tmp_path / "photo.jpg", preprocess, layer=0)
    assert button.children[1] is button.explorer and button.explorer.layer == 0
    np.testing.assert_array_equal(button.explorer.attention(), expected.attention())
    assert button.explorer._data == expected._data and torch.equal(*seen)
    assert torch.equal(seen[0][0], data.open_image(photograph(), (12, 20)))
    assert said(button) == "Below: photo.jpg, upright and cropped at its centre, at 12 x 20 pixels."


def test_another_picture_takes_the_place_and_the_note_is_told(model):
    button = upload(model)
    assert button._repr_mimebundle_()["text/plain"] == WORDS
    send(button, photograph())
    first = button.explorer
    send(button, photograph(seed=1), name="second.jpg", note="Your browser made it smaller.")
    assert button.children == (button.children[0], button.explorer) and button.explorer is not first
    assert first.comm is None, "the first one's data are let go"
    assert said(button).startswith("Your browser made it smaller. Below: second.jpg, ")


@pytest.mark.parametrize(
    ("content", "refusal", "message"),
    [
        (b"no picture", "", "photo.jpg is not a readable image: its content is not in a known image format. "),
        (photograph()[:700], "", "photo.jpg is not a readable image: image file is truncated"),
        (b"", "", "photo.jpg is not a readable image: it is empty. "),
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
    with pytest.raises(ValueError, match="which image size the model takes"):
        upload(nn.Linear(2, 2))


def test_a_model_of_grey_images_gets_a_grey_picture():
    button = upload(ViT(ViTConfig(**{**SIZES, "in_channels": 1})))
    send(button, photograph())
    assert button.explorer is not None, said(button)
