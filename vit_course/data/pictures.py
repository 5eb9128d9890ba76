"""A picture of any kind, opened: upright, in RGB, and with a clear word where it cannot be read."""

import contextlib
import errno
import io
import os
import re
import stat
import warnings
from functools import cache
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

from vit_course._support.inputs.arguments import height_and_width
from vit_course._support.inputs.rules import path_name
from vit_course.data.memory import need_memory

# What is opened of all that Pillow knows: for EPS it would start Ghostscript, for WMF a part of Windows.
FORMATS = (
    "JPEG", "PNG", "GIF", "WEBP", "AVIF", "TIFF", "BMP", "DIB", "JPEG2000", "PPM", "ICO", "ICNS", "TGA", "PCX", "DCX",
    "DDS", "SGI", "PSD", "QOI", "MSP", "IM", "SPIDER", "XBM", "XPM", "SUN", "FLI", "BLP", "CUR",
)  # fmt: skip
# What can be opened as a picture.
Picture: TypeAlias = str | Path | bytes | BinaryIO | Image.Image

EMPTY = "it is empty"
# What a path leads to where it is no file; all else is a device.
KINDS = {stat.S_IFREG: "", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
# 100 MB as they are opened: of fewer, the question for memory would take as long as a small picture.
MANY_PIXELS = 10_000_000


def open_image(path: Picture, image_size: int | tuple[int, int] | None = None) -> torch.Tensor:
    """A file -> (3, H, W) uint8: `open_picture`, resized to cover `image_size` and cropped at the centre if given.

    Args:
        path: as `open_picture` takes it.
        image_size: in pixels; one int means a square, a pair is (height, width).

    Raises:
        ValueError: as `open_picture`; or an `image_size` that is invalid, or too large for the memory.
        OSError: as `open_picture`.
    """
    if image_size is not None:
        height, width = height_and_width("image_size", image_size)
        if height * width > MANY_PIXELS:
            # Four bytes a pixel in Pillow, three in the array, three in the tensor.
            need_memory(10 * height * width, f"pictures of {height} x {width}", "ask for a smaller image_size")
    image = open_picture(path)
    if image_size is not None:
        image = ImageOps.fit(image, (width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()  # (3, H, W)


def open_picture(source: Picture) -> Image.Image:
    """A file, or a Pillow image in any mode -> a Pillow image, upright, in RGB.

    Upright: turned as the camera noted (EXIF). Transparent parts become white, 16-bit values keep their upper eight
    bits, and an animation keeps its first picture. Floats count from 0 to 255; if none is above 1, they are scaled up
    to that.

    Args:
        source: a path, the bytes of a file, a binary file object, whose `name` errors then mention, or an image.

    Raises:
        ValueError: no such file, not a readable image, or one of more pixels than Pillow considers safe; an address
            on the web, a folder, a pipe or a device; whole numbers beyond 16 bits, or floats of another range.
        OSError: the cause lies in the system and not in the file, which is named: no permission, too many open files, a
            disk that fails, no memory.
    """
    name, file = _name_and_file(source)
    try:
        # What Pillow only warns of, such as damaged EXIF, leaves a picture to look at.
        with warnings.catch_warnings(action="ignore"):
            if isinstance(file, Image.Image):
                return _rgb(ImageOps.exif_transpose(file))
            with Image.open(file, formats=_formats()) as opened:
                return _rgb(ImageOps.exif_transpose(opened))
    except FileNotFoundError:
        raise ValueError(f"there is no file {name}") from None
    except Image.DecompressionBombError as error:
        numbers = str(error).split(",")[0]  # what follows speaks of an attack
        raise ValueError(f"{name} has too many pixels: {numbers}") from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{name} is not a readable image: {_why_unknown(file)}") from error
    except MemoryError as error:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), name) from error
    except OSError as error:
        # Pillow's own have no number. A damaged file can send it to a place before the file's beginning: EINVAL.
        if error.errno not in (None, errno.EINVAL):
            raise OSError(error.errno, error.strerror, name) from error
        raise ValueError(f"{name} is not a readable image: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can end in nearly any error, depending on its format
        raise ValueError(f"{name} is not a readable image: {error or type(error).__name__}") from error


def normalise(images: torch.Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> torch.Tensor:
    """(B, C, H, W) of 0 to 255 -> (B, C, H, W) float32, by the statistics of each channel on the scale 0 to 1."""
    centre, spread = torch.tensor([mean, std], dtype=torch.float32, device=images.device)[:, :, None, None]  # (C, 1, 1)
    return (images / 255 - centre) / spread


def need_path(thing: str, value) -> str:
    """-> the path of a picture or a folder (`thing`), as text.

    Raises:
        ValueError: what can be no path on this machine, or an address.
    """
    path_name(f"the path of a {thing}", value)
    text = os.fsdecode(value)
    if re.match(r"file:/", text, re.IGNORECASE):
        raise ValueError(f"{text} is an address: give the path alone, without file:")
    if found := re.match(r"(https?|ftp):/+", text, re.IGNORECASE):
        address = f"{found[1]}://{text[found.end() :]}"  # pathlib has made one slash of two
        raise ValueError(f"{address} is an address on the web: download the {thing} and give the path")
    return text


def _name_and_file(source) -> tuple[str, str | BinaryIO | Image.Image]:
    """-> what errors call the picture, and what Pillow is to open; what would never come to an end is refused."""
    if isinstance(source, bytes):
        return "the picture", io.BytesIO(source)
    if isinstance(source, Image.Image):
        return "the picture", source
    if isinstance(source, (str, os.PathLike)):
        path = need_path("picture", source)
        _need_a_file(path)
        return path, path
    if not hasattr(source, "read"):
        raise ValueError(f"a picture is a path, bytes, a file or a PIL image, got {type(source).__name__}")
    name = getattr(source, "name", None)
    name = str(name) if isinstance(name, (str, Path)) else "the picture"  # a temporary file is called by a number
    if getattr(source, "closed", False) is True:
        raise ValueError(f"{name} is a closed file: open it again")
    if isinstance(source, io.TextIOBase):
        raise ValueError(f'{name} is open as text: open it by open(path, "rb")')
    with contextlib.suppress(AttributeError, OSError, TypeError):  # most file objects have nothing of the system's
        # A pipe that is open already comes to an end when its writer is done, a device may never.
        if stat.S_IFMT(os.fstat(source.fileno()).st_mode) not in KINDS:
            raise ValueError(f"{name} is a device: give the file of a picture")
    return name, source


def _need_a_file(path: str) -> None:
    # By what it is, before it is opened: opening a pipe waits for its writer, and a device is read without end.
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    if kind := KINDS.get(stat.S_IFMT(status.st_mode), "a device"):
        raise ValueError(f"{path} is {kind}: give the file of a picture")
    if not status.st_size:  # also of the system's files that are made while they are read
        raise ValueError(f"{path} is not a readable image: {EMPTY}")


@cache
def _formats() -> list[str]:
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]  # an older Pillow has no AVIF


def _rgb(image: Image.Image) -> Image.Image:
    # Pillow's own conversion cuts 16 bits off at 255, makes floats from 0 to 1 black, and shows the colours that lie
    # hidden where a picture is clear.
    if 0 in image.size:
        raise ValueError(f"it has no pixels, {image.height} x {image.width}")
    if image.mode.startswith("I"):
        values = _within(np.asarray(image), "whole numbers", 65535)
        image = Image.fromarray((values >> 8).astype(np.uint8))
    elif image.mode == "F":
        values = _within(np.asarray(image), "floats from 0 to 1 or", 255)
        if values.max() <= 1:
            image = Image.fromarray((values * 255).round().astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _within(values: np.ndarray, kind: str, high: int) -> np.ndarray:
    low, top = values.min(), values.max()
    if not (low >= 0 and top <= high):  # so that NaN, which is neither, is refused too
        raise ValueError(f"its values run from {low:g} to {top:g}, but {kind} from 0 to {high} are needed")
    return values


def _why_unknown(file: str | BinaryIO) -> str:
    # Reached only by a file that can be read, so it can be read again.
    if isinstance(file, str):
        head = Path(file).read_bytes()[:12]
    else:
        file.seek(0)
        head = file.read(12)
    if not head:
        return EMPTY
    if head[4:8] == b"ftyp" and head[8:] in (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"):
        return "it is a HEIC photograph, which cannot be read here; save it as JPEG on the phone or computer it is from"
    return "its content is in no image format known here"
