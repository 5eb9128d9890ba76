"""Checks of the explorer's arguments; each error says in one sentence what was given and what is needed."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, shown, text
from vit_course._support.inputs.tensors import check_dense, check_finite, check_module, check_numbers
from vit_course._support.widgets.pages import need_titles
from vit_course.explorer.panel import MOST_WEIGHTS, Maps, QueriesAndKeys

# The table of the explorer's state, in the form of `state_table.py`; `usual` is null where the default depends on the
# panels.
STATE = json.loads((Path(__file__).parent / "js" / "state.json").read_text(encoding="utf-8"))


def check_has_numbers(model) -> None:
    """Raises if `model` is not an `nn.Module`, or has parameters on the device meta, without numbers."""
    check_module("model", model)
    if any(parameter.is_meta for parameter in model.parameters()):
        raise ValueError("model holds no numbers, because it is on the device meta: load its weights")


def check_callable(name: str, value: Callable | None) -> None:
    """Raises a `ValueError` if a value is neither None nor callable."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be a function of the images, got {shown(value)}")


def need_batch(images) -> torch.Tensor:
    """Returns the output of `preprocess`, after checking that it is a batch of one image (1, C, H, W)."""
    wanted = "preprocess must return a tensor (1, C, H, W) of floats"
    if not isinstance(images, torch.Tensor):
        hint = ": take its pixel_values" if hasattr(images, "pixel_values") else ""
        raise ValueError(f"{wanted}, got {shown(images)}{hint}")
    if images.ndim != 4 or len(images) != 1 or not images.is_floating_point():
        raise ValueError(f"{wanted}, got shape {tuple(images.shape)} of {images.dtype}")
    check_finite("what preprocess returned", images)
    return images


def need_image(image) -> torch.Tensor:
    """A Pillow image, a tensor or an array, (C, H, W) or (H, W), of bytes or floats -> the tensor."""
    if isinstance(image, Image.Image):
        image = np.asarray(image.convert("RGB")).transpose(2, 0, 1)  # (3, H, W)
    if isinstance(image, np.ndarray) and image.dtype.kind in "buif":
        image = torch.from_numpy(np.ascontiguousarray(image))
    if not isinstance(image, torch.Tensor):
        raise ValueError(f"an image must be a tensor or an array (C, H, W), or a Pillow image, got {shown(image)}")
    if image.ndim == 3 and image.shape[0] not in (1, 3) and image.shape[2] in (1, 3):
        raise ValueError(f"an image is (C, H, W), got shape {tuple(image.shape)}: move its last axis to the front")
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[0] not in (1, 3)):
        raise ValueError(f"an image is (3, H, W), (1, H, W) or (H, W), got shape {tuple(image.shape)}")
    if 0 in image.shape:
        raise ValueError(f"an image has at least one pixel, got shape {tuple(image.shape)}")
    if image.dtype != torch.uint8 and not image.is_floating_point():
        raise ValueError(f"an image holds bytes (uint8) or floats, got {image.dtype}")
    check_finite("the image", image)
    return image.detach().cpu() if image.dtype == torch.uint8 else image.detach().cpu().float()


def need_attention(given) -> QueriesAndKeys | Maps:
    """Takes the maps (L, h, T, T) of one image, or a tuple of its queries and keys, each (L, h, T, d).

    A leading axis of length 1 is dropped. Returns either kind as float32 on the CPU.
    """
    if isinstance(given, tuple) and len(given) == 2:
        q, k = (_need_four(name, each) for name, each in zip(("queries", "keys"), given, strict=True))
        if q.shape != k.shape:
            raise ValueError(f"queries have shape {tuple(q.shape)}, but keys {tuple(k.shape)}: they must be equal")
        if all(_are_maps(each) for each in (q, k)):
            raise ValueError("a tuple means queries and keys, but these are maps: give several maps as a list")
        return QueriesAndKeys(q, k)
    maps = _need_four("maps", given)
    if maps.shape[2] != maps.shape[3]:
        raise ValueError(f"maps must be (L, h, T, T) of one image, got shape {tuple(maps.shape)}")
    if not _are_maps(maps):
        sums = maps.sum(dim=-1)
        worst = float(sums.flatten()[(sums - 1).abs().argmax()])
        raise ValueError(
            f"each row of an attention map must sum to 1 and hold no negative number, but one sum is "
            f"{worst:.3f} and the smallest number is {float(maps.min()):.3f}"
        )
    if maps.numel() > MOST_WEIGHTS:
        raise ValueError(
            f"maps of shape {tuple(maps.shape)} hold {maps.numel() / 1e6:.0f} million weights, but a page takes "
            f"{MOST_WEIGHTS / 1e6:.0f}: give queries and keys, a tuple of two (L, h, T, d) as "
            "record_attention(model).queries_and_keys() has them, or fewer layers, such as maps[-2:]"
        )
    return Maps(maps)


