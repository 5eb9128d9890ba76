"""Checks loaded tensors and class names before a model is built from them.

Each error says what was found and what is needed; `json_files.naming` puts the name of the file in front.
"""

from collections.abc import Mapping

import torch

from vit_course._support.inputs.rules import shown

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
# The stored state of a run also holds step counts and the states of random generators.
COUNTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def check_all_dense(tensors: Mapping[str, torch.Tensor]) -> None:
    """Raises a `ValueError` for the first tensor that is not dense or is on the device meta; reads no values."""
    for key, value in tensors.items():
        if value.is_meta:
            raise ValueError(
                f"key {key!r} is on the device meta, which holds no numbers, but a tensor with numbers is needed"
            )
        if value.layout is not torch.strided or value.is_nested or value.is_quantized:
            kind = "quantised" if value.is_quantized else "nested" if value.is_nested else f"{value.layout}"
            raise ValueError(f"key {key!r} is {kind.removeprefix('torch.')}, but a dense tensor of floats is needed")


def check_tensors(tensors: Mapping[str, torch.Tensor], dtypes: tuple[torch.dtype, ...] = FLOATS) -> None:
    """Checks the layout, dtype and every number of a checkpoint's tensors.

    Args:
        tensors: by name.
        dtypes: the permitted ones; `FLOATS + COUNTS` for the state of a run.

    Raises:
        ValueError: naming the first key whose tensor is not dense, of another dtype, or holds NaN or infinity.
    """
    check_all_dense(tensors)
    for key, value in tensors.items():
        if value.dtype not in dtypes:
            known = ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
            raise ValueError(f"key {key!r} has dtype {value.dtype}, but one of {known} is needed")
        # A finite sum shows in a tenth of the time that all numbers are finite; only otherwise is each one tested, as
        # large finite numbers can overflow the sum.
        if value.is_floating_point() and not value.sum().isfinite() and not (finite := value.isfinite()).all():
            wrong = value[~finite].flatten()
            raise ValueError(
                f"key {key!r} holds {wrong[0].item()} ({len(wrong)} of {value.numel()} numbers are not "
                "finite), but finite numbers are needed"
            )


def check_shapes(tensors: Mapping[str, torch.Tensor], needed: Mapping[str, torch.Size]) -> None:
    """Raises a `ValueError` for the first key that is missing, unexpected, or has a tensor of another shape."""
    for key, shape in needed.items():
        if key not in tensors:
            raise ValueError(f"key {key!r} is missing: a tensor of shape {tuple(shape)} is needed")
        if tensors[key].shape != shape:
            raise ValueError(f"key {key!r} has shape {tuple(tensors[key].shape)}, but {tuple(shape)} is needed")
    for key in tensors:
        if key not in needed:
            raise ValueError(f"key {key!r} is left over: the model has no weight of this name")


def check_like(tensors: Mapping[str, torch.Tensor], like: Mapping[str, torch.Tensor]) -> None:
    """Raises a `ValueError` for the first key whose tensor differs in shape or dtype from the one in `like`."""
    check_shapes(tensors, {key: value.shape for key, value in like.items()})
    for key, value in like.items():
        if tensors[key].dtype != value.dtype:
            raise ValueError(f"key {key!r} has dtype {tensors[key].dtype}, but {value.dtype} is needed")


def check_names(names: object, count: int) -> None:
    """Raises a `ValueError` if `names` is not a list of `count` texts, one for each class."""
    if not isinstance(names, (list, tuple)):
        raise ValueError(f"class_names must be a list of {count} names, got {shown(names)}")
    if len(names) != count:
        raise ValueError(f"class_names must be a list of {count} names, one for each class, got {len(names)}")
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"the name of class {number} must be text, got {shown(name)}")
