"""The sizes of a model, read from the shapes of its weights."""

from collections.abc import Mapping

import torch

from vit_course.config import ViTConfig
from vit_course.pretrained.fold_weights import Simplified
from vit_course.pretrained.hyperparameters import Hyperparameters
from vit_course.pretrained.libraries import ParameterNames
from vit_course.pretrained.state_dicts import missing
from vit_course.pretrained.variants import VariantConfig, simplest


def read_config(
    library: ParameterNames,
    simplified: Simplified,
    hyperparameters: Hyperparameters,
    num_classes: int | None,
    in_channels: int,
) -> ViTConfig:
    """Reads a model's config from the shapes of its weights; the rest from the hyperparameters or published defaults.

    The number of heads stays 1 and the GELU the exact one for now, so that other errors are reported before the caller
    is asked for them.

    Raises:
        ValueError: naming the first key that is missing, or whose shape is no ViT's.
    """
    state, normed = simplified.state, library.fixed["patch_norm"]
    patch_key, patches = _weight(library, state, "patch_embedding.projection.weight", axes=2 if normed else 4)
    hidden_dim = patches.shape[0]
    if normed:
        patch_size = round((patches.shape[1] / in_channels) ** 0.5)
        if patch_size**2 * in_channels != patches.shape[1]:
            raise ValueError(
                f"key {patch_key!r} has shape {tuple(patches.shape)}: {patches.shape[1]} numbers per patch are not a "
                f"square of pixels with {in_channels} channels, but {(hidden_dim, patch_size**2 * in_channels)} would "
                "be: give in_channels"
            )
    else:
        in_channels, patch_size = patches.shape[1:3]
    (rows, columns), pool = _positions(library, state, hidden_dim, hyperparameters)
    _check_width(library, state, hidden_dim)
    key, expand = _weight(library, state, "encoder.blocks.0.mlp.expand.weight", axes=2)
    contract = state.get(library.keys("encoder.blocks.0.mlp.contract.weight")[0])
    if contract is not None and contract.ndim == 2 and len(expand) == 2 * contract.shape[1]:
        raise ValueError(
            f"key {key!r} has {len(expand)} rows, twice as many as the next layer takes: a SwiGLU, as in DINOv2's giant"
        )
    depth = library.depth(state)
    biases = {library.keys(f"encoder.blocks.{number}.attention.qkv.bias")[0] for number in range(depth)}
    no_pre_logits = library.fixed.get("representation_size") == 0
    config = VariantConfig(
        image_size=(rows * patch_size, columns * patch_size),
        patch_size=patch_size,
        in_channels=in_channels,
        num_classes=_rows(library, state, "head") or num_classes or 0,
        hidden_dim=hidden_dim,
        num_layers=depth,
        num_heads=1,
        mlp_dim=len(expand),
        pool=pool,
        qkv_bias=library.fixed.get("qkv_bias", not biases.isdisjoint(state)),
        norm_epsilon=hyperparameters.norm_epsilon
        or (1e-5 if "pre_norm" in simplified.variant else library.norm_epsilon),
        representation_size=0 if no_pre_logits else _rows(library, state, "pre_logits.0"),
        patch_norm=normed,
        num_registers=_registers(library, state),
        **simplified.variant,
    )
    return simplest(config)


def _weight(library: ParameterNames, state: Mapping, ours: str, axes: int) -> tuple[str, torch.Tensor]:
    key = library.keys(ours)[0]
    if key not in state:
        raise missing(library, state, key)
    if state[key].ndim != axes:
        raise ValueError(f"key {key!r} has shape {tuple(state[key].shape)}, but {axes} axes are needed")
    if 0 in state[key].shape:
        raise ValueError(f"key {key!r} has shape {tuple(state[key].shape)}, but at least 1 in each axis is needed")
    return key, state[key]


def _rows(library: ParameterNames, state: Mapping, layer: str) -> int:
    # The number of outputs of an optional layer, 0 if it is not there.
    there = any(library.keys(f"{layer}.{kind}")[0] in state for kind in ("weight", "bias"))
    return len(_weight(library, state, f"{layer}.weight", axes=2)[1]) if there else 0


def _registers(library: ParameterNames, state: Mapping) -> int:
    tokens = state.get(library.tokens.get("registers.tokens"))
    return 0 if tokens is None else tokens.shape[1]


def _positions(
    library: ParameterNames, state: Mapping, hidden_dim: int, hyperparameters: Hyperparameters
) -> tuple[tuple[int, int], str]:
    # The grid (rows, columns), and the pool: "cls" if the table has a row for a class token.
    key = library.keys("positions.table")[0]
    if key not in state:
        raise missing(library, state, key)
    shape = tuple(state[key].shape)
    rows = shape[-2] if len(shape) > 1 else 0
    token_key = library.tokens.get("class_token.token")
    token = state.get(token_key)
    if (
        token is None
        and token_key is not None
        and (library.fixed.get("pool") == "cls" or (rows > 1 and _is_square(rows - 1)))
    ):
        raise missing(library, state, token_key)
    prefix = int(token is not None and token.numel() > 0)
    if hyperparameters.grid is not None and rows - prefix == hyperparameters.grid[0] * hyperparameters.grid[1]:
        return hyperparameters.grid, "cls" if prefix else "mean"
    if rows <= prefix or not _is_square(rows - prefix):
        side = max(1, round(max(0, rows - prefix) ** 0.5))
        extra = "one for a class token and " if prefix else ""
        raise ValueError(
            f"key {key!r} has shape {shape}: {rows} rows are not {extra}a square number of patches, "
            f"{(1, side**2 + prefix, hidden_dim)} would be"
        )
    side = round((rows - prefix) ** 0.5)
    return (side, side), "cls" if prefix else "mean"


def _is_square(number: int) -> bool:
    return round(number**0.5) ** 2 == number


def _check_width(library: ParameterNames, state: Mapping, hidden_dim: int) -> None:
    names = library.keys("encoder.blocks.0.attention.qkv.weight")
    key, weight = _weight(library, state, "encoder.blocks.0.attention.qkv.weight", axes=2)
    needed = 3 * hidden_dim // len(names), hidden_dim
    if len(weight) != needed[0]:
        raise ValueError(
            f"key {key!r} has shape {tuple(weight.shape)}, but {needed} is needed: all heads together are "
            f"{len(weight) * len(names) / 3:g} wide, in our ViT as wide as hidden_dim, {hidden_dim}"
        )
