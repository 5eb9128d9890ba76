"""Weights as safetensors, with the config of their model and a checksum of the content."""

import hashlib
import json
import warnings
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import nn

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.check_tensors import COUNTS, FLOATS, check_tensors
from vit_course._support.files.course_files import need_as_shipped
from vit_course._support.files.json_files import check_file, json_object, naming, need_path
from vit_course._support.inputs.rules import shown

METADATA_KEY = "vit_course"
CHECKSUM_KEY = "sha256"  # within the metadata that the course writes


def save_weights(path: str | Path, model: nn.Module, **metadata) -> None:
    """Writes a model's weights as safetensors, atomically, with its config, if it has one, and `metadata`."""
    if hasattr(model, "config"):
        metadata = {"config": model.config.to_dict(), **metadata}
    write_tensors(path, model.state_dict(), metadata)


def load_weights(path: str | Path) -> tuple[dict[str, torch.Tensor], dict]:
    """-> (state dict, metadata) of a safetensors file.

    Verifies the checksum in a file that the course has written, and the checksum in `res/weights.sha256` of a file that
    comes with the course. Files of versions without checksums load with a warning, those of other programs unverified.

    Raises:
        ValueError: no such file, or a damaged one; tensors of other dtypes than floats, ints and bools, or with NaN or
            infinity; metadata that are not a JSON object; or a checksum that does not match.
    """
    path = need_path(path)
    check_file(path, "checkpoint")
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(METADATA_KEY)
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except Exception as error:  # a damaged file can end in nearly any error, depending on the place
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is not a complete checkpoint: {reason}; restore it from a copy") from error
    with naming(path):
        check_tensors(tensors, FLOATS + COUNTS)
    metadata = json_object("{}" if text is None else text, f"{path}: the part {METADATA_KEY!r} of its header")
    written = metadata.pop(CHECKSUM_KEY, None)
    if written is not None:
        found = checksum(tensors, metadata)
        if found != written:
            raise ValueError(
                f"{path} is damaged: the SHA-256 of its content is {found}, but it was written with {shown(written)}; "
                "restore it from a copy, or train the model again"
            )
    elif not need_as_shipped(path) and text is not None:
        warnings.warn(
            f"{path} was written by a version without checksums, so damage would not be detected", stacklevel=2
        )
    return tensors, metadata


def write_tensors(path: str | Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    """Writes tensors by name as safetensors, whole or not at all, with metadata that JSON can hold."""
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    metadata = json.loads(json.dumps(metadata))  # in the form in which they will be read, such as tuples as lists
    # One key: safetensors writes several in random order, and the same run should give the same bytes.
    text = json.dumps({**metadata, CHECKSUM_KEY: checksum(tensors, metadata)})
    write_atomically(path, save(tensors, {METADATA_KEY: text}))


def checksum(tensors: dict[str, torch.Tensor], metadata: dict) -> str:
    """Returns the SHA-256 of tensors (their names, dtypes, shapes and values) and of JSON metadata."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
