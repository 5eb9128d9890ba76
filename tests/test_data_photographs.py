"""The photographs that come with the course: whole, small, with an author and a licence each, and masks that fit."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from PIL import Image

from vit_course import data
from vit_course.data.photographs import Photograph
from vit_course.pretrained.preprocessing import Preprocessing

FOLDER = ROOT / "res" / "photographs"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
ALL = data.photographs()
MASKED = [name for name, photograph in ALL.items() if photograph.polygons]
LICENCES = {"public domain", "CC0 1.0", "CC BY 2.0", "CC BY 4.0", "CC BY-SA 3.0", "CC BY-SA 4.0"}
# Places (x, y) in pixels of the file where anybody sees whether the object is there.
ON = {
    "astronaut": (256, 400), "cat": (200, 150), "coffee": (290, 150), "dahlia": (305, 220), "pagoda": (220, 320),
    "grace_hopper": (260, 230), "photographer": (100, 250), "rocket": (322, 250), "abbey": (205, 150),
    "bee": (90, 220), "bowl": (450, 250), "dogs": (240, 340), "drums": (270, 310), "hedgehog": (200, 170),
    "hens": (250, 200), "horse": (200, 150), "musician": (150, 150), "nuthatch": (280, 200),
    "pyramid": (300, 200), "statue": (240, 200),
}  # fmt: skip
OFF = {
    "astronaut": (420, 100), "cat": (420, 80), "coffee": (30, 30), "dahlia": (100, 300), "pagoda": (450, 300),
    "grace_hopper": (60, 200), "photographer": (400, 100), "rocket": (250, 250), "abbey": (30, 100),
    "bee": (350, 300), "bowl": (60, 350), "dogs": (350, 100), "drums": (550, 60), "hedgehog": (480, 60),
    "hens": (20, 150), "horse": (420, 100), "musician": (330, 120), "nuthatch": (120, 180), "pyramid": (80, 80),
    "statue": (225, 400),
}  # fmt: skip


def square(tmp_path, corners, size=(30, 50)):
    """A made-up photograph of (H, W), black, with a mask of these polygons."""
    path = tmp_path / "made.png"
    Image.new("RGB", size[::-1]).save(path)
    polygons = tuple(map(tuple, corners))
    return Photograph("made", path, size, "nothing", "nobody", "CC0 1.0", "here", "none", "a square", polygons)


BLOCK = [(10.0, 5.0), (20.0, 5.0), (20.0, 25.0), (10.0, 25.0)]


def test_no_file_without_an_entry_and_no_entry_without_a_file():
    listed = subprocess.run(["git", "ls-files", FOLDER], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    ours = {f"{name}.jpg" for name in ALL} | {"README.md", "masks.json", "photographs.json"}
    # What else lies there is a user's; without git nobody can tell.
    assert {Path(line).name for line in listed.splitlines()} in (ours, set())
    assert all((FOLDER / name).is_file() for name in ours)
    assert set(json.loads((FOLDER / "masks.json").read_text())) == set(MASKED) == set(ON) == set(OFF)
    assert len(ALL) >= 10 and sum(photograph.path.stat().st_size for photograph in ALL.values()) < 2_000_000


@pytest.mark.parametrize("name", ALL)
def test_each_has_an_author_a_licence_and_its_size(name):
    photograph = ALL[name]
    image = photograph.open()
    assert photograph.name == name and photograph.path == FOLDER / f"{name}.jpg"
    assert image.mode == "RGB" and photograph.size == (image.height, image.width)
    assert min(photograph.size) >= 300 and max(photograph.size) <= 640
    assert photograph.licence in LICENCES
    assert all([photograph.title, photograph.author, photograph.source, photograph.changes])
    (row,) = [row for row in PAGE if row.startswith(f"| `{name}.jpg` ")]
    cells = [cell.strip().partition("](")[0].strip("[") for cell in row.strip("|").split("|")]
    words = [photograph.title, photograph.author, photograph.licence, photograph.source, photograph.changes]
    assert cells[1:] == [*words, photograph.object or "none"]  # the page beside them says the same
    # An original that was not touched may have a comment; none has the place or the device in it.
    assert not image.getexif()


@pytest.mark.parametrize("name", MASKED)
def test_polygons_lie_inside_and_cover_what_they_should(name):
    photograph = ALL[name]
    height, width = photograph.size
    for polygon in photograph.polygons:
        x, y = np.array(polygon).T
        assert len(polygon) >= 4 and min(x) >= 0 and max(x) <= width and min(y) >= 0 and max(y) <= height
    mask = photograph.mask()
    assert mask.dtype == torch.bool and mask.shape == photograph.size
    (x, y), (beside, above) = ON[name], OFF[name]
    assert mask[y, x] and not mask[above, beside]


def test_the_edge_of_a_mask_runs_between_pixels_and_a_polygon_inside_another_is_a_hole(tmp_path):
    mask = square(tmp_path, [BLOCK]).mask()
    expected = torch.zeros(30, 50, dtype=torch.bool)
    expected[5:25, 10:20] = True
    assert torch.equal(mask, expected)
    hole = [(12.0, 10.0), (18.0, 10.0), (18.0, 20.0), (12.0, 20.0)]
    mask = square(tmp_path, [BLOCK, hole]).mask()
    assert mask.sum() == 10 * 20 - 6 * 10 and not mask[15, 15] and mask[15, 11]
    apart = [(30.0, 10.0), (36.0, 10.0), (36.0, 20.0), (30.0, 20.0)]
    assert square(tmp_path, [BLOCK, apart]).mask().sum() == 10 * 20 + 6 * 10


@pytest.mark.slow
@pytest.mark.parametrize("size", [(28, 42), (56, 28), (98, 98), (24, 40)])
@pytest.mark.parametrize("name", ["cat", "rocket", "grace_hopper"])
def test_a_mask_goes_where_its_photograph_goes(name, size):
    """A photograph painted by its own mask goes through the same resize and crop, and the mask must match it."""
    photograph = ALL[name]
    painted = Image.fromarray(photograph.mask().numpy().astype(np.uint8) * 255).convert("RGB")
    ways = [
        lambda picture: data.open_image(picture, size)[None],
        Preprocessing(max(size), size, "bicubic", (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)),
        Preprocessing(max(size), size, "bilinear", (0.5,), (0.25,), on_tensor=True),
    ]
    for way in ways:
        mask = photograph.mask(way)
        light = way(painted)[0, 0]
        low, high = (way(Image.new("RGB", painted.size, shade)).max() for shade in ("black", "white"))
        seen = (light.float() - low) / (high - low)
        assert mask.shape == size and mask.dtype == torch.bool
        # At the very edge a pixel is half in: of the others, none may differ.
        clear = (seen < 0.35) | (seen > 0.65)
        assert clear.float().mean() > 0.9
        assert torch.equal(mask[clear], seen[clear] > 0.5)


def test_without_a_mask_it_says_which_have_one():
    with pytest.raises(ValueError, match=r"'\w+' has no mask; abbey, astronaut, .* have one"):
        next(photograph for name, photograph in ALL.items() if name not in MASKED).mask()
