"""Converts published weights into ours: every tensor is used, or an error names the first that does not fit."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from vit_course._support.files.check_tensors import check_tensors
from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import shown
from vit_course.config import ViTConfig
from vit_course.embeddings import interpolate_positions
from vit_course.pretrained.factory import changed, our_vit, shapes, unfilled
from vit_course.pretrained.fold_weights import part, simplified, without_the_rest
from vit_course.pretrained.hyperparameters import Hyperparameters, of_huggingface, of_timm, of_torchvision
from vit_course.pretrained.libraries import (
    DINOV2_AUTHORS,
    HUGGINGFACE,
    HUGGINGFACE_KINDS,
    TIMM,
    TORCHVISION,
    TORCHVISION_1,
    VIT_PYTORCH,
    ParameterNames,
    names_of,
)
from vit_course.pretrained.sizes import read_config
from vit_course.pretrained.state_dicts import hinting, need_state_dict, prefix_of
from vit_course.pretrained.variants import VariantConfig, new_model
from vit_course.vit import ViT

HEAD = ("head.weight", "head.bias")
Weights = Mapping[str, torch.Tensor]


def load_torchvision(weights: nn.Module | Weights, num_heads: int | None = None, num_classes: int | None = None) -> ViT:
    """A `VisionTransformer` of torchvision, or its state dict -> a `ViT` of ours with the same result, in eval mode.

    The sizes are read from the shapes; the number of heads, which they do not show, comes from the model or
    is given. The new model has the dtype of the weights, even a 16-bit one, and shares no memory with them. Weights
    without a head give a model without one, whose `features` work.

    Args:
        weights: the model itself, which is enough; for a state dict, the epsilon of the norms is as published.
        num_heads: needed for a state dict only.
        num_classes: for weights without a head: a fresh one for this many classes is added, to be trained.

    Raises:
        ValueError: another model, naming its class; or the first key that is missing or left over, or whose shape does
            not fit, with both shapes.
    """
    hyperparameters, state = _opened(weights, of_torchvision, TORCHVISION, num_heads=num_heads)
    old = any(".mlp.linear_1." in key for key in state)
    return convert(TORCHVISION_1 if old else TORCHVISION, state, hyperparameters, num_classes)


def load_timm(
    weights: nn.Module | Weights,
    num_heads: int | None = None,
    num_classes: int | None = None,
    gelu: str | None = None,
    pool: str | None = None,
) -> ViT:
    """As `load_torchvision`, for timm's `VisionTransformer`.

    Takes ViT, DeiT (distilled too: its two heads are averaged, and the second token becomes a register), DeiT III,
    DINO, DINOv2 with and without registers, MAE, CLIP, SigLIP and those that average before the last norm. LayerScale
    is folded into the linear layer before it, and the position of a register into the register. The files of the
    authors of DINO, DINOv2 and MAE have the same names; the decoder of MAE and the tokens for masks are left out.

    Args:
        weights, num_heads, num_classes: as in `load_torchvision`.
        gelu: "none", "tanh" or "quick" for CLIP's; needed for a state dict of CLIP or SigLIP, where both
            are published; otherwise the exact GELU is taken. Not needed for a model.
        pool: what the head reads, "cls", the class token, or "mean", that of the patches; needed for a state dict with
            a head, unless two heads or an attention pooling say it. Not needed for a model.

    Raises:
        ValueError: as `load_torchvision`; or a model with parts that ours does not have.
    """
    hyperparameters, state = _opened(weights, of_timm, TIMM, num_heads=num_heads, gelu=gelu, pool=pool)
    return convert(DINOV2_AUTHORS if "register_tokens" in state else TIMM, state, hyperparameters, num_classes)


def load_huggingface(
    weights: nn.Module | Weights,
    num_heads: int | None = None,
    num_classes: int | None = None,
    gelu: str | None = None,
) -> ViT:
    """As `load_timm`, for Hugging Face's ViT, DeiT, DINOv2, MAE, CLIP and SigLIP, of any version of transformers.

    With or without their classification heads. The pooler of a `ViTModel` is the paper's hidden layer before the head,
    CLIP's projection is treated as a head, and from a model of images and text only the image tower is taken.
    """
    hyperparameters, state = _opened(weights, of_huggingface, HUGGINGFACE, num_heads=num_heads, gelu=gelu)
    return convert_huggingface(state, hyperparameters, num_classes)


def load_vit_pytorch(
    state_dict: Weights,
    num_heads: int | None = None,
    num_classes: int | None = None,
    in_channels: int = 3,
    pool: str | None = None,
) -> ViT:
    """As `load_torchvision`, for the state dict of a `ViT` of vit-pytorch.

    It has norms in its patch embedding and no q, k, v bias. Its dim_head times heads must be its dim.

    Args:
        in_channels: C, which cannot be read from the shapes either.
        pool: "cls" where the head reads the class token. Older versions have this token with pool="mean" too, which
            then averages it with the patches, and ours does not do that; needed for weights of such a version, whose
            token has three axes.
    """
    check_arguments(in_channels=in_channels)
    hyperparameters = _agreed(Hyperparameters(), num_heads=num_heads, pool=pool)
    return convert(VIT_PYTORCH, need_state_dict(state_dict), hyperparameters, num_classes, in_channels)


def convert_huggingface(state: Weights, hyperparameters: Hyperparameters, num_classes: int | None = None) -> ViT:
    """As `convert`, for names of Hugging Face; finds out which of its kinds of models has them."""
    return convert(_likeliest(state, HUGGINGFACE_KINDS), state, hyperparameters, num_classes)


def resize(model: ViT, image_size: int | tuple[int, int], antialias: bool = False) -> ViT:
    """A copy of the model for images of another size: all weights as they are, the position table interpolated.

    Args:
        antialias: as timm does; torchvision and Hugging Face do not.

    Raises:
        ValueError: sides that the patch size does not divide, or that no `ViTConfig` takes; a model that is not ours.

    Source: Dosovitskiy et al. 2020, section 3.2.
    """
    check_arguments(antialias=antialias)
    config = changed(our_vit(model).config, image_size=image_size)
    shapes(config)  # refuses sides that the patch size does not divide, before a table is interpolated
    state = model.state_dict()
    if config.position == "learned":
        grids, table = (model.config.grid, config.grid), state["positions.table"]
        state["positions.table"] = interpolate_positions(table, *grids, config.pool == "cls", antialias)
    resized = unfilled(config).to(state["patch_embedding.projection.weight"])
    resized.load_state_dict(state)
    return resized.train(model.training)


def _opened(
    weights: nn.Module | Weights, read: Callable[[nn.Module], Hyperparameters], library: ParameterNames, **given: Any
) -> tuple[Hyperparameters, Weights]:
    # The hyperparameters, from the model if there is one and from what was given, and the state dict.
    if not isinstance(weights, nn.Module):
        return _agreed(Hyperparameters(), **given), need_state_dict(weights)
    state = need_state_dict(weights.state_dict())
    if names_of(state) is None and (prefix := prefix_of(state)):
        raise ValueError(
            f"this is a {type(weights).__name__} around a model: give the model itself, model.{prefix[:-1]}"
        )
    with hinting(library, state):
        return _agreed(read(weights), **given), state


def _agreed(found: Hyperparameters, **given: Any) -> Hyperparameters:
    # The hyperparameters with what was given; raises if the model contradicts it.
    for name, value in given.items():
        if value is not None:
            check_arguments(**{"any_gelu" if name == "gelu" else name: value})
            known = getattr(found, name)
            if known not in (None, value):
                raise ValueError(f"{name} is {shown(value)}, but the model has {shown(known)}")
    return replace(found, **{name: value for name, value in given.items() if value is not None})


def _likeliest(keys: Weights, among: tuple[ParameterNames, ...]) -> ParameterNames:
    # The library that has most of the names, so that an error names what is missing; on a tie, that with shorter names.
    def known(library: ParameterNames) -> int:
        layers = [*library.layers, *(f"encoder.blocks.0.{layer}" for layer in library.in_block)]
        names = [name for layer in layers for kind in ("weight", "bias") for name in library.keys(f"{layer}.{kind}")]
        return len(keys.keys() & {*names, *library.tokens.values()})

    return max(among, key=lambda library: (known(library), -len(library.tokens["positions.table"])))


def convert(
    library: ParameterNames,
    weights: Weights,
    hyperparameters: Hyperparameters,
    num_classes: int | None = None,
    in_channels: int = 3,
) -> ViT:
    """A state dict with the names of a library, and its hyperparameters -> a `ViT` of ours, in eval mode.

    Raises:
        ValueError: as `load_torchvision`.
    """
    given = {"num_heads": hyperparameters.num_heads, "num_classes": num_classes}
    check_arguments(**{name: value for name, value in given.items() if value is not None})
    state = without_the_rest(library, need_state_dict(weights))
    with hinting(library, state):
        # Checks the weights first and missing arguments last, so that nobody is asked for num_heads in vain.
        plain = simplified(library, state, hyperparameters)
        config = read_config(library, plain, hyperparameters, num_classes, in_channels)
        fresh = {name for name in HEAD if library.keys(name)[0] not in plain.state}
        fresh = fresh if fresh == set(HEAD) else set()  # one of the two alone is no head
        needed = {key: shape for key, shape in shapes(config).items() if key not in fresh}
        tensors = _renamed(library, plain.state, needed)
        check_tensors(state)
        if num_classes and not fresh:
            raise ValueError(
                f"num_classes is for weights without a head, but these have key {library.keys(HEAD[0])[0]!r}"
            )
        config = _completed(library, config, hyperparameters, state, headless=bool(fresh) or not config.num_classes)
        made = new_model(config) if fresh and config.num_classes else unfilled(config)
        model = made.to(tensors["patch_embedding.projection.weight"].dtype)
    model.load_state_dict(tensors, strict=not fresh)
    return model.eval()


def _completed(
    library: ParameterNames, config: ViTConfig, hyperparameters: Hyperparameters, weights: Weights, headless: bool
) -> ViTConfig:
    # Adds the number of heads and the activation, which the weights do not show but every output depends on.
    if hyperparameters.num_heads is None:
        raise ValueError("the number of heads is not in the weights: give num_heads, or the model itself")
    if hyperparameters.pool is None and not headless and _pool_is_open(library, config, weights):
        raise ValueError(
            "the weights do not say what their head reads: give pool='cls' if it is the class token, 'mean' if it is "
            "the mean of the patches" + ", or the model itself" * (library.name == "timm")
        )
    gelu = hyperparameters.gelu or _usual_gelu(library, config, headless)
    if gelu == "quick":
        return VariantConfig(**{**config.to_dict(), "num_heads": hyperparameters.num_heads, "quick_gelu": True})
    return changed(config, num_heads=hyperparameters.num_heads, gelu=gelu)


def _pool_is_open(library: ParameterNames, config: ViTConfig, weights: Weights) -> bool:
    # Whether the same names and shapes are those of models whose heads read different tokens.
    if library.name == "timm":  # also a maximum, which ours does not have
        return getattr(config, "reads", "pool") in ("pool", "patches")
    return (
        library.name == "vit-pytorch"
        and config.pool == "cls"
        and weights[library.tokens["class_token.token"]].ndim == 3
    )


def _usual_gelu(library: ParameterNames, config: ViTConfig, headless: bool) -> str:
    if library.fixed.get("pool") == "mean":
        return "tanh"  # every SigLIP of Hugging Face
    clip, siglip = getattr(config, "pre_norm", False), getattr(config, "reads", "pool") == "attention"
    # timm's SigLIPs without their attention pooling look like other models that have no class token and no head.
    if clip or siglip or (library.name == "timm" and headless and config.pool == "mean" and not config.num_registers):
        known = "'none' or 'quick'" if clip else "'none' or 'tanh'"
        kind = "a CLIP" if clip else "a SigLIP" if siglip else "a SigLIP or of another model without a class token"
        raise ValueError(f"the weights of {kind} do not say which GELU it has: give gelu={known}, or the model itself")
    return "none"


def _renamed(library: ParameterNames, state: Mapping[str, torch.Tensor], needed: Mapping[str, torch.Size]) -> dict:
    # The weights under our names; checks their shapes, and that no key is missing or left over.
    found: dict[str, torch.Tensor] = {}
    used: set[str] = set()
    for key, shape in needed.items():
        theirs = library.keys(key)
        parts = [part(library, state, name, (shape[0] // len(theirs), *shape[1:])) for name in theirs]
        found[key] = (torch.cat(parts) if len(parts) > 1 else parts[0]).reshape(shape)
        used.update(theirs)
    if "class_token.token" not in needed:
        used.add(library.tokens.get("class_token.token", ""))  # vit-pytorch has an empty one
    for key in state:
        if key not in used:
            raise ValueError(f"key {key!r} is left over: our ViT has no weight of this name")
    return found
