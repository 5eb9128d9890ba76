"""The small ViT that computes in the page, with its weights in half precision; and the same model in Python."""

from functools import cache

import numpy as np
import torch

from vit_course.data.photographs import photographs
from vit_course.data.pictures import open_image
from vit_course.pretrained.hub import Pretrained
from vit_course.pretrained.shipped import load_run
from vit_course.widgets.encoding import Sections

# What tiny_vit.js has no code for, and the only value that it takes.
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
    """A trained model as the page has it: the weights rounded to half precision, computed in 32 bits.

    Args:
        name: as `pretrained.load_run` takes it.

    Raises:
        ValueError: as `load_run`, and a model with parts that `js/tiny_vit.js` lacks.
    """
    found = load_run(name)
    config = found.model.config
    for part, value in ONLY.items():
        if getattr(config, part) != value:
            raise ValueError(f"the page computes models with {part} {value!r}, {name} has {getattr(config, part)!r}")
    found.model.load_state_dict({key: value.half().float() for key, value in found.model.state_dict().items()})
    return found


def described(sections: Sections, name: str = "tiny-cifar") -> dict:
    """Adds the section "weights"; -> the config that `new TinyViT(config, weights)` takes with it.

    Args:
        sections: of the explorable.
        name: as for `tiny_vit`.

    Raises:
        ValueError: as `tiny_vit`.
    """
    model, preprocess, class_names = tiny_vit(name)
    parameters = model.state_dict()
    halves = np.concatenate([value.numpy().astype("<f2").reshape(-1) for value in parameters.values()])
    sections.bytes("weights", halves.view(np.uint8))
    return {
        **model.config.to_dict(),
        "grid": list(model.config.grid),
        "mean": list(preprocess.mean),
        "std": list(preprocess.std),
        "class_names": list(class_names),
        "parameters": [[key, value.numel()] for key, value in parameters.items()],
    }


def pixels(names: list[str], name: str = "tiny-cifar") -> torch.Tensor:
    """Photographs of the course, as large as the model takes them -> (n, H, W, 3) uint8, what `normalise` takes.

    Args:
        names: of photographs.
        name: as for `tiny_vit`.
    """
    size = tiny_vit(name).model.config.height_width
    return torch.stack([open_image(photographs()[one].path, size) for one in names]).permute(0, 2, 3, 1).contiguous()
