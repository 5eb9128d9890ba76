"""Decodes with NumPy the data of an explorer that are sent to the browser."""

import io
import zlib

import numpy as np
from PIL import Image


def section(explorer, name: str, layer: int | None = None, panel: int = 0) -> np.ndarray | bytes:
    """One section of a panel: floats, whole numbers, or the bytes of a file."""
    described = explorer._panels[panel] if not isinstance(explorer, dict) else explorer["_panels"][panel]
    data = explorer._data if not isinstance(explorer, dict) else explorer["_data"]
    (one,) = (s for s in described["sections"] if s["name"] == name and s["layer"] == layer)
    return decoded(data, one)


def decoded(data: bytes, one: dict) -> np.ndarray | bytes:
    """A section of all the bytes, as its panel describes it."""
    content = data[one["at"] : one["at"] + one["bytes"]]
    if one["coding"] == "file":
        return content
    if one["coding"] == "f4":
        return np.frombuffer(content, "<f4").reshape(one["shape"])
    if one["coding"] == "u1":
        return np.frombuffer(content, np.uint8).reshape(one["shape"])
    high = zlib.decompress(content[: one["high"]], -15)
    both = np.stack([np.frombuffer(content[one["high"] :], np.uint8), np.frombuffer(high, np.uint8)], axis=-1)
    return both.reshape(-1).view("<u2").astype(np.int32).reshape(one["shape"]) - 8192


def layer_of(explorer, layer: int, panel: int = 0) -> np.ndarray:
    """The maps (h, T, T) of one layer as the browser computes them."""
    described = explorer._panels[panel] if not isinstance(explorer, dict) else explorer["_panels"][panel]

    def take(name, layer=None):
        return section(explorer, name, layer, panel)

    if described["kind"] == "maps":
        return take("weights", layer) / 255 * take("tops")[layer][..., None]
    q = take("queries", layer) * take("query_steps")[layer][:, None]
    k = take("keys", layer) * take("key_steps")[layer][:, None]
    scores = described["scale"] * (q.astype(np.float32) @ k.astype(np.float32).swapaxes(-1, -2))
    return np.exp(scores - take("lse")[layer][..., None])


def maps_of(explorer, panel: int = 0) -> np.ndarray:
    """All maps (L, h, T, T) as the browser computes them."""
    return np.stack([layer_of(explorer, layer, panel) for layer in range(explorer._panels[panel]["layers"])])


def features_of(explorer, panel: int = 0) -> np.ndarray:
    """The tokens after the last norm (T, D)."""
    return section(explorer, "features", None, panel) * section(explorer, "feature_steps", None, panel)


def picture_of(explorer, panel: int = 0) -> np.ndarray:
    """The picture (H, W, 3) of bytes."""
    return np.asarray(Image.open(io.BytesIO(section(explorer, "picture", None, panel))))
