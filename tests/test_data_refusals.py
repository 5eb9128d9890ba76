"""What `open_picture` and `open_image` refuse, and in which words."""

import errno
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
from conftest import cases
from pictures import encoded, floats
from PIL import Image

from vit_course import data

WANTED = r"image_size must be an int or \(height, width\), two ints of at least 1, got "


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
        (b"Dear diary, today I renamed a text.", "no image format that is known here"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC photograph, which cannot be read here; save it as JPEG"),
        (encoded(Image.effect_noise((64, 64), 90), format="JPEG")[:900], "truncated"),
        (bomb(), r"too many pixels: Image size \(900000000 pixels\) exceeds limit of \d+ pixels$"),
        (b"P6 4 \xa5 255 ", "no readable image"),  # Pillow's error is a ValueError of another kind here
    ],
    ids=["empty", "text", "heic", "truncated", "bomb", "number"],
)
def test_files_that_cannot_be_used(content, message, tmp_path):
    named, path = io.BytesIO(content), tmp_path / "mine.jpg"
    named.name = "mine.jpg"
    path.write_bytes(content)
    for given, name in ((content, "the picture"), (named, r"mine\.jpg"), (path, r"\S+mine\.jpg")):
        with pytest.raises(ValueError, match=f"^{name} (is|has) .*{message}") as caught:
            data.open_image(given)
        assert "0x" not in str(caught.value), "no address of an object"


