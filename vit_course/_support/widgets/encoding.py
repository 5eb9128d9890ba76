"""Encodes arrays as bytes for the browser, and bytes as base64 text for a page."""

import base64
import zlib

import numpy as np

# 14 bits: once the mean of the keys is subtracted, an attention weight is off by about a thousandth of the largest in
# its row. With float16 it would be three hundredths, as a few coordinates of the keys are far from 0 for every token.
LARGEST = 8191


class Sections:
    """Arrays packed one after the other; `described` lists where each lies, in the order of adding.

    `data` holds the bytes of all of them.
    """

    def __init__(self):
        self.described: list[dict] = []
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def data(self) -> bytes:
        """All sections, one after the other."""
        return b"".join(self._parts)

    def floats(self, name: str, values: np.ndarray) -> None:
        """Adds numbers as they are, in 32 bits."""
        self._add(name, np.ascontiguousarray(values, "<f4").tobytes(), coding="f4", shape=list(values.shape))

    def steps(self, name: str, values: np.ndarray, layer: int | None = None) -> None:
        """Adds whole numbers from -LARGEST to LARGEST, with their high and their low bytes apart.

        The high bytes of neighbouring numbers are alike and are compressed; the low ones are noise and are not.
        """
        pairs = (values.astype(np.int32) + LARGEST + 1).astype("<u2").reshape(-1).view(np.uint8).reshape(-1, 2)
        squeeze = zlib.compressobj(1, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY)
        high = squeeze.compress(pairs[:, 1].tobytes()) + squeeze.flush()
        content = high + pairs[:, 0].tobytes()
        self._add(name, content, layer, coding="planes", shape=list(values.shape), high=len(high))

    def bytes(self, name: str, values: np.ndarray, layer: int | None = None) -> None:
        """Adds numbers of eight bits as they are."""
        self._add(name, np.ascontiguousarray(values, np.uint8).tobytes(), layer, coding="u1", shape=list(values.shape))

    def file(self, name: str, content: bytes, media: str) -> None:
        """Adds a file as it is, such as a picture of the type "image/png"."""
        self._add(name, content, coding="file", media=media)

    def _add(self, name: str, content: bytes, layer: int | None = None, **described) -> None:
        self.described.append({"name": name, "layer": layer, "at": self._size, "bytes": len(content), **described})
        self._parts.append(content)
        self._size += len(content)


def quantised(values: np.ndarray, axis: int | None, most: int = LARGEST) -> tuple[np.ndarray, np.ndarray]:
    """Quantises floats; returns whole numbers from -most to most, of the same shape, and the steps between them.

    Args:
        values: finite floats.
        axis: the axis along which one step is shared, such as that of the tokens; the steps lack it.
        most: the largest whole number, at most LARGEST.
    """
    largest = np.abs(values).max(axis=axis, keepdims=True)
    step = np.where(largest > 0, largest / most, 1).astype(np.float32)
    return np.rint(values / step).astype(np.int16), step.squeeze(axis)


def to_base64(content: bytes) -> str:
    """Encodes bytes as base64 text, which survives every tool on the way to a page."""
    return base64.b64encode(content).decode()
