"""A picture of any kind, opened; and what `open_picture` and `open_image` refuse, in which words."""

import io
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from conftest import ROOT
from pictures import encoded, floats
from PIL import Image

from vit_course import data
from vit_course.data import pictures


def test_a_picture_from_bytes_and_from_a_file_object(tmp_path):
    pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(pixels))
    (tmp_path / "image.png").write_bytes(content)
    for given in (content, io.BytesIO(content), tmp_path / "image.png", str(tmp_path / "image.png")):
        assert torch.equal(data.open_image(given), torch.from_numpy(pixels).permute(2, 0, 1))


@pytest.mark.parametrize("orientation", range(1, 9))
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


@pytest.mark.parametrize("kind", ["I;16", "I;16B", "I"])
def test_sixteen_bits_keep_their_tones(kind):
    tones = np.array([[0, 256, 32768, 65535]])
    image = Image.fromarray(tones.astype({"I;16": "<u2", "I;16B": ">u2", "I": "<i4"}[kind]))
    assert image.mode == kind
    opened = data.open_image(encoded(image, format="TIFF"))
    assert opened.tolist() == [[[0, 1, 128, 255]]] * 3


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
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


@pytest.mark.parametrize("size", [(1, 1), (20_000, 10), (10, 20_000)])
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


# ---- what is refused


def test_no_format_starts_another_program(tmp_path, monkeypatch):
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
    monkeypatch.setattr(subprocess, "check_call", lambda *_, **__: pytest.fail("Ghostscript was started"))
    for name in ("pic.eps", "pic.png"):
        (tmp_path / name).write_bytes(eps)
        with pytest.raises(
            ValueError, match=f"{name} is not a readable image: its content is not in a known image format"
        ):
            data.open_image(tmp_path / name)
    assert not {"EPS", "WMF"} & set(pictures.FORMATS)
    sources = [path.read_text() for path in (ROOT / "vit_course").rglob("*.py")]
    opened = [call for text in sources for call in re.findall(r"Image\.open\(.*", text)]
    assert len(opened) >= 3 and all("formats=" in call for call in opened)


def bomb():
    # A PNG that says it has 30,000 x 30,000 pixels, in a few bytes.
    content = bytearray(encoded(Image.new("1", (1, 1))))
    content[16:24] = struct.pack(">II", 30_000, 30_000)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"Dear diary, today I renamed a text.", "not in a known image format"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC photograph, which cannot be read here; save it as JPEG"),
        (encoded(Image.effect_noise((64, 64), 90), format="JPEG")[:900], "truncated"),
        (bomb(), r"too many pixels: Image size \(900000000 pixels\) exceeds limit of \d+ pixels$"),
        (b"P6 4 \xa5 255 ", "not a readable image"),
    ],
)  # Pillow's error is a ValueError of another kind here
def test_files_that_cannot_be_used(content, message, tmp_path):
    named, path = io.BytesIO(content), tmp_path / "mine.jpg"
    named.name = "mine.jpg"
    path.write_bytes(content)
    for given, name in ((content, "the picture"), (named, r"mine\.jpg"), (path, r"\S+mine\.jpg")):
        with pytest.raises(ValueError, match=f"^{name} (is|has) .*{message}") as caught:
            data.open_image(given)
        assert "0x" not in str(caught.value), "no address of an object"


@pytest.mark.skipif(sys.platform != "linux", reason="its kinds of files")
def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    # What opens a pipe would wait for its writer, and what reads a device would fill the memory.
    monkeypatch.setattr("PIL.Image.open", lambda *_: pytest.fail("it was opened"))
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:  # a socket's path is short
        found = {name: Path(short) / f"{name}.png" for name in ("pipe", "socket", "folder", "device", "link")}
        os.mkfifo(found["pipe"])
        listening.bind(str(found["socket"]))
        found["folder"].mkdir()
        found["device"].symlink_to("/dev/zero")
        found["link"].symlink_to(found["pipe"])
        for kind, path in found.items():
            for given in (path, str(path)):
                message = rf"\.png is a {kind.replace('link', 'pipe')}: give the file of a p"
                with pytest.raises(ValueError, match=message):
                    data.open_image(given, (7, 9))
    with Path("/dev/zero").open("rb") as device, pytest.raises(ValueError, match="zero is a device: give the file"):
        data.open_picture(device)
    (tmp_path / "photo.png").touch()  # such as /proc/kmsg, of which the system says that it has 0 bytes
    with pytest.raises(ValueError, match=r"photo\.png is not a readable image: it is empty$"):
        data.open_picture(tmp_path / "photo.png")


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes have no file number to close")
def test_a_pipe_that_is_open_already_is_read():
    reading, writing = os.pipe()
    os.write(writing, encoded(Image.new("RGB", (9, 7), "red")))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert data.open_image(pipe).shape == (3, 7, 9)