def _need_four(name: str, given) -> torch.Tensor:
    # -> (L, h, T, d), finite float32.
    last = "T" if name == "maps" else "d"
    if not isinstance(given, (torch.Tensor, np.ndarray)) or not (
        given.is_floating_point() if isinstance(given, torch.Tensor) else given.dtype.kind == "f"
    ):
        hint = ": give its stacked()[0], or its queries_and_keys()" if hasattr(given, "stacked") else ""
        raise ValueError(f"{name} must be a tensor or an array (L, h, T, {last}) of floats, got {shown(given)}{hint}")
    given = torch.as_tensor(given)
    check_dense(name, given)
    check_numbers(name, given)
    given = given.detach().cpu().float()
    if given.ndim == 5 and len(given) == 1:
        given = given[0]
    if given.ndim != 4 or 0 in given.shape:
        raise ValueError(f"{name} must be (L, h, T, {last}) of one image, got shape {tuple(given.shape)}")
    if not bool(given.isfinite().all()):
        raise ValueError(f"{name} must be finite, but {int((~given.isfinite()).sum())} numbers are NaN or infinite")
    return given


def _are_maps(values: torch.Tensor) -> bool:
    return bool((values.sum(dim=-1) - 1).abs().max() < 1e-3) and bool(values.min() >= 0)


def need_features(features, tokens: int) -> np.ndarray | None:
    """Returns the features as (T, D) float32, or None if they are None."""
    if features is None:
        return None
    if not isinstance(features, (torch.Tensor, np.ndarray)):
        raise ValueError(f"features must be a tensor or an array (T, D), got {shown(features)}")
    features = torch.as_tensor(features).detach().cpu().float()
    if features.ndim != 2 or len(features) != tokens or features.shape[1] < 1:
        raise ValueError(f"features must be (T, D) of {tokens} tokens, got shape {tuple(features.shape)}")
    check_finite("features", features)
    return features.numpy()


def need_says(says, layers: int) -> dict | None:
    """Returns the predictions of a model as plain rounded numbers, for JSON; or None if they are None."""
    if says is None:
        return None
    wanted = 'says must be a dict of "labels", "probabilities", "lens" and "about"'
    if not isinstance(says, dict) or set(says) - {"none"} != {"labels", "probabilities", "lens", "about"}:
        raise ValueError(f"{wanted}, got {shown(says)}")
    words = {name: says[name] for name in ("about", "none") if name in says}
    for name, value in words.items():
        text(name, value)
    labels = need_titles(says["labels"])
    rows = [[float(value) for value in row] for row in (says["probabilities"], *says["lens"])]
    if {len(row) for row in rows} != {len(labels)} or len(rows) != layers + 2:
        raise ValueError(
            f"says must have a probability for each of {len(labels)} labels, and lens {layers + 1} rows of as many"
        )
    if not all(0 <= value <= 1 for row in rows for value in row):
        raise ValueError("says must hold probabilities, from 0 to 1")
    rows = [[round(value, 5) for value in row] for row in rows]
    return {"labels": labels, "probabilities": rows[0], "lens": rows[1:], **words}


def need_link(link, first: int, tokens: int) -> list[int] | None:
    """Returns, for each of the `first` tokens of the first panel, the linked one of `tokens`; or None if `link` is."""
    if link is None:
        return None
    link = list(link)
    if len(link) != first or not all(is_int(token) and 0 <= token < tokens for token in link):
        raise ValueError(f"link must be {first} ints from 0 to {tokens - 1}, one for each token of the first panel")
    return link


def need_grid(grid) -> tuple[int, int] | None:
    """Returns the grid as (rows, columns), or None if it is None."""
    if grid is None:
        return None
    check_arguments(grid=grid)
    return tuple(grid)


def need_note(note) -> str:
    """Returns the sentence, which may be empty."""
    text("note", note)
    return note


def need_whole(whole) -> tuple[Image.Image, list[float], list[float] | None] | None:
    """Returns a picture, the shares of its height and width that are shown, and those above and to the left of it.

    The last are None if the middle is shown; all is None if `whole` is None.
    """
    if whole is None:
        return None
    if not (isinstance(whole, tuple) and len(whole) in (2, 3) and isinstance(whole[0], Image.Image)):
        raise ValueError(
            f"whole must be a tuple of a Pillow image and the shares of it that are kept, got {shown(whole)}"
        )
    kept, *placed = ([float(share) for share in shares] for shares in whole[1:])
    if len(kept) != 2 or not all(0 < share <= (2 if placed else 1) for share in kept):
        raise ValueError(
            f"the shares of the whole picture must be two numbers greater than 0 and at most 1, got {shown(kept)}"
        )
    at = placed[0] if placed else None
    if at is not None and (len(at) != 2 or not all(-1 <= share <= 1 for share in at)):
        raise ValueError(f"the shares above and to the left must be two numbers from -1 to 1, got {shown(at)}")
    return whole[0], kept, at
