"""What is no state dict of a ViT, and how to say so."""

from collections.abc import Mapping

import torch

from vit_course.pretrained.libraries import Library, library_of

# What is in the names of other architectures, to say which it is; the first that is found speaks.
FOREIGN = {
    "relative_position_bias_table": "a Swin Transformer",
    "dist_token": "a distilled DeiT, with a second token and a second head",
    "distillation_token": "a distilled DeiT, with a second token and a second head",
    "reg_token": "a ViT with registers",
    "register_tokens": "a ViT with registers",
    ".ls1.": "a ViT with layer scale",
    "layer_scale": "a ViT with layer scale",
    "norm_pre.": "a ViT with a norm before the first block",
    "fc_norm.": "a ViT that takes the mean before the last norm",
    "word_embeddings": "a model of text, such as BERT",
    "running_mean": "a convolutional network, such as a ResNet",
}


def checked(state_dict: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A copy of the dict, its tensors shared, after a look at what it is.

    Raises:
        ValueError: where it is no dict of tensors by name, or an empty one.
    """
    if not isinstance(state_dict, Mapping):
        raise ValueError(f"give a state dict, as model.state_dict() gives it, not a {type(state_dict).__name__}")
    if not state_dict:
        raise ValueError("the state dict is empty")
    for key, value in state_dict.items():
        if not isinstance(key, str) or not isinstance(value, torch.Tensor):
            inside = ": is the state dict inside it?" if isinstance(value, Mapping) else ""
            raise ValueError(f"key {key!r} holds a {type(value).__name__}, not a tensor{inside}")
    return dict(state_dict)


def missing(library: Library, state: Mapping, key: str) -> ValueError:
    """The error that says which key is not there, and what this may be instead."""
    if library.keys("patch_embedding.projection.weight")[0] in state:
        return ValueError(f"key {key!r} is missing{looks_like(library, state)}")
    return ValueError(
        f"key {key!r} is missing: this is not the state dict of a {library.name} ViT{looks_like(library, state)}"
    )


def looks_like(library: Library, state: Mapping) -> str:
    """In brackets, what these names look like where they are not the library's, or nothing."""
    for fragment, kind in FOREIGN.items():
        if any(fragment in key for key in state):
            return f" (it looks like {kind})"
    other = library_of(state)
    return f" (its names are those of {other.name})" if other and other.name != library.name else ""
