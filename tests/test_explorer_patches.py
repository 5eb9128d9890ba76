"""The explorer's grid lies where the patches are: on pictures with pixels that no patch sees, and on padded ones."""

import io

import numpy as np
import pytest
import timm
import torch
from conftest import thoroughly
from explored import NEEDS_CHROMIUM, SCREENSHOTS, choose, opening, photograph, pixels, violations
from PIL import Image
from sent import picture_of, section
from test_patch_geometry import Sized, timms

from vit_course.explorer import AttentionExplorer, explore
from vit_course.explorer.comparison import changed
from vit_course.explorer.panel import cut_out
from vit_course.maps import record_attention


def padding():
    options = dict(img_size=48, patch_size=8, dynamic_img_size=True, dynamic_img_pad=True)
    return timms("vit_tiny_patch16_224", **options).eval()


def white_patch(model, size, token) -> torch.Tensor:
    """An image that is white where one token's patch is, dark grey elsewhere, and red where no patch sees it."""
    with torch.no_grad(), record_attention(model) as recorded:
        model(torch.zeros(1, 3, *size))
    tokens = recorded.tokens()
    image = torch.full((3, *size), 0.2)
    image[:, tokens.geometry.unseen()] = torch.tensor([1.0, 0.0, 0.0])[:, None]
    top, left, bottom, right = tokens.pixels(token)
    image[:, top:bottom, left:right] = 1
    return image


def given_as_it_is(model, image, **options) -> AttentionExplorer:
    return explore(model, image, lambda _: image[None], **options)


UNSEEN = "No patch sees the outermost pixels: 3 of 43 at the bottom, 2 of 50 at the right."
PADDED = "The model adds pixels beyond the picture, drawn hatched: 5 at the bottom, 6 at the right."
OVERLAP = (
    "No patch sees the outermost pixels: 3 of 43 at the bottom, 10 of 50 at the right. "
    "Patches of 16 x 16 pixels overlap: each is drawn as its middle 12 x 12."
)
# The model, (rows, columns), the part of the picture of 43 x 50 that is drawn, and the note.
MODELS = {
    "unseen": (lambda: Sized(8, 8).eval(), (5, 6), (0, 0, 40, 48), UNSEEN),
    "padded": (padding, (6, 7), (0, 0, 48, 56), PADDED),
    "overlapping": (lambda: Sized(16, 12).eval(), (3, 3), (2, 2, 38, 38), OVERLAP),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_picture_is_cut_to_the_patches(name):
    make, grid, (top, left, bottom, right), note = MODELS[name]
    image = torch.rand(3, 43, 50)
    explorer = given_as_it_is(make(), image)
    (panel,) = explorer._panels
    assert (panel["rows"], panel["columns"]) == grid and panel["note"] == note
    assert (panel["height"], panel["width"]) == (bottom - top, right - left)
    drawn = picture_of(explorer).astype(int)
    inside = image[:, top:bottom, left:right].mul(255).round().permute(1, 2, 0).numpy()
    assert np.abs(drawn[: inside.shape[0], : inside.shape[1]] - inside).max() <= 1
    if name == "padded":
        assert set(np.unique(drawn[43:])) | set(np.unique(drawn[:, 50:])) == {32, 96} and panel["kept"] is None
    else:
        assert panel["kept"] == pytest.approx([(bottom - top) / 43, (right - left) / 50])
        assert panel["at"] == pytest.approx([top / 43, left / 50])
        whole = Image.open(io.BytesIO(section(explorer, "whole")))
        assert whole.size == (4 * 50, 4 * 43), "so that its few pixels can be told apart"


def test_a_sharper_picture_is_cut_at_the_same_place():
    model = timm.create_model("vit_small_patch14_dinov2", img_size=104, depth=1, embed_dim=24, num_heads=2).eval()
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (13, 13, 3), np.uint8)).resize((520, 520))
    (panel,) = (explorer := explore(model, picture))._panels
    assert (
        panel["kept"] == pytest.approx([98 / 104] * 2)
        and panel["at"] == [0, 0]
        and (panel["rows"], panel["width"]) == (7, 98)
    )
    drawn = picture_of(explorer).astype(float)
    assert drawn.shape == (490, 490, 3)
    assert np.abs(drawn - np.asarray(picture)[:490, :490]).mean() < 3, "but for JPEG"


@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
def test_what_lies_beyond_a_picture_is_hatched(mode):
    picture = Image.new("RGB", (30, 20), (204, 204, 204)).convert(mode)
    out = np.asarray(cut_out(picture, (-2, 5, 33, 24)).convert("RGB"))
    assert out.shape == (19, 35, 3) and (out[:15, 2:32] == 204).all()
    for beyond in (out[:, :2], out[:, 32:], out[15:]):
        assert set(np.unique(beyond)) == {32, 96}


