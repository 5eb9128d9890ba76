"""Opens pictures of any kind, upright and in RGB, with a clear error for those that cannot be read."""

import contextlib
import errno
import io
import os
import re
import stat
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

from vit_course._support.inputs.arguments import height_and_width
from vit_course._support.inputs.rules import path_name
from vit_course.data.memory import check_memory

# The formats of Pillow that are opened. Not EPS, for which it would start Ghostscript, nor WMF, a part of Windows.
FORMATS = (
    "JPEG", "PNG", "GIF", "WEBP", "AVIF", "TIFF", "BMP", "DIB", "JPEG2000", "PPM", "ICO", "ICNS", "TGA", "PCX", "DCX",
    "DDS", "SGI", "PSD", "QOI", "MSP", "IM", "SPIDER", "XBM", "XPM", "SUN", "FLI", "BLP", "CUR",
)  # fmt: skip
# What can be opened as a picture.
Picture: TypeAlias = str | Path | bytes | BinaryIO | Image.Image

EMPTY = "it is empty"
# What a path may lead to other than a file; anything else is a device.
KINDS = {stat.S_IFREG: "", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
# So many take 100 MB. For fewer, asking for free memory would take as long as opening a small picture.
MANY_PIXELS = 10_000_000


def open_image(path: Picture, image_size: int | tuple[int, int] | None = None, bits: int | None = None) -> torch.Tensor:
    """A file -> (3, H, W) uint8: `open_picture`, resized to cover `image_size` and cropped at the centre if given.

    Args:
        path: as `open_picture` takes it.
        image_size: in pixels; one int means a square, a pair is (height, width).
        bits: as `open_picture` takes it.

    Raises:
        ValueError: as `open_picture`; or an `image_size` that is invalid, or too large for the memory.
        OSError: as `open_picture`.
    """
    if image_size is not None:
        height, width = height_and_width("image_size", image_size)
        if height * width > MANY_PIXELS:
            # Four bytes a pixel in Pillow, three in the array, three in the tensor.
            check_memory(10 * height * width, f"pictures of {height} x {width}", "ask for a smaller image_size")
    image = open_picture(path, bits)
    if image_size is not None:
        image = ImageOps.fit(image, (width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()  # (3, H, W)


def open_picture(source: Picture, bits: int | None = None) -> Image.Image:
    """A file, or a Pillow image in any mode -> a Pillow image, upright, in RGB.

    Upright: turned as the camera noted (EXIF). Transparent parts become white, and an animation keeps its first
    picture. Whole numbers of more than 8 bits keep the upper 8 of those that the picture uses, 8, 10, 12, 14 or 16,
    because files do not say how many a camera or a scanner has filled; where it is not 16, a warning says so. Floats
    count from 0 to 255; if none is above 1, they are scaled up to that.

    Args:
        source: a path, the bytes of a file, a binary file object, whose `name` errors then mention, or an image.
        bits: of whole numbers, if they are known, such as from other pictures of the same folder.

    Raises:
        ValueError: no such file, not a readable image, or one of more pixels than Pillow considers safe; an address
            on the web, a folder, a pipe or a device; whole numbers beyond 16 bits, or floats of another range.
        OSError: the cause lies in the system and not in the file, which is named: no permission, too many open files, a
            disk that fails, no memory.
    """
    name, file = _name_and_file(source)
    try:
        # Warnings of Pillow, such as about damaged EXIF, are ignored: the picture can be shown.
        with warnings.catch_warnings(action="ignore"):
            if isinstance(file, Image.Image):
                picture, used = _rgb(ImageOps.exif_transpose(file), bits)
            else:
                with Image.open(file, formats=_formats()) as opened:
                    picture, used = _rgb(ImageOps.exif_transpose(opened), bits)
    except FileNotFoundError:
        raise ValueError(f"there is no file {name}") from None
    except Image.DecompressionBombError as error:
        numbers = str(error).split(",")[0]  # the rest is about a possible attack
        raise ValueError(f"{name} has too many pixels: {numbers}") from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{name} is not a readable image: {_why_unknown(file)}") from error
    except MemoryError as error:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), name) from error
    except OSError as error:
        # Pillow's own errors have no errno. In a damaged file, it may seek to before the beginning: EINVAL.
        if error.errno not in (None, errno.EINVAL):
            raise OSError(error.errno, error.strerror, name) from error
        raise ValueError(f"{name} is not a readable image: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can end in nearly any error, depending on its format
        raise ValueError(f"{name} is not a readable image: {error or type(error).__name__}") from error
    if bits is None and used not in (None, 16):
        warnings.warn(f"{name} has values of {used} bits in a file of more bits: read as {used} bits", stacklevel=2)
    return picture


def bits_of(paths: Iterable[str]) -> int | None:
    """How many bits the whole numbers in these files use: 8, 10, 12, 14 or 16; None if none has more than bytes.

    Of files of bytes only the heads are read. Files that cannot be read are passed over.
    """
    used = set()
    for path in paths:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.suppress(Exception),  # whoever opens the file meets it again
            Image.open(path, formats=_formats()) as opened,
        ):
            if opened.mode.startswith("I"):
                used.add(_bits(_within(np.asarray(opened), "whole numbers", 65535)))
    return max(used, default=None)


def normalise(images: torch.Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> torch.Tensor:
    """(B, C, H, W) of 0 to 255 -> (B, C, H, W) float32, normalised per channel; mean and std on the scale 0 to 1."""
    centre, spread = torch.tensor([mean, std], dtype=torch.float32, device=images.device)[:, :, None, None]  # (C, 1, 1)
    return (images / 255 - centre) / spread


def need_path(thing: str, value) -> str:
    """Returns the path of a picture or a folder (`thing`) as text.

    Raises:
        ValueError: a value that cannot be a path on this machine, or a web address.
    """
    path_name(f"the path of a {thing}", value)
    text = os.fsdecode(value)
    if re.match(r"file:/", text, re.IGNORECASE):
        raise ValueError(f"{text} is an address: give the path alone, without file:")
    if found := re.match(r"(https?|ftp):/+", text, re.IGNORECASE):
        address = f"{found[1]}://{text[found.end() :]}"  # pathlib has merged two slashes
        raise ValueError(f"{address} is an address on the web: download the {thing} and give the path")
    return text


def _name_and_file(source) -> tuple[str, str | BinaryIO | Image.Image]:
    """Returns the name of the picture for errors, and what Pillow opens; refuses devices, which may never end."""
    if isinstance(source, bytes):
        return "the picture", io.BytesIO(source)
    if isinstance(source, Image.Image):
        return "the picture", source
    if isinstance(source, (str, os.PathLike)):
        path = need_path("picture", source)
        _check_is_file(path)
        return path, path
    if not hasattr(source, "read"):
        raise ValueError(f"a picture is a path, bytes, a file or a PIL image, got {type(source).__name__}")
    name = getattr(source, "name", None)
    name = str(name) if isinstance(name, (str, Path)) else "the picture"  # a temporary file may be named by a number
    if getattr(source, "closed", False) is True:
        raise ValueError(f"{name} is a closed file: open it again")
    if isinstance(source, io.TextIOBase):
        raise ValueError(f'{name} is open as text: open it by open(path, "rb")')
    with contextlib.suppress(AttributeError, OSError, TypeError):  # most file objects have no file descriptor
        # An open pipe ends when its writer is done; a device may never end.
        if stat.S_IFMT(os.fstat(source.fileno()).st_mode) not in KINDS:
            raise ValueError(f"{name} is a device: give the file of a picture")
    return name, source


def _check_is_file(path: str) -> None:
    # Checked before opening: opening a pipe waits for its writer, and reading a device may never end.
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    if kind := KINDS.get(stat.S_IFMT(status.st_mode), "a device"):
        raise ValueError(f"{path} is {kind}: give the file of a picture")
    if not status.st_size:  # also true of the system's virtual files, such as those in /proc
        raise ValueError(f"{path} is not a readable image: {EMPTY}")


@cache
def _formats() -> list[str]:
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]  # an older Pillow has no AVIF


def _rgb(image: Image.Image, bits: int | None) -> tuple[Image.Image, int | None]:
    # -> the picture, and how many bits its whole numbers use, if there are more than bytes.
    # Pillow's own conversion clips 16-bit values at 255, makes floats from 0 to 1 black, and shows the hidden colours
    # of transparent pixels.
    if 0 in image.size:
        raise ValueError(f"it has no pixels: {image.height} x {image.width}")
    if image.mode.startswith("I"):
        values = _within(np.asarray(image), "whole numbers", 65535 if bits is None else 2**bits - 1)
        bits = _bits(values) if bits is None else bits
        image = Image.fromarray((values >> (bits - 8)).astype(np.uint8))
    else:
        bits = None
    if image.mode == "F":
        values = _within(np.asarray(image), "floats from 0 to 1 or", 255)
        if values.max() <= 1:
            image = Image.fromarray((values * 255).round().astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB"), bits


def _bits(values: np.ndarray) -> int:
    return next(bits for bits in (8, 10, 12, 14, 16) if values.max() < 2**bits)


def _within(values: np.ndarray, kind: str, high: int) -> np.ndarray:
    low, top = values.min(), values.max()
    if not (low >= 0 and top <= high):  # in this form NaN is refused too
        raise ValueError(f"its values run from {low:g} to {top:g}, but {kind} from 0 to {high} are needed")
    return values


def _why_unknown(file: str | BinaryIO) -> str:
    # Reached only by a file that can be read, so it can be read again.
    if isinstance(file, str):
        with Path(file).open("rb") as opened:
            head = opened.read(12)
    else:
        file.seek(0)
        head = file.read(12)
    if not head:
        return EMPTY
    if head[4:8] == b"ftyp" and head[8:] in (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"):
        return (
            "it is a HEIC photograph, which cannot be read here; save it as JPEG on the phone or computer it comes from"
        )
    return "its content is not in a known image format"
