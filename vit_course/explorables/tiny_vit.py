"""The small ViT that computes in the page, with its weights in half precision; and the same model in Python."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache

import numpy as np
import torch
from PIL import Image

from vit_course._support.widgets.encoding import Sections
from vit_course.data.photographs import photographs
from vit_course.data.pictures import normalise, open_image
from vit_course.pretrained.bundled import load_run
from vit_course.pretrained.pretrained_model import Pretrained
from vit_course.vit import ViT

Branch = Callable[[int, str, torch.Tensor], torch.Tensor]
# Crops (left, top, right, bottom), the same in every figure, and what is said of them there.
PARTS = {"cat": (100, 70, 320, 290)}
CROPPED = {"cat": "Of the cat, only the face is used: the model takes the whole photograph for a dog."}
# Fields of the config of which tiny_vit.js supports only one value.
ONLY = {
    "pool": "cls",
    "position": "learned",
    "qkv_bias": True,
    "gelu": "none",
    "representation_size": 0,
    "patch_norm": False,
    "num_registers": 0,
}


@cache
def tiny_vit(name: str = "tiny-cifar") -> Pretrained:
    """Loads a trained model as the page has it: weights rounded to half precision, computed in float32.

    Args:
        name: as `pretrained.load_run` takes it.

    Raises:
        ValueError: as `load_run`, or a model with parts that `js/tiny_vit.js` does not support.
    """
    found = load_run(name)
    config = found.model.config
    for part, value in ONLY.items():
        if getattr(config, part) != value:
            raise ValueError(
                f"the page computes models with {part} {value!r}, but {name} has {getattr(config, part)!r}"
            )
    found.model.load_state_dict({key: value.half().float() for key, value in found.model.state_dict().items()})
    return found


def described(sections: Sections, name: str = "tiny-cifar") -> dict:
    """Adds the section "weights" and returns the config, as `new TinyViT(config, weights)` takes both.

    Args:
        sections: of the explorable.
        name: as for `tiny_vit`.

    Raises:
        ValueError: as `tiny_vit`.
    """
    model, preprocess, class_names = tiny_vit(name)
    parameters = model.state_dict()
    halves(sections, "weights", torch.cat([value.flatten() for value in parameters.values()]))
    return {
        **model.config.to_dict(),
        "grid": list(model.config.grid),
        "mean": list(preprocess.mean),
        "std": list(preprocess.std),
        "class_names": list(class_names),
        "parameters": [[key, value.numel()] for key, value in parameters.items()],
    }


def halves(sections: Sections, name: str, values: torch.Tensor | np.ndarray) -> None:
    """Adds numbers in half precision, which `numbers` of tiny_vit.js turns into a Float32Array."""
    sections.bytes(name, np.ascontiguousarray(values, "<f2").reshape(-1).view(np.uint8))


@cache
def exact(name: str = "tiny-cifar") -> ViT:
    """Returns the model of `tiny_vit` in float64, the reference for the page's results."""
    return deepcopy(tiny_vit(name).model).double()


@torch.no_grad()
def walk(images: torch.Tensor, branch: Branch | None = None, name: str = "tiny-cifar") -> tuple[torch.Tensor, ...]:
    """(B, C, H, W) -> the stream before, between and after the branches (2L + 1, B, T, D), and what they add.

    Args:
        images: normalised.
        branch: called with the layer, "attention" or "mlp", and the output (B, T, D) of that branch; its result is
            added to the stream instead, as in tiny_vit.js.
        name: as for `tiny_vit`.
    """
    model = exact(name)
    seen, added = [model.embed(images.double())], []
    for layer, block in enumerate(model.encoder.blocks):
        for kind, norm, part in (("attention", block.norm1, block.attention), ("mlp", block.norm2, block.mlp)):
            output = part(norm(seen[-1]))  # (B, T, D)
            added.append(branch(layer, kind, output) if branch else output)
            seen.append(seen[-1] + added[-1])
    return torch.stack(seen), torch.stack(added)


def opened(photograph: str) -> Image.Image:
    """Opens a photograph of the course, cropped if `PARTS` has a crop for it."""
    whole = photographs()[photograph].open()
    return whole.crop(PARTS[photograph]) if photograph in PARTS else whole


@cache
def pixels(names: tuple[str, ...], name: str = "tiny-cifar") -> torch.Tensor:
    """Photographs of the course, as large as the model takes them -> (n, H, W, 3) uint8, what `normalise` takes.

    Args:
        names: of photographs, for `opened`.
        name: as for `tiny_vit`.
    """
    size = tiny_vit(name).model.config.height_width
    return torch.stack([open_image(opened(one), size) for one in names]).permute(0, 2, 3, 1).contiguous()


def image(pixels: torch.Tensor, name: str = "tiny-cifar") -> torch.Tensor:
    """(H, W, 3) uint8 -> (1, 3, H, W) float32, normalised as for the model."""
    _, preprocess, _ = tiny_vit(name)
    return normalise(pixels.permute(2, 0, 1)[None], preprocess.mean, preprocess.std)
