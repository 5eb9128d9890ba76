"""Files of pictures for several test files."""

import io

import numpy as np
from PIL import Image


def encoded(image, **options):
    """The bytes of a file: a PNG unless `options` name another format."""
    buffer = io.BytesIO()
    image.save(buffer, **{"format": "PNG", **options})
    return buffer.getvalue()


def floats(values):
    """The bytes of a TIFF file with a row of floats."""
    return encoded(Image.fromarray(np.array([values], dtype=np.float32)), format="TIFF")


def sideways(height=600, width=800, noise=1, **options) -> bytes:
    """A photograph, white above and black below once it is upright, as a camera held sideways stores it."""
    stored = np.random.RandomState(0).randint(0, noise, (height, width, 3), dtype=np.uint8)
    stored[:, : width // 2] = 255 - stored[:, : width // 2]
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    return encoded(Image.fromarray(stored), format="JPEG", exif=exif, **options)
