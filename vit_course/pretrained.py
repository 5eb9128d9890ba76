"""Weights into our ViT: the checkpoints that come with the course, and published ones under torchvision's names."""

from pathlib import Path

import torch

from vit_course.config import ViTConfig
from vit_course.training import load_weights
from vit_course.vit import ViT

# In a checkout the checkpoints lie in res/, one folder a training run; a built wheel carries them inside the package.
_FOLDERS = (Path(__file__).parents[1] / "res", Path(__file__).parent / "checkpoints")


def load(name: str) -> ViT:
    """A trained `ViT`, in eval mode: by the name of a shipped checkpoint ("shapes") or by the path of one of yours.

    Raises:
        ValueError: no such checkpoint (the shipped ones are listed), a damaged one, or one that is not a ViT's.
    """
    runs = {path.parent.name: path for folder in _FOLDERS for path in sorted(folder.glob("*/best.safetensors"))}
    path = runs.get(name, Path(name))
    if not path.is_file():
        raise ValueError(f"there is no checkpoint {name!r}; shipped are {', '.join(map(repr, runs)) or 'none'}")
    state, metadata = load_weights(path)
    if "config" not in metadata:
        raise ValueError(f"{path} holds no ViTConfig, so it is not a checkpoint of a vit_course ViT")
    return _fill(ViT(ViTConfig(**metadata["config"])), state)


def load_torchvision(state_dict: dict[str, torch.Tensor]) -> ViT:
    """The state dict of a torchvision `vit_*` -> a `ViT` of ours with the same weights, in eval mode.

    The sizes are read from the shapes. The number of heads leaves no trace in them: the published models have
    heads of width 64, and 80 in the 1280-wide vit_h_14.

    Raises:
        ValueError: naming the first key that is missing or left over, or whose shape does not fit.
    """
    state = dict(state_dict)
    for key in (
        "conv_proj.weight",
        "encoder.pos_embedding",
        "encoder.layers.encoder_layer_0.mlp.0.weight",
        "heads.head.weight",
    ):
        if key not in state:
            raise ValueError(f"key {key!r} is missing: this is not the state dict of a torchvision ViT")
    hidden_dim, in_channels, patch_size, _ = state["conv_proj.weight"].shape
    side = round((state["encoder.pos_embedding"].shape[1] - 1) ** 0.5)  # torchvision's images are square
    config = ViTConfig(
        image_size=side * patch_size,
        patch_size=patch_size,
        in_channels=in_channels,
        num_classes=state["heads.head.weight"].shape[0],
        hidden_dim=hidden_dim,
        num_layers=sum(key.endswith(".ln_1.weight") for key in state),
        num_heads=hidden_dim // (80 if hidden_dim == 1280 else 64),
        mlp_dim=state["encoder.layers.encoder_layer_0.mlp.0.weight"].shape[0],
    )
    model = ViT(config)
    names = {
        "class_token.token": "class_token",
        "positions.table": "encoder.pos_embedding",
        "patch_embedding.projection": "conv_proj",
        "encoder.norm": "encoder.ln",
        "head": "heads.head",
    }
    for i in range(config.num_layers):
        ours, theirs = f"encoder.blocks.{i}", f"encoder.layers.encoder_layer_{i}"
        names |= {
            f"{ours}.norm1": f"{theirs}.ln_1",
            f"{ours}.attention.qkv": f"{theirs}.self_attention.in_proj",
            f"{ours}.attention.projection": f"{theirs}.self_attention.out_proj",
            f"{ours}.norm2": f"{theirs}.ln_2",
            f"{ours}.mlp.expand": f"{theirs}.mlp.0",
            f"{ours}.mlp.contract": f"{theirs}.mlp.3",
        }
    renamed = {}
    for key in model.state_dict():
        part, _, kind = key.rpartition(".")  # kind: weight or bias
        joint = "_" if part.endswith(".qkv") else "."  # torchvision writes in_proj_weight
        source = names.get(key) or f"{names[part]}{joint}{kind}"
        if source not in state:
            raise ValueError(f"key {source!r} is missing")
        renamed[key] = state.pop(source)
    if state:
        raise ValueError(f"key {next(iter(state))!r} is left over: our ViT has no place for it")
    return _fill(model, renamed)


def _fill(model: ViT, state: dict[str, torch.Tensor]) -> ViT:
    for key, ours in model.state_dict().items():
        if key not in state:
            raise ValueError(f"key {key!r} is missing")
        if state[key].shape != ours.shape:
            raise ValueError(f"key {key!r} has shape {tuple(state[key].shape)}, {tuple(ours.shape)} is needed")
    model.load_state_dict(state)
    return model.eval()
