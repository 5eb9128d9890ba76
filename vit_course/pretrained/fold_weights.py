"""Turns the weights of related families into those of a plain ViT, as far as they can be folded.

The names stay the library's, so that an error uses the names that its reader knows.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import torch

from vit_course.pretrained.hyperparameters import Hyperparameters
from vit_course.pretrained.libraries import ParameterNames
from vit_course.pretrained.state_dicts import missing

State = dict[str, torch.Tensor]
WORDS = {"cls": "a class token", "mean": "a mean", "attention": "an attention pooling"}


class Simplified(NamedTuple):
    """A folded state dict, and the fields of a `VariantConfig` for what cannot be folded."""

    state: State
    variant: dict[str, str | bool]


def simplified(
    library: ParameterNames, state: Mapping[str, torch.Tensor], hyperparameters: Hyperparameters
) -> Simplified:
    """Folds LayerScale, makes the position table that of a plain ViT, and joins two heads into one.

    Args:
        library: the one whose names the weights have.
        state: the weights; the dict stays as it is.
        hyperparameters: what else the model or its config says.

    Raises:
        ValueError: where a part of what is folded is missing, or has another shape or dtype than the rest.
    """
    state = dict(state)
    distilled = _join_heads(library, state)
    scaled = fold_scales(library, state)
    put_tokens_together(library, state, hyperparameters)
    pre_norm, norm_pooled = (_has(library, state, layer) for layer in ("pre_norm", "head_norm"))
    # CLIP has no bias in its patch embedding, nor in Hugging Face's projection: zeros take its place.
    for layer in (["patch_embedding.projection"] if pre_norm else []) + (["head"] if _is_clip(library) else []):
        weight, bias = (library.keys(f"{layer}.{kind}")[0] for kind in ("weight", "bias"))
        if weight in state and bias not in state and state[weight].ndim:
            state[bias] = state[weight].new_zeros(len(state[weight]))
    reads = "cls+register" if distilled else _what_the_head_reads(library, state, hyperparameters, norm_pooled)
    if norm_pooled and reads == "pool" and not scaled and not hyperparameters.blocks_are_known:
        _check_norms_after(library, state)
    fields = {"pre_norm": pre_norm, "norm_pooled": norm_pooled, "reads": reads}
    return Simplified(state, {name: value for name, value in fields.items() if value not in (False, "pool")})


def without_the_rest(library: ParameterNames, state: Mapping[str, torch.Tensor]) -> State:
    """Returns the weights without those that do not affect the output for a picture, such as MAE's decoder."""
    return {key: value for key, value in state.items() if not re.match(library.left_out, key)}


def part(library: ParameterNames, state: Mapping[str, torch.Tensor], key: str, needed: tuple[int, ...]) -> torch.Tensor:
    """Returns one tensor, after checking that it has this shape and the dtype of the patch embedding.

    Raises:
        ValueError: where it is missing, or has another shape or dtype.
    """
    if key not in state:
        raise missing(library, state, key)
    found, dtype = state[key], _need(library, state, library.keys("patch_embedding.projection.weight")[0]).dtype
    # A class token and a position table may come with or without axes of 1 in front.
    if tuple(found.shape) != needed and not (len(needed) == 3 and tuple(found.shape) in (needed[1:], needed[2:])):
        raise ValueError(f"key {key!r} has shape {tuple(found.shape)}, but {needed} is needed")
    if found.dtype != dtype or not dtype.is_floating_point:
        raise ValueError(f"key {key!r} has dtype {found.dtype}, the patch embedding {dtype}: one float dtype is needed")
    return found


def _join_heads(library: ParameterNames, state: State) -> bool:
    # The mean of two heads is one head with half of each, which reads both tokens side by side.
    if library.two_heads is None or library.tokens["distillation"] not in state:
        return False
    if not any(name.format(kind) in state for name in library.two_heads for kind in ("weight", "bias")):
        return False
    width = state[library.tokens["distillation"]].shape[-1]
    for kind in ("weight", "bias"):
        first, second = (name.format(kind) for name in library.two_heads)
        needed = (*_need(library, state, first).shape[:1], *([width] if kind == "weight" else []))
        both = [_full(part(library, state, key, needed)) for key in (first, second)]
        joined = torch.cat(both, dim=1) if kind == "weight" else sum(both)
        dtype = state.pop(first).dtype
        del state[second]
        state[library.keys(f"head.{kind}")[0]] = (joined / 2).to(dtype)
    return True


def fold_scales(library: ParameterNames, state: State) -> bool:
    """Folds LayerScale into the linear layer before it, in float32 if the weights have 16 bits. Changes the dict.

    lambda * (W x + b) = (lambda W) x + lambda b. Returns whether there is any LayerScale.
    """
    begins = [library.block.format(number) for number in range(library.depth(state))]
    if not any(begin + scale in state for begin in begins for scale in library.scales.values()):
        return False
    for number, begin in enumerate(begins):
        for layer, scale in library.scales.items():
            weight, bias = (library.keys(f"encoder.blocks.{number}.{layer}.{kind}")[0] for kind in ("weight", "bias"))
            rows = _need(library, state, weight).shape[:1]
            factor = _full(part(library, state, begin + scale, tuple(rows)))
            for key, axes in ((weight, 2), (bias, 1)):
                value = _need(library, state, key)
                if value.ndim != axes or value.shape[:1] != rows:
                    raise ValueError(f"key {key!r} has shape {tuple(value.shape)}, but {axes} axes are needed")
                state[key] = (_full(value) * factor.reshape(-1, *[1] * (axes - 1))).to(value.dtype)
            del state[begin + scale]
    return True


