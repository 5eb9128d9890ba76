"""Published weights into ours and back: every number finds its place, or an error says which does not."""

from collections.abc import Mapping

import torch

from vit_course.config import ViTConfig
from vit_course.embeddings import interpolate_positions
from vit_course.pretrained.libraries import HUGGINGFACE, HUGGINGFACE_4, TIMM, TORCHVISION, VIT_PYTORCH, Library
from vit_course.vit import ViT

# What the keys of other architectures look like, to name them; the first that is found speaks.
FOREIGN = {
    "dist_token": "a distilled DeiT, with a second token and a second head",
    "reg_token": "a ViT with registers",
    "layers.0.blocks.0.attn.relative_position_bias_table": "a Swin Transformer",
    "features.1.0.attn.relative_position_bias_table": "a Swin Transformer",
    "layer1.0.conv1.weight": "a ResNet",
    "blocks.0.ls1.gamma": "a ViT with layer scale",
    "norm_pre.weight": "a ViT with a norm before the first block",
    "fc_norm.weight": "a ViT that takes the mean before the last norm",
}


def load_torchvision(state_dict: Mapping[str, torch.Tensor], num_heads: int | None = None) -> ViT:
    """The state dict of a torchvision `vit_*` -> a `ViT` of ours with the same weights, in eval mode.

    The sizes are read from the shapes. The number of heads leaves no trace in them.

    Args:
        state_dict: with or without a hidden layer before the head (pre-logits).
        num_heads: by default heads of width 64, or 80 where D is 1280, as in all published models.

    Raises:
        ValueError: naming the first key that is missing or left over, or whose shape does not fit, with both shapes.
    """
    return _load(TORCHVISION, state_dict, num_heads)


def load_timm(
    state_dict: Mapping[str, torch.Tensor], num_heads: int | None = None, num_classes: int | None = None
) -> ViT:
    """As `load_torchvision`, of a timm `vit_*_patch*_*` (augreg and others) or `deit_*_patch16_*`, not distilled.

    Args:
        num_classes: for weights without a head: a fresh one for so many classes is put on, to be trained.
    """
    return _load(TIMM, state_dict, num_heads, num_classes)


def load_huggingface(
    state_dict: Mapping[str, torch.Tensor], num_heads: int | None = None, num_classes: int | None = None
) -> ViT:
    """As `load_torchvision`, of a Hugging Face `ViTForImageClassification` or `ViTModel`, of any version.

    The pooler of a `ViTModel` is the paper's hidden layer before the head.

    Args:
        num_classes: for a backbone without a head: a fresh one for so many classes is put on, to be trained.
    """
    # A backbone alone leaves out the name that its parts have in the whole.
    whole = any(key.startswith("vit.") for key in state_dict)
    state = state_dict if whole else {f"vit.{key}": value for key, value in state_dict.items()}
    library = HUGGINGFACE_4 if any(key.startswith("vit.encoder.") for key in state) else HUGGINGFACE
    return _load(library, state, num_heads, num_classes)


def load_vit_pytorch(state_dict: Mapping[str, torch.Tensor], num_heads: int | None = None, in_channels: int = 3) -> ViT:
    """As `load_torchvision`, of the `ViT` of vit-pytorch, which has norms in its patch embedding and no q, k, v bias.

    Args:
        in_channels: C, which the shapes do not tell either.
    """
    return _load(VIT_PYTORCH, state_dict, num_heads, in_channels=in_channels)


def to_torchvision(model: ViT) -> dict[str, torch.Tensor]:
    """The weights under torchvision's names; its model of the same sizes loads them strictly."""
    return _export(TORCHVISION, model)


def to_timm(model: ViT) -> dict[str, torch.Tensor]:
    """The weights under timm's names; its model of the same sizes loads them strictly."""
    return _export(TIMM, model)


def to_huggingface(model: ViT) -> dict[str, torch.Tensor]:
    """The weights under Hugging Face's names; its model of the same sizes loads them strictly."""
    return _export(HUGGINGFACE, model)


def to_vit_pytorch(model: ViT) -> dict[str, torch.Tensor]:
    """The weights under vit-pytorch's names; its model of the same sizes loads them strictly."""
    return _export(VIT_PYTORCH, model)


def resize(model: ViT, image_size: int | tuple[int, int], antialias: bool = False) -> ViT:
    """A copy of the model for images of another size: all weights as they are, the position table interpolated.

    Args:
        antialias: as timm does, where torchvision and Hugging Face do not.

    Raises:
        ValueError: sides that the patch size does not divide.

    Source: Dosovitskiy et al. 2020, section 3.2.
    """
    config = ViTConfig(**{**model.config.to_dict(), "image_size": image_size})
    state = model.state_dict()
    if config.position == "learned":
        with_class = config.pool == "cls"
        grids = model.config.grid, config.grid
        state["positions.table"] = interpolate_positions(state["positions.table"], *grids, with_class, antialias)
    resized = ViT(config).to(state["head.weight"])
    resized.load_state_dict(state)
    return resized.train(model.training)