@pytest.mark.parametrize(
    "address", ["https://example.org/a/cat.jpg", "HTTP://example.org/cat.jpg", "ftp://example.org/cat"]
)
def test_an_address_is_no_file(address):
    message = f"{address} is an address on the web: download the picture and give the path"
    for given in (address, Path(address)):  # pathlib makes https:/example.org of it
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            data.open_picture(given)


NO_PICTURE = r"^a picture is a path, bytes, a file or a PIL image, got (\w| )+$"
NO_NAME = "the path of a picture must be one that a file can have, got '"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *((given, NO_PICTURE) for given in (None, True, ["photo.png"], torch.zeros(3, 7, 9), b"x".hex)),
        *((given, NO_NAME) for given in ("", "photo\0.png", "photo\ud800.png")),
        ("file:///tmp/cat.jpg", r"^file:///tmp/cat\.jpg is an address: give the path alone, without file:$"),
        ("no/such/file", "there is no file no/such/file"),
        (floats([-0.5, 0.5]), "its values run from -0.5 to 0.5, but floats from 0 to 1 or from 0 to 255 are needed$"),
        (floats([0, 255.5]), "from 0 to 255.5, but floats"),
        (floats([0, np.nan, 1]), "from nan to nan, but floats"),
        (floats([0, np.inf]), "from 0 to inf, but floats"),
        (np.array([[-1, 5]], dtype=np.int32), "from -1 to 5, but whole numbers from 0 to 65535 are needed"),
        (np.array([[0, 70_000]], dtype=np.int32), "from 0 to 70000, but whole"),
    ],
)
def test_what_is_no_picture_at_all(given, message):
    given = Image.fromarray(given) if isinstance(given, np.ndarray) else given
    with pytest.raises(ValueError, match=message):
        data.open_picture(given)


def test_files_that_lead_nowhere(tmp_path):
    path = tmp_path / "photo.png"
    Image.new("RGB", (9, 7)).save(path)
    with path.open("rb") as closed:
        pass
    with pytest.raises(ValueError, match=r"photo\.png is a closed file: open it again"):
        data.open_picture(closed)
    with path.open(encoding="latin-1") as text, pytest.raises(ValueError, match=r'photo\.png is open as text: .* "rb"'):
        data.open_picture(text)
    with tempfile.TemporaryFile() as nameless:  # its name is a number
        nameless.write(b"no picture")
        with pytest.raises(ValueError, match=r"^the picture is not a readable image"):
            data.open_picture(nameless)
    with pytest.raises(OSError, match="Not a directory"):  # the system's own stay as they are
        data.open_picture(path / "inside.png")
    with pytest.raises(OSError, match="name too long"):
        data.open_picture("x" * 300)


@pytest.mark.parametrize("size", [(0, 7), (9, 0), (0, 0)])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "I;16", "F", "1"])
def test_a_picture_without_pixels(size, mode):
    with pytest.raises(ValueError, match=f"it has no pixels: {size[1]} x {size[0]}$"):
        data.open_image(Image.new(mode, size), 8)


def test_an_image_size_that_cannot_be(monkeypatch):
    picture = encoded(Image.new("RGB", (9, 7)))
    with pytest.raises(ValueError, match=r"^image_size must be an int or \(height, width\), two .*, got \(7, 9.5\)$"):
        data.open_image(picture, (7, 9.5))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10**10))
    message = "pictures of 40000 x 40000 need 16.0 GB of memory, but 10.0 GB are free: ask for a smaller image_size"
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.open_image(picture, 40_000)
