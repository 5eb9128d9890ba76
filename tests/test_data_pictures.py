import io

import numpy as np
import torch
from conftest import cases
from pictures import encoded, floats
from PIL import Image

from vit_course import data


@cases("mode", ["L", "P", "RGBA", "CMYK", "1", "I;16"])
def test_every_mode_becomes_rgb(mode, tmp_path):
    image = Image.new("L" if mode == "I;16" else "RGB", (12, 8)).convert("I;16" if mode == "I;16" else mode)
    path = tmp_path / ("image.tiff" if mode in ("CMYK", "I;16") else "image.png")
    image.save(path)
    assert data.open_image(path, (4, 6)).shape == (3, 4, 6)


def test_a_picture_from_bytes_and_from_a_file_object(tmp_path):
    pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(pixels))
    (tmp_path / "image.png").write_bytes(content)
    for given in (content, io.BytesIO(content), tmp_path / "image.png", str(tmp_path / "image.png")):
        assert torch.equal(data.open_image(given), torch.from_numpy(pixels).permute(2, 0, 1))


@cases("orientation", range(1, 9))
def test_every_orientation_ends_upright(orientation):
    # A red corner at the top left, as it should be seen; stored as a camera held otherwise would.
    upright = Image.new("RGB", (12, 8))
    upright.paste("red", (0, 0, 6, 4))
    turns = Image.Transpose
    inverse = {2: turns.FLIP_LEFT_RIGHT, 3: turns.ROTATE_180, 4: turns.FLIP_TOP_BOTTOM, 5: turns.TRANSPOSE,
               6: turns.ROTATE_90, 7: turns.TRANSVERSE, 8: turns.ROTATE_270}  # fmt: skip
    stored = upright.transpose(inverse[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = data.open_image(encoded(stored, exif=exif))
    assert torch.equal(image, torch.from_numpy(np.array(upright)).permute(2, 0, 1))


@cases("kind", ["I;16", "I;16B", "I"])
def test_sixteen_bits_keep_their_tones(kind):
    tones = np.array([[0, 256, 32768, 65535]])
    image = Image.fromarray(tones.astype({"I;16": "<u2", "I;16B": ">u2", "I": "<i4"}[kind]))
    assert image.mode == kind
    opened = data.open_image(encoded(image, format="TIFF"))
    assert opened.tolist() == [[[0, 1, 128, 255]]] * 3


@cases("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode):
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, 0))  # the colour beneath is black
    if mode == "P":
        image = Image.new("P", (2, 1))
        image.putpalette([0, 0, 0, 10, 10, 10])
        image.putpixel((1, 0), 1)
        content = encoded(image, transparency=1)
    else:
        content = encoded(image.convert(mode))
    assert data.open_image(content)[:, 0].tolist() == [[0, 255]] * 3


def test_of_an_animation_the_first_picture():
    first, second = Image.new("RGB", (6, 4), "red"), Image.new("RGB", (6, 4), "blue")
    content = encoded(first, format="GIF", save_all=True, append_images=[second])
    assert data.open_image(content)[:, 0, 0].tolist() == [255, 0, 0]


@cases("size", [(1, 1), (20_000, 10), (10, 20_000)])
def test_odd_sizes_are_covered_and_cropped(size):
    image = Image.new("RGB", size, "blue")
    left, top = size[0] * 3 // 10, size[1] * 3 // 10
    image.paste("red", (left, top, size[0] - left, size[1] - top))
    opened = data.open_image(encoded(image), (8, 12))
    assert opened.shape == (3, 8, 12)
    assert opened[:, 4, 6].tolist() == [255, 0, 0], "the middle stays"
    edge = opened[:, 4, 0] if size[0] > size[1] else opened[:, 0, 6]
    assert edge.tolist() == [255, 0, 0], "the ends of the longer side are gone"


def test_floats_keep_their_tones():
    assert data.open_image(floats([0, 0.25, 0.5, 1])).tolist() == [[[0, 64, 128, 255]]] * 3
    assert data.open_image(floats([0, 1, 64, 200.5, 255])).tolist() == [[[0, 1, 64, 200, 255]]] * 3
    assert data.open_image(floats([0, 0, 0])).tolist() == [[[0, 0, 0]]] * 3
    assert data.open_image(floats([0, 0, 1.5])).tolist() == [[[0, 0, 1]]] * 3