def _load(library, state_dict, num_heads=None, num_classes=None, in_channels=3) -> ViT:
    state = dict(state_dict)
    config = _config(library, state, num_heads, num_classes, in_channels)
    if config.pool == "mean":
        state.pop(library.tokens["class_token.token"], None)  # vit-pytorch keeps a token of no rows
    model = ViT(config)
    ours = model.state_dict()
    fresh = {"head.weight", "head.bias"} - {key for key in ours if library.keys(key)[0] in state}
    if fresh and (num_classes is None or len(fresh) == 1):
        missing = library.keys(sorted(fresh)[-1])[0]
        hint = ": give num_classes to put a fresh head on these weights" if len(fresh) == 2 else ""
        raise ValueError(f"key {missing!r} is missing{hint}")
    found = {}
    for key, value in ours.items():
        if key in fresh:
            continue
        theirs = library.keys(key)
        parts = [_take(library, state, name) for name in theirs]
        for name, part in zip(theirs, parts, strict=True):
            needed = (value.shape[0] // len(parts), *value.shape[1:])
            if not _fits(part, needed):
                raise ValueError(f"key {name!r} has shape {tuple(part.shape)}, {needed} is needed")
        found[key] = torch.cat(parts).reshape(value.shape)
    if state:
        raise ValueError(f"key {next(iter(state))!r} is left over: our ViT has no place for it{_foreign(state)}")
    model.to(found["patch_embedding.projection.weight"].dtype)
    model.load_state_dict(found, strict=not fresh)
    return model.eval()


def _take(library: Library, state: dict, key: str) -> torch.Tensor:
    if key not in state:
        raise ValueError(f"key {key!r} is missing: this is not the state dict of a {library.name} ViT{_foreign(state)}")
    return state.pop(key)


def _foreign(state: Mapping) -> str:
    kinds = [kind for key, kind in FOREIGN.items() if key in state or f"vit.{key}" in state]
    return f" (it looks like {kinds[0]})" if kinds else ""


def _fits(tensor: torch.Tensor, needed: tuple[int, ...]) -> bool:
    # A class token and a position table may come with or without an axis for the batch.
    return tuple(tensor.shape) == needed or (needed[0] == 1 and tuple(tensor.shape) == needed[1:])


def _config(library: Library, given: dict, num_heads, num_classes, in_channels) -> ViTConfig:
    state = dict(given)
    patches = _take(library, state, library.keys("patch_embedding.projection.weight")[0])
    table = _take(library, state, library.keys("positions.table")[0])
    hidden_dim = patches.shape[0]
    if patches.ndim == 4:
        _, in_channels, patch_size, _ = patches.shape
    else:
        patch_size = round((patches.shape[1] / in_channels) ** 0.5)
    layers = 0
    while library.keys(f"encoder.blocks.{layers}.norm1.weight")[0] in state:
        layers += 1
    expand = _take(library, state, library.keys("encoder.blocks.0.mlp.expand.weight")[0])
    token = state.get(library.keys("class_token.token")[0])
    class_token = token is not None and token.numel() > 0
    side = round((table.shape[-2] - class_token) ** 0.5)
    if side**2 + class_token != table.shape[-2]:
        extra = "one for a class token and " if class_token else ""
        raise ValueError(
            f"key {library.keys('positions.table')[0]!r} has shape {tuple(table.shape)}: {table.shape[-2]} rows are not "
            f"{extra}a square number of patches, {(1, side**2 + class_token, hidden_dim)} would be{_foreign(state)}"
        )
    if num_heads is None:
        width = 80 if hidden_dim == 1280 else 64
        if hidden_dim % width:
            raise ValueError(
                f"the number of heads is not in the weights, and hidden_dim {hidden_dim} is no multiple of {width}, "
                "the usual width of a head: give num_heads"
            )
        num_heads = hidden_dim // width
    head = state.get(library.keys("head.weight")[0])
    pre_logits = state.get(library.keys("pre_logits.0.weight")[0]) if "pre_logits.0" in library.layers else None
    return ViTConfig(
        image_size=side * patch_size,
        patch_size=patch_size,
        in_channels=in_channels,
        num_classes=len(head) if head is not None else num_classes or 1,
        hidden_dim=hidden_dim,
        num_layers=layers,
        num_heads=num_heads,
        mlp_dim=len(expand),
        pool="cls" if class_token else "mean",
        qkv_bias=library.keys("encoder.blocks.0.attention.qkv.bias")[0] in state,
        norm_epsilon=library.norm_epsilon,
        representation_size=0 if pre_logits is None else len(pre_logits),
        patch_norm="patch_embedding.norm1" in library.layers,
    )


def _export(library: Library, model: ViT) -> dict[str, torch.Tensor]:
    found = {}
    for key, value in model.state_dict().items():
        try:
            theirs = library.keys(key)
        except KeyError:
            raise ValueError(f"{library.name} has no place for our {key!r}") from None
        if library is VIT_PYTORCH and key in library.tokens:
            value = value[0]  # it keeps no axis for the batch
        found.update(zip(theirs, value.chunk(len(theirs)), strict=True))
    if library is VIT_PYTORCH and model.config.pool == "mean":
        found["cls_token"] = torch.zeros(0, model.config.hidden_dim)
    return {key: value.clone() for key, value in found.items()}