def test_beside_it_only_what_patches_see_is_changed():
    model, image = Sized(8, 8).eval(), torch.rand(3, 43, 50)
    explorer = given_as_it_is(model, image)
    order = explorer._shown[0].order
    with torch.no_grad(), record_attention(model) as recorded:
        model(image[None])
    flipped = changed(image[None], recorded.tokens(), "flipped")[0]
    assert torch.equal(flipped[:, :40, :48], image[:, :40, :48].flip(2))
    assert torch.equal(flipped[:, 40:], image[:, 40:]) and torch.equal(flipped[:, :, 48:], image[:, :, 48:])
    beside = explore(model, image, lambda _: image[None], beside="flipped")
    assert np.array_equal(picture_of(beside, 1), picture_of(beside, 0)[:, ::-1])
    assert beside._panels[1]["link"][1] == order.grid[1], "the first patch is now the last of its row"
    with pytest.raises(
        ValueError, match="beside='flipped' needs patches that lie inside the image, but this model pads it"
    ):
        explore(padding(), image, lambda _: image[None], beside="flipped")


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        (
            (Image.new("RGB", (4, 4)), (2.5, 1), (0, 0)),
            "the shares of the whole picture must be two numbers greater than 0",
        ),
        (
            (Image.new("RGB", (4, 4)), (1, 1), (0,)),
            r"the shares above and to the left must be two numbers .* got \[0.0\]",
        ),
        (
            (Image.new("RGB", (4, 4)), (1, 1), (0, 3)),
            "the shares above and to the left must be two numbers from -1 to 1",
        ),
    ],
)
def test_a_part_that_cannot_be(whole, message):
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(torch.full((1, 1, 4, 4), 0.25), torch.zeros(3, 4, 4), prefix=0, whole=whole)
    with pytest.raises(ValueError, match="note must be text, got 3"):
        AttentionExplorer(torch.full((1, 1, 4, 4), 0.25), torch.zeros(3, 4, 4), prefix=0, note=3)


@pytest.fixture
def opened(browser, tmp_path):
    with opening(browser, tmp_path / "explorer.html") as opened:
        yield opened


@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", MODELS)
def test_a_click_on_a_patch_asks_for_its_token(opened, name):
    make, (rows, columns), _, note = MODELS[name]
    torch.manual_seed(0)
    model, place = make(), (rows - 2, columns - 2)
    token = 1 + place[0] * columns + place[1]
    page = opened(given_as_it_is(model, white_patch(model, (43, 50), token), overlay="off", query=0))
    assert note in page.inner_text(".vit-panel")
    shown = photograph(page)
    white = shown.min(axis=2) > 160
    height, width = white.shape
    box = [(line.argmax(), line.size - line[::-1].argmax()) for line in (white.any(1), white.any(0))]
    (top, bottom), (left, right) = box
    # The white patch fills its cell; where patches overlap, it is larger by 2 of 12 pixels on each side.
    more = 1 / 6 if name == "overlapping" else 0
    for found, first, count, side in ((top, place[0] - more, rows, height), (left, place[1] - more, columns, width)):
        assert found / side == pytest.approx(first / count, abs=0.02)
    for found, end, count, side in (
        (bottom, place[0] + 1 + more, rows, height),
        (right, place[1] + 1 + more, columns, width),
    ):
        assert found / side == pytest.approx(end / count, abs=0.02)
    assert not (shown[..., 0] > 120 + shown[..., 1]).any(), "what no patch sees is not under the grid"
    main = page.locator(".vit-main").bounding_box()
    for down, across in (
        ((top + 4, left + 4), (bottom - 4, right - 4)) if not more else [((top + bottom) / 2, (left + right) / 2)]
    ):
        page.mouse.move(main["x"] + across / width * main["width"], main["y"] + down / height * main["height"])
        page.wait_for_selector(f".vit-explorer[data-query='{token}']", state="attached")


@NEEDS_CHROMIUM
def test_what_no_patch_sees_is_shown_dark_beside_a_frame(opened):
    model = Sized(8, 8).eval()
    page = opened(given_as_it_is(model, white_patch(model, (43, 50), 1)))
    page.get_by_text("Drawn above is only this part: 96 % of the photograph's width, 93 % of its height").click()
    page.wait_for_selector(".vit-whole[data-drawn]")
    picture = pixels(page, ".vit-whole")
    assert picture.shape[:2] == (172, 200)
    unseen = picture[80, 196]
    assert 60 < unseen[0] < 140 and unseen[2] < 50, "red, and dark"
    assert picture[16, 16].min() > 230


@NEEDS_CHROMIUM
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), *thoroughly((850, "dark"), (1280, "light"))])
def test_everybody_can_read_what_is_said_of_the_edges(opened, width, scheme):
    model = padding() if scheme == "dark" else Sized(8, 8).eval()
    image = torch.rand(3, 43, 50)
    page = opened(given_as_it_is(model, image), width=width, color_scheme=scheme)
    for fold in page.locator(".vit-cut summary").all():
        fold.click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    choose(page, "Heat")
    page.screenshot(path=SCREENSHOTS / f"explorer_patches_{width}.png")
