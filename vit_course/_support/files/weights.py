"""Weights as safetensors, with what is needed to build their model and a checksum of it all."""

import hashlib
import json
import warnings
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import nn

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.records import json_object, naming, need_file, need_path
from vit_course._support.files.stored import need_as_shipped
from vit_course._support.files.validated import COUNTS, FLOATS, check_tensors
from vit_course._support.inputs.rules import shown

METADATA_KEY = "vit_course"
CHECKSUM_KEY = "sha256"  # among the metadata of a file of ours


def save_weights(path: str | Path, model: nn.Module, **metadata) -> None:
    """Writes a model's weights as safetensors, whole or not at all; a ViT's config goes along, as do `metadata`."""
    if hasattr(model, "config"):
        metadata = {"config": model.config.to_dict(), **metadata}
    write_tensors(path, model.state_dict(), metadata)


def load_weights(path: str | Path) -> tuple[dict[str, torch.Tensor], dict]:
    """-> (state dict, metadata) of a safetensors file.

    A file of ours says what its content sums up to, and one that comes with the course stands in a table; both are
    compared. One of ours from before there were checksums is taken, with a warning. Others are not ours to know.

    Raises:
        ValueError: no such file, or a damaged one; tensors of other types than floats and whole numbers, or with NaN or
            infinity in them; metadata that are no object of JSON; or a content that is not what was written.
    """
    path = need_path(path)
    need_file(path, "checkpoint")
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(METADATA_KEY)
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except Exception as error:  # a damaged file can end in nearly any error, depending on the place
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is not a complete checkpoint: {reason}; take it from a copy") from error
    with naming(path):
        check_tensors(tensors, FLOATS + COUNTS)
    metadata = json_object("{}" if text is None else text, f"{path}: the part {METADATA_KEY!r} of its header")
    written = metadata.pop(CHECKSUM_KEY, None)
    if written is not None:
        found = checksum(tensors, metadata)
        if found != written:
            raise ValueError(
                f"{path} is damaged: the SHA-256 of its content is {found}, and it was written with {shown(written)}; "
                "take it from a copy, or train it again"
            )
    elif not need_as_shipped(path) and text is not None:
        warnings.warn(f"{path} is of a version without checksums: damage would not be detected", stacklevel=2)
    return tensors, metadata


def write_tensors(path: str | Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    """Writes tensors by name as safetensors, whole or not at all, with metadata that JSON can hold."""
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    metadata = json.loads(json.dumps(metadata))  # as they will be read
    # One key: safetensors writes several in random order, and the same run should give the same bytes.
    text = json.dumps({**metadata, CHECKSUM_KEY: checksum(tensors, metadata)})
    write_atomically(path, save(tensors, {METADATA_KEY: text}))


def checksum(tensors: dict[str, torch.Tensor], metadata: dict) -> str:
    """-> the SHA-256 over names, types, shapes and numbers of tensors in memory, and over metadata of JSON."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
