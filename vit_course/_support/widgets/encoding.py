"""Arrays as the bytes that a browser unpacks, and bytes as the characters that a page may hold."""

import base64
import zlib

import numpy as np

# Of 14 bits a weight differs from the exact one by about a thousandth of the largest in its row, once the keys' mean
# is taken off; of float16 by three hundredths, because a few coordinates of the keys are far from 0 for every token.
LARGEST = 8191


class Sections:
    """Arrays one after the other, and a list that says where each lies: `described`, in the order of adding.

    `data` is all bytes.
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
        """Adds whole numbers from -LARGEST to LARGEST, their high and their low bytes apart.

        Neighbouring numbers have like high bytes, so these are squeezed; the low ones are noise and stay.
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
    """-> whole numbers from -most to most of the same shape, and the step between two of them.

    Args:
        values: finite floats.
        axis: along which one step serves for all, such as that of the tokens; the steps lack it.
        most: at most LARGEST.
    """
    largest = np.abs(values).max(axis=axis, keepdims=True)
    step = np.where(largest > 0, largest / most, 1).astype(np.float32)
    return np.rint(values / step).astype(np.int16), step.squeeze(axis)


def to_base64(content: bytes) -> str:
    """Bytes as letters that survive every tool on the way to a page."""
    return base64.b64encode(content).decode()
