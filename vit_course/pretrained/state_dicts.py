"""Checks of state dicts, with messages for those that are not a ViT's."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn

from vit_course._support.files.check_tensors import check_all_dense
from vit_course.pretrained.libraries import LIBRARIES, SIGNS, ParameterNames, names_of

# The names that PEFT and others give to the parts of a layer with LoRA.
ADAPTERS = r"(^|\.)(lora_\w+|base_layer)(\.|$)"
MERGED = "with PEFT, model.merge_and_unload() gives the model to load"


def need_state_dict(state_dict: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Checks a state dict and returns a copy; its tensors are detached and share their memory.

    Raises:
        ValueError: not a dict of tensors by name, an empty one, one with adapters, or a tensor that is not dense.
    """
    if not isinstance(state_dict, Mapping):
        raise ValueError(f"a state dict is needed, as model.state_dict() returns it, got a {type(state_dict).__name__}")
    if not state_dict:
        raise ValueError("the state dict is empty, but it must hold the weights of a model")
    for kind in ((Mapping, nn.Module), object):  # a dict that may hold it is named before other values
        for key, value in state_dict.items():
            if isinstance(value, kind) and not (isinstance(key, str) and isinstance(value, torch.Tensor)):
                inside = f": is the state dict inside it? Give what lies under {key!r}" if kind is not object else ""
                raise ValueError(f"key {key!r} holds a {type(value).__name__}, not a tensor{inside}")
    check_no_adapter(state_dict)
    check_all_dense(state_dict)
    return {key: value.detach() for key, value in state_dict.items()}


def check_no_adapter(keys: Iterable[str]) -> None:
    """Checks that no weights are those of LoRA adapters, which change the layers that they belong to.

    Raises:
        ValueError: there are some, naming the first.

    Source: Hu et al. 2021, "LoRA" (arXiv:2106.09685).
    """
    keys = list(keys)
    adapters = [key for key in keys if re.search(ADAPTERS, key)]
    if adapters and all(key in adapters for key in keys):
        raise ValueError(
            f"all weights, such as {adapters[0]!r}, are those of LoRA adapters, without the model that they change: "
            f"add them to it and merge both; {MERGED}"
        )
    if adapters:
        raise ValueError(
            f"key {adapters[0]!r} belongs to a layer with a LoRA adapter: merge the adapters first; {MERGED}"
        )


@contextmanager
def hinting(library: ParameterNames, state: Mapping) -> Iterator[None]:
    """Adds to each `ValueError` from within a hint, if the names look like those of another library."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}{whose_names(library, state)}") from error


def missing(library: ParameterNames, state: Mapping, key: str) -> ValueError:
    """Makes the error that says which key is missing."""
    if library.keys(SIGNS[0])[0] in state:
        return ValueError(f"key {key!r} is missing")
    return ValueError(f"key {key!r} is missing: this is not the state dict of a {library.name} ViT")


def whose_names(library: ParameterNames, state: Mapping) -> str:
    """Returns a hint in brackets if the names have a prefix or are those of another library, else ""."""
    other, prefix = names_of(state), prefix_of(state)
    if other is None and prefix:
        return f" (its names begin with {prefix!r}: remove that from each)"
    if other and other.name != library.name:
        return f" (its names are those of {other.name})"
    return ""


def prefix_of(keys: Iterable[str]) -> str | None:
    """Returns the prefix, such as "module.", that a wrapper has put before the names of a known library, or None."""
    keys = set(keys)
    for first, second in ([library.keys(sign)[0] for sign in SIGNS] for library in LIBRARIES):
        prefixes = (key.removesuffix(first) for key in keys if key.endswith(f".{first}"))
        prefix = next((prefix for prefix in prefixes if prefix + second in keys), None)
        if prefix:
            return prefix
    return None
