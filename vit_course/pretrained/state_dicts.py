"""What is no state dict of a ViT, and how to say so."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn

from vit_course._support.files.validated import need_dense
from vit_course.pretrained.libraries import LIBRARIES, SIGNS, Library, library_of


def checked(state_dict: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A copy of the dict, its tensors shared and without gradients, after a look at what it is.

    Raises:
        ValueError: where it is no dict of tensors by name, or an empty one, or a tensor is not dense.
    """
    if not isinstance(state_dict, Mapping):
        raise ValueError(f"give a state dict, as model.state_dict() gives it, not a {type(state_dict).__name__}")
    if not state_dict:
        raise ValueError("the state dict is empty")
    for kind in ((Mapping, nn.Module), object):  # what holds it, if anything does, before what lies beside it
        for key, value in state_dict.items():
            if isinstance(value, kind) and not (isinstance(key, str) and isinstance(value, torch.Tensor)):
                inside = f": is the state dict inside it? Give what lies under {key!r}" if kind is not object else ""
                raise ValueError(f"key {key!r} holds a {type(value).__name__}, not a tensor{inside}")
    need_dense(state_dict)
    return {key: value.detach() for key, value in state_dict.items()}


@contextmanager
def hinting(library: Library, state: Mapping) -> Iterator[None]:
    """Each `ValueError` from within says at its end whose names these look like, where they are not the library's."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}{whose_names(library, state)}") from error


def missing(library: Library, state: Mapping, key: str) -> ValueError:
    """The error that says which key is not there."""
    if library.keys(SIGNS[0])[0] in state:
        return ValueError(f"key {key!r} is missing")
    return ValueError(f"key {key!r} is missing: this is not the state dict of a {library.name} ViT")


def whose_names(library: Library, state: Mapping) -> str:
    """In brackets, what these names look like where they are not the library's, or nothing."""
    other, prefix = library_of(state), prefix_of(state)
    if other is None and prefix:
        return f" (its names begin with {prefix!r}: take that away from each)"
    if other and other.name != library.name:
        return f" (its names are those of {other.name})"
    return ""


def prefix_of(keys: Iterable[str]) -> str | None:
    """What a wrapper, such as "module.", has put in front of the names of a known library, or None."""
    keys = set(keys)
    for first, second in ([library.keys(sign)[0] for sign in SIGNS] for library in LIBRARIES):
        prefixes = (key.removesuffix(first) for key in keys if key.endswith(f".{first}"))
        prefix = next((prefix for prefix in prefixes if prefix + second in keys), None)
        if prefix:
            return prefix
    return None