def test_truncated_and_missing_images(tmp_path):
    path = tmp_path / "photo.jpg"
    Image.fromarray(np.random.RandomState(0).randint(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(ValueError, match=r"photo\.jpg is no readable image"):
        data.open_image(path)
    with pytest.raises(ValueError, match="there is no file"):
        data.open_image(tmp_path / "gone.jpg")


@pytest.fixture
def kinds(monkeypatch):
    """A picture's path that leads to a pipe, a socket, a folder or a device, in a folder of its own; by its kind."""
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:  # a socket's path is short
        found = {name: Path(short) / f"{name}.png" for name in ("pipe", "socket", "folder", "device")}
        os.mkfifo(found["pipe"])
        listening.bind(str(found["socket"]))
        found["folder"].mkdir()
        found["device"].symlink_to("/dev/zero")
        (Path(short) / "link.png").symlink_to(found["pipe"])
        yield {**found, "link to a pipe": Path(short) / "link.png"}


def never_opened(monkeypatch):
    # What opens a pipe would wait for its writer, and what reads a device would fill the memory: neither can happen.
    monkeypatch.setattr("PIL.Image.open", lambda *_: pytest.fail("it was opened"))


@pytest.mark.skipif(sys.platform != "linux", reason="its kinds of files")
@cases("kind", ["pipe", "socket", "folder", "device", "link to a pipe"])
def test_what_is_no_file_is_refused_before_it_is_opened(kind, kinds, monkeypatch):
    never_opened(monkeypatch)
    for given in (kinds[kind], str(kinds[kind])):
        with pytest.raises(ValueError, match=rf"\.png is a {kind.split()[-1]}: give the file of a picture$"):
            data.open_image(given, (7, 9))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="its kinds of files")
def test_nothing_waits_for_a_pipe_or_reads_a_device(kinds):
    # In a process of its own, which can be ended and has little memory: it would hang, or grow without end.
    code = "import resource, sys\nfrom vit_course.data import open_picture\n"
    code += "resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)\n"
    code += "for source in (sys.argv[1], sys.argv[2], open('/dev/zero', 'rb')):\n"
    code += "    try:\n        open_picture(source)\n    except ValueError as error:\n        print(error)"
    arguments = [sys.executable, "-c", code, kinds["pipe"], kinds["device"]]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
    assert [line.split(" is ")[1] for line in done.stdout.splitlines()] == [
        f"a {kind}: give the file of a picture" for kind in ("pipe", "device", "device")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes have no file number to close")
def test_a_pipe_that_is_open_already_is_read():
    reading, writing = os.pipe()
    os.write(writing, encoded(Image.new("RGB", (9, 7), "red")))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert data.open_image(pipe).shape == (3, 7, 9)


def test_a_file_of_the_system_that_has_no_end_is_empty(tmp_path, monkeypatch):
    (tmp_path / "photo.png").touch()  # such as /proc/kmsg, of which the system says that it has 0 bytes
    never_opened(monkeypatch)
    with pytest.raises(ValueError, match=r"photo\.png is no readable image: it is empty$"):
        data.open_picture(tmp_path / "photo.png")


@cases("address", ["https://example.org/a/cat.jpg", "HTTP://example.org/cat.jpg", "ftp://example.org/cat"])
def test_an_address_is_no_file(address):
    message = f"{address} is an address on the web: download the picture and give its file"
    for given in (address, Path(address)):  # pathlib makes https:/example.org of it
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            data.open_picture(given)


def test_a_file_is_given_by_its_path():
    with pytest.raises(ValueError, match=r"^file:///tmp/cat\.jpg is an address: give the path alone, without file:$"):
        data.open_picture("file:///tmp/cat.jpg")


@cases("given", [None, 5, True, ["photo.png"], np.zeros((7, 9, 3)), torch.zeros(3, 7, 9), b"x".hex])
def test_what_is_no_picture_at_all(given):
    with pytest.raises(
        ValueError, match=r"^a picture is a path, bytes, a file or a PIL image, got \S.{0,80}$"
    ) as caught:
        data.open_picture(given)
    assert "0x" not in str(caught.value), "no address of an object"


def test_paths_and_files_that_lead_nowhere(tmp_path):
    path = tmp_path / "photo.png"
    Image.new("RGB", (9, 7)).save(path)
    for given in ("", "photo\0.png", "photo\ud800.png"):
        with pytest.raises(ValueError, match="the path of a picture must be one that a file can have, got '"):
            data.open_picture(given)
    with path.open("rb") as closed:
        pass
    with pytest.raises(ValueError, match=r"photo\.png is a file that is closed: open it again"):
        data.open_picture(closed)
    with path.open(encoding="latin-1") as text, pytest.raises(ValueError, match=r'photo\.png is open as text: .* "rb"'):
        data.open_picture(text)
    with tempfile.TemporaryFile() as nameless:  # its name is a number
        nameless.write(b"no picture")
        with pytest.raises(ValueError, match=r"^the picture is no readable image"):
            data.open_picture(nameless)
    with pytest.raises(OSError, match="Not a directory") as caught:  # the system's own stay as they are
        data.open_picture(path / "inside.png")
    assert caught.value.errno == errno.ENOTDIR
    with pytest.raises(OSError, match="name too long"):
        data.open_picture("x" * 300)


@cases(
    ("values", "found"),
    [
        ([-0.5, 0.5], "from -0.5 to 0.5"),
        ([0, 255.5], "from 0 to 255.5"),
        ([0, 40000], "from 0 to 40000"),
        ([0, np.nan, 1], "from nan to nan"),
        ([0, np.inf], "from 0 to inf"),
    ],
)
def test_floats_of_another_range_are_refused(values, found):
    message = f"its values run {found}, and floats from 0 to 1 or from 0 to 255 are needed"
    with pytest.raises(ValueError, match=f"^the picture is no readable image: {message}$"):
        data.open_image(floats(values))


@cases(("values", "found"), [([-1, 5], "from -1 to 5"), ([0, 70_000], "from 0 to 70000")])
def test_whole_numbers_beyond_sixteen_bits_are_refused(values, found):
    image = Image.fromarray(np.array([values], dtype=np.int32))
    assert image.mode == "I"
    with pytest.raises(ValueError, match=f"its values run {found}, and whole numbers from 0 to 65535 are needed"):
        data.open_picture(image)


@cases("size", [(0, 7), (9, 0), (0, 0)])
@cases("mode", ["RGB", "RGBA", "I;16", "F", "1"])
def test_a_picture_without_pixels(size, mode):
    with pytest.raises(ValueError, match=f"it has no pixels, {size[1]} x {size[0]}$"):
        data.open_image(Image.new(mode, size), 8)


@cases(
    ("image_size", "message"),
    [
        (0, "image_size must be at least 1, got 0"),
        (-7, "image_size must be at least 1, got -7"),
        (True, WANTED + "True"),
        (7.0, WANTED + "7.0"),
        ("79", WANTED + "'79'"),
        ((7, 9, 3), WANTED + r"\(7, 9, 3\)"),
        ((7, 0), WANTED + r"\(7, 0\)"),
        ((7, 9.5), WANTED + r"\(7, 9.5\)"),
        ((False, 9), WANTED + r"\(False, 9\)"),
        (1_000_000, "image_size must be at most 65536, got 1000000"),
    ],
)
def test_an_image_size_that_is_none(image_size, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        data.open_image(encoded(Image.new("RGB", (9, 7))), image_size)


def test_an_image_size_that_no_memory_holds(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10**10))
    message = "pictures of 40000 x 40000 need 16.0 GB of memory, and 10.0 GB are free: ask for a smaller image_size"
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.open_image(encoded(Image.new("RGB", (9, 7))), 40_000)