def put_tokens_together(library: ParameterNames, state: State, hyperparameters: Hyperparameters) -> None:
    """Makes the position table have one row for the class token, if there is one, and one for each patch.

    The rows of other tokens are added to the tokens themselves, which then need no position. Changes the dict.
    """
    key_of_table, key_of_registers = library.tokens["positions.table"], library.tokens.get("registers.tokens")
    table, class_token = state.get(key_of_table), state.get(library.tokens.get("class_token.token"))
    extra = [key for name in ("distillation", "registers.tokens") if (key := library.tokens.get(name)) in state]
    if table is None or table.ndim not in (2, 3) or table.numel() != table.shape[-2:].numel():
        return  # `read_config` raises the error
    rows, width = table.shape[-2:]
    first = int(class_token is not None and class_token.numel() > 0)
    tokens = [part(library, state, key, (1, max(1, state[key].numel() // max(1, width)), width)) for key in extra]
    count = sum(token.shape[1] for token in tokens)
    # timm's newer models have a row for none of these tokens, its older ones for all, DINOv2 for the class token only.
    prefix = next((some for some in (0, first, first + count) if _fits(rows - some, hyperparameters)), None)
    if prefix is None or (prefix == first and not extra):
        return
    table, dtype = table.reshape(rows, width), table.dtype
    if extra:
        together = torch.cat([_full(token[0]) for token in tokens])  # (R, D)
        if prefix == first + count:
            together = together + _full(table[first:prefix])
        for key in extra:
            del state[key]
        state[key_of_registers] = together[None].to(dtype)
    row = table[:first] if prefix else table.new_zeros(first, width)
    state[key_of_table] = torch.cat([row, table[prefix:]])[None]


def _fits(patches: int, hyperparameters: Hyperparameters) -> bool:
    if hyperparameters.grid is not None:
        return patches == hyperparameters.grid[0] * hyperparameters.grid[1]
    return patches > 0 and round(patches**0.5) ** 2 == patches


def _what_the_head_reads(
    library: ParameterNames, state: State, hyperparameters: Hyperparameters, norm_pooled: bool
) -> str:
    if _has(library, state, "head") and library.head_reads is not None:
        for key in [key for key in state if key.startswith(library.pooling)]:
            del state[key]  # SigLIP's classifier reads the mean, and its attention pooling is unused
        return library.head_reads
    attends = any(key.startswith(library.pooling) for key in state)
    token = state.get(library.tokens.get("class_token.token"))
    class_token = token is not None and token.numel() > 0  # vit-pytorch has an empty one
    pool = hyperparameters.pool
    if library.name == "vit-pytorch" and class_token and pool == "mean":
        raise ValueError(
            "its head reads the mean of the class token and the patches, but ours averages the patches alone"
        )
    if pool == "cls" and not class_token:
        key = library.tokens.get("class_token.token")
        raise ValueError(f"key {key!r} is missing: with pool='cls' the head reads a class token")
    if pool is not None and attends != (pool == "attention"):
        there = "an attention pooling" if attends else "a class token" if class_token else "no class token"
        raise ValueError(f"with pool={pool!r} the head reads {WORDS[pool]}, but the weights have {there}")
    if attends:
        if library.name == "timm":
            _join_queries(library, state)
        return "attention"
    pooled_over_patches = pool == "mean" or (pool is None and norm_pooled)
    return "patches" if pooled_over_patches and class_token else "pool"


def _join_queries(library: ParameterNames, state: State) -> None:
    # timm has the queries of its attention pooling apart from the keys and values.
    for kind in ("weight", "bias"):
        q, kv = (f"{library.pooling}{name}.{kind}" for name in ("q", "kv"))
        width = _need(library, state, q).shape[-1]
        first = part(library, state, q, (width, *[width] * (kind == "weight")))
        second = part(library, state, kv, (2 * width, *[width] * (kind == "weight")))
        del state[q], state[kv]
        state[library.keys(f"pooling.qkv.{kind}")[0]] = torch.cat([first, second])


def _check_norms_after(library: ParameterNames, state: State) -> None:
    # timm's blocks with norms after the attention and the MLP have the same names as those with norms before them.
    no_token = not any(library.tokens.get(name) in state for name in ("class_token.token", "registers.tokens"))
    if no_token and not _has(library, state, "encoder.blocks.0.attention.qkv", "bias"):
        raise ValueError(
            "these weights are those of a vit_*_gap or of a vit_*_rpn, whose norms come after the attention and the "
            "MLP, and do not say which: give the model itself"
        )


def _is_clip(library: ParameterNames) -> bool:
    return library.signs == ("pre_norm.weight",)


def _has(library: ParameterNames, state: Mapping, layer: str, kind: str = "weight") -> bool:
    try:
        return library.keys(f"{layer}.{kind}")[0] in state
    except KeyError:
        return False


def _need(library: ParameterNames, state: Mapping[str, torch.Tensor], key: str) -> torch.Tensor:
    if key not in state:
        raise missing(library, state, key)
    return state[key]


def _full(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.promote_types(value.dtype, torch.float32))
