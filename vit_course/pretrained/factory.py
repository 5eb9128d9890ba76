"""Builds our ViT from our own weights; checks every name, shape and number before it allocates memory for the model."""

from collections.abc import Mapping
from dataclasses import MISSING, fields

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from vit_course._support.files.check_tensors import check_shapes, check_tensors
from vit_course._support.files.json_files import need_object
from vit_course._support.inputs.rules import shown
from vit_course.config import ViTConfig
from vit_course.pretrained.libraries import OURS
from vit_course.pretrained.variants import VariantConfig, new_model
from vit_course.vit import ViT


def build(config: ViTConfig, tensors: Mapping[str, torch.Tensor]) -> ViT:
    """A `ViT` of this config with these weights, in eval mode.

    Raises:
        ValueError: a config that the sizes of the weights contradict, a key that is missing or left over, or numbers
            that are not finite.
    """
    blocks = OURS.depth(tensors)
    if blocks != config.num_layers:  # checked first: even `shapes` takes memory for 10^9 blocks
        raise ValueError(f"num_layers is {config.num_layers} in the config, but the weights have {blocks} blocks")
    check_shapes(tensors, shapes(config))
    check_tensors(tensors)
    model = unfilled(config)
    model.load_state_dict(tensors)
    return model.eval()


class _DrawsNothing(TorchFunctionMode):
    """Skips PyTorch's random initialisation, so that new tensors stay uninitialised."""

    FILLS = (
        *(nn.init.kaiming_uniform_, nn.init.xavier_uniform_, nn.init.uniform_, nn.init.normal_),
        *(torch.Tensor.uniform_, torch.Tensor.normal_),
    )

    def __torch_function__(self, function, types, arguments=(), options=None):
        if function in self.FILLS:
            return arguments[0] if arguments else (options or {})["tensor"]
        return function(*arguments, **(options or {}))


def unfilled(config: ViTConfig) -> ViT:
    """Makes a model without initial weights, to be loaded: drawing them takes time and changes the random state."""
    with _DrawsNothing():
        return new_model(config)


def vit_config(content: object, kind: type[ViTConfig] = ViTConfig) -> ViTConfig:
    """Makes a config of this class from its fields, as `ViTConfig.to_dict` writes them.

    Raises:
        ValueError: not a JSON object, a field that is unknown or missing, or a value that a `ViTConfig` cannot have.
    """
    given = need_object("the config of the model", content)
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for name in given:
        if name not in known:
            raise ValueError(f"the config has a field {shown(name)}, but a ViTConfig has only {', '.join(known)}")
    for name, needed in known.items():
        if needed and name not in given:
            raise ValueError(f"the config has no field {name!r}, which a ViTConfig needs")
    return kind(**given)


def config_of(content: object) -> ViTConfig:
    """Makes a `ViTConfig` or a `VariantConfig` from its fields, as a checkpoint holds them.

    Raises:
        ValueError: as `vit_config`.
    """
    return vit_config(content, VariantConfig if isinstance(content, dict) and "reads" in content else ViTConfig)


def shapes(config: ViTConfig) -> dict[str, torch.Size]:
    """Returns the shape of each weight of a `ViT`, without allocating it.

    Raises:
        ValueError: sizes that do not fit together.
    """
    with torch.device("meta"):  # `unfilled`, as drawing on "meta" would import half of PyTorch
        return {key: value.shape for key, value in unfilled(config).state_dict().items()}


def changed(config: ViTConfig, **changes) -> ViTConfig:
    """Returns a copy of a config with some fields changed."""
    return type(config)(**{**config.to_dict(), **changes})


def our_vit(model: object) -> ViT:
    """Returns the model; raises a `ValueError` if it is not a `ViT` of ours."""
    if not isinstance(model, ViT):
        raise ValueError(f"a ViT of this course is needed, got a {type(model).__name__}")
    return model


def rebuilt(model: ViT, num_classes: int) -> ViT:
    """Returns a copy with a fresh head for `num_classes` classes, or without a head for 0, in eval mode."""
    other = new_model(changed(model.config, num_classes=num_classes)).to(model.patch_embedding.projection.weight)
    kept = {key: value for key, value in model.state_dict().items() if not key.startswith("head.")}
    other.load_state_dict(kept | {f"head.{key}": value for key, value in other.head.state_dict().items()})
    return other.eval()
