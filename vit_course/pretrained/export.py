"""Our weights under the names of other libraries, which load them strictly."""

import torch

from vit_course.pretrained.factory import our_vit
from vit_course.pretrained.libraries import HUGGINGFACE, TIMM, TORCHVISION, VIT_PYTORCH, ParameterNames
from vit_course.pretrained.variants import PLAIN
from vit_course.vit import ViT


def to_torchvision(model: ViT) -> dict[str, torch.Tensor]:
    """The weights under torchvision's names; its model of the same sizes, norms and GELU loads them strictly.

    A model without a head is exported without one.

    Raises:
        ValueError: a model that is not ours, or one that the library cannot have; the message names the field of its
            config.
    """
    return _export(TORCHVISION, model)


def to_timm(model: ViT) -> dict[str, torch.Tensor]:
    """As `to_torchvision`, for timm; a hidden layer before the head has the name it had in timm's early releases.

    Registers are `reg_tokens` there; the table has a row of zeros for each.
    """
    return _export(TIMM, model)


def to_huggingface(model: ViT) -> dict[str, torch.Tensor]:
    """As `to_torchvision`, for `ViTForImageClassification`; without the head and without `vit.`, for `ViTModel`.

    A hidden layer before the head becomes the pooler, which only `ViTModel` has.
    """
    return _export(HUGGINGFACE, model)


def to_vit_pytorch(model: ViT) -> dict[str, torch.Tensor]:
    """As `to_torchvision`, for vit-pytorch; only for a model with norms around its patches and without q, k, v bias."""
    return _export(VIT_PYTORCH, model)


def _export(library: ParameterNames, model: ViT) -> dict[str, torch.Tensor]:
    registers = {} if library is TIMM else {"num_registers": 0}
    for name, only in {"position": "learned", **library.fixed, **registers, **PLAIN}.items():
        value = getattr(our_vit(model).config, name, only)
        if value != only:
            raise ValueError(f"a ViT of {library.name} has {name} {only!r}, but this model has {value!r}")
    found: dict[str, torch.Tensor] = {}
    for key, value in model.state_dict().items():
        theirs = library.keys(key)
        if library is VIT_PYTORCH and key in library.tokens:
            value = value[0]  # it has no batch axis there
        found.update(zip(theirs, value.chunk(len(theirs)), strict=True))
    table, first = found[library.tokens["positions.table"]], model.config.num_positions - model.config.num_patches
    if library is VIT_PYTORCH and not first:
        found["cls_token"] = table.new_zeros(0, model.config.hidden_dim)
    if model.config.num_registers:  # which have positions in timm
        rows = table.new_zeros(1, model.config.num_registers, model.config.hidden_dim)
        found[TIMM.tokens["positions.table"]] = torch.cat([table[:, :first], rows, table[:, first:]], dim=1)
    return {key: value.detach().clone() for key, value in found.items()}
