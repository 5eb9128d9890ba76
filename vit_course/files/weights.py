"""Weights as safetensors, with what is needed to build their model."""

import json
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import nn

from vit_course.files.atomic import write_atomically
from vit_course.files.records import json_object, naming, need_file, need_path
from vit_course.files.validated import COUNTS, FLOATS, check_tensors

METADATA_KEY = "vit_course"


def save_weights(path: str | Path, model: nn.Module, **metadata) -> None:
    """Writes a model's weights as safetensors, whole or not at all; a ViT's config goes along, as do `metadata`."""
    if hasattr(model, "config"):
        metadata = {"config": model.config.to_dict(), **metadata}
    write_tensors(path, model.state_dict(), metadata)


def load_weights(path: str | Path) -> tuple[dict[str, torch.Tensor], dict]:
    """-> (state dict, metadata) of a safetensors file.

    Raises:
        ValueError: no such file, or a damaged one; tensors of other types than floats and whole numbers, or with NaN or
            infinity in them; metadata that are no object of JSON.
    """
    path = need_path(path)
    need_file(path, "checkpoint")
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(METADATA_KEY, "{}")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except Exception as error:  # a damaged file can end in nearly any error, depending on the place
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is no whole checkpoint: {reason}") from error
    with naming(path):
        check_tensors(tensors, FLOATS + COUNTS)
    return tensors, json_object(text, f"{path}: the part {METADATA_KEY!r} of its header")


def write_tensors(path: str | Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    """Writes tensors by name as safetensors, whole or not at all, with metadata that JSON can hold."""
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    # One key: safetensors writes several in random order, and the same run should give the same bytes.
    write_atomically(path, save(tensors, {METADATA_KEY: json.dumps(metadata)}))
