"""What a model of another library says about itself that its weights do not show."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import nn

from vit_course._support.inputs.rules import shown

# Our name of an activation: the names of the libraries' functions and classes.
GELU = {
    "none": ("gelu", "gelu_python", "GELU"),
    "tanh": ("gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate", "gelu_tanh",
             "GELUTanh"),
    "quick": ("quick_gelu", "quickgelu", "QuickGELU"),
}  # fmt: skip
POOLS = {"token": "cls", "avg": "mean", "map": "attention", "": None}  # timm's
# Hugging Face's model types, and the classes of each that can be loaded.
HUGGINGFACE = {
    "vit": ("ViTForImageClassification", "ViTModel"),
    "deit": ("DeiTForImageClassification", "DeiTForImageClassificationWithTeacher", "DeiTModel"),
    "dinov2": ("Dinov2ForImageClassification", "Dinov2Model"),
    "dinov2_with_registers": ("Dinov2WithRegistersForImageClassification", "Dinov2WithRegistersModel"),
    "vit_mae": ("ViTMAEForPreTraining", "ViTMAEModel"),
    "clip_vision_model": ("CLIPVisionModel", "CLIPVisionModelWithProjection"),
    "clip": ("CLIPModel",),
    "siglip_vision_model": ("SiglipVisionModel",),
    "siglip": ("SiglipForImageClassification", "SiglipModel"),
}
STILL_RECORDED = "record_attention and explore take models of other kinds too"


@dataclass(frozen=True)
class Hyperparameters:
    """What is known about a model besides its weights; None means unknown.

    Args:
        num_heads: h
        norm_epsilon: of every norm.
        gelu: "none", "tanh" or "quick".
        pool: "cls", "mean" or "attention", what the head reads.
        grid: (rows, columns) of patches.
        blocks_are_known: whether the blocks have been checked to be those of a ViT.
    """

    num_heads: int | None = None
    norm_epsilon: float | None = None
    gelu: str | None = None
    pool: str | None = None
    grid: tuple[int, int] | None = None
    blocks_are_known: bool = False


def of_timm(model: nn.Module) -> Hyperparameters:
    """Reads the hyperparameters of a timm `VisionTransformer` from its modules.

    Raises:
        ValueError: another class, parts that our ViT does not have, or parts that differ from block to block.
    """
    kind = type(model).__name__
    if kind not in ("VisionTransformer", "VisionTransformerDistilled"):
        raise ValueError(
            f"this is a {kind}, but of timm's models only VisionTransformer and its distilled kind can be loaded; "
            f"{STILL_RECORDED}"
        )
    for block in model.blocks:
        for module, known in ((block, "Block"), (getattr(block, "attn", None), "Attention"),
                              (getattr(block, "mlp", None), "Mlp")):  # fmt: skip
            if type(module).__name__ != known:
                raise ValueError(
                    f"its blocks have a {type(module).__name__} where our ViT has a {known}; {STILL_RECORDED}"
                )
    if type(model.patch_embed).__name__ != "PatchEmbed":
        raise ValueError(f"its patches come from a {type(model.patch_embed).__name__}; {STILL_RECORDED}")
    if model.global_pool not in POOLS:
        raise ValueError(
            f"global_pool is {shown(model.global_pool)}, but our ViT takes only {', '.join(map(repr, POOLS))}"
        )
    pool = POOLS[model.global_pool]
    prefix = getattr(model, "num_prefix_tokens", 0)
    if pool in ("mean", "attention") and prefix and getattr(model, "pool_include_prefix", False):
        raise ValueError(
            "its head reads the class token and the registers together with the patches, but ours never does"
        )
    return Hyperparameters(
        num_heads=_same("number of heads", (block.attn.num_heads for block in model.blocks)),
        norm_epsilon=_same("epsilon of the norms", _epsilons(model)),
        gelu=_same("activation", (_gelu_of(block.mlp.act) for block in model.blocks)),
        pool=pool,
        grid=tuple(model.patch_embed.grid_size),
        blocks_are_known=True,
    )


def of_torchvision(model: nn.Module) -> Hyperparameters:
    """As `of_timm`, for a `VisionTransformer` of torchvision, whose activation is always the exact GELU."""
    if type(model).__name__ != "VisionTransformer" or not hasattr(model, "conv_proj"):
        raise ValueError(
            f"this is a {type(model).__name__}, but of torchvision's models only VisionTransformer can be loaded; "
            f"{STILL_RECORDED}"
        )
    heads = (block.self_attention.num_heads for block in model.encoder.layers)
    return Hyperparameters(_same("number of heads", heads), _same("epsilon of the norms", _epsilons(model)), "none",
                    blocks_are_known=True)  # fmt: skip


def of_huggingface(model: nn.Module) -> Hyperparameters:
    """As `of_timm`, for a model of Hugging Face: read from its config.

    Raises:
        ValueError: as `of_timm`, and where the model has no config.
    """
    kind, config = type(model).__name__, getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        raise ValueError(f"this is a {kind}, which has no config of Hugging Face: give its state dict")
    if getattr(config, "pooler_act", "tanh") != "tanh" and any("pooler." in key for key in model.state_dict()):
        raise ValueError(f"pooler_act must be 'tanh', got {shown(config.pooler_act)}")
    return of_huggingface_config(config, kind)


def of_huggingface_config(config: Any, kind: str) -> Hyperparameters:
    """As `of_huggingface`, from the config alone and the name of the model's class."""
    classes = HUGGINGFACE.get(config.model_type, ())
    if kind not in classes:
        others = (
            f"Hugging Face's models only {', '.join(names[0] for names in HUGGINGFACE.values())} and related classes"
        )
        known = f"this kind only {' and '.join(classes)}" if classes else others
        raise ValueError(f"this is a {kind}, but of {known} can be loaded; {STILL_RECORDED}")
    config = getattr(config, "vision_config", config)  # of a model of pictures and text
    if getattr(config, "use_swiglu_ffn", False):
        raise ValueError(f"its MLP is a SwiGLU, as in DINOv2's giant; our ViT has a GELU; {STILL_RECORDED}")
    sides, patch = config.image_size, config.patch_size
    height, width = (sides, sides) if isinstance(sides, int) else sides
    rows, columns = (patch, patch) if isinstance(patch, int) else patch
    grid = (height // rows, width // columns)
    return Hyperparameters(config.num_attention_heads, config.layer_norm_eps, gelu_named(config.hidden_act), grid=grid,
                    blocks_are_known=True)  # fmt: skip


def gelu_named(name: object) -> str:
    """Returns our name of an activation; raises a `ValueError` if it is not a GELU."""
    for ours, theirs in GELU.items():
        if name in theirs:
            return ours
    known = ", ".join(name for names in GELU.values() for name in names if name.islower())
    raise ValueError(f"the activation is {shown(name)}, but our ViT has only a GELU: {known}")


def _gelu_of(activation: nn.Module) -> str:
    if isinstance(activation, nn.GELU):
        return activation.approximate
    return gelu_named(type(activation).__name__)


def _epsilons(model: nn.Module) -> Iterable[float]:
    return (module.eps for module in model.modules() if isinstance(module, nn.LayerNorm))


def _same(what: str, values: Iterable) -> Any:
    found = sorted(set(values), key=str)
    if len(found) != 1:
        raise ValueError(
            f"the {what} differs from layer to layer, {', '.join(map(str, found))}, but in our ViT it is the same in "
            "all"
        )
    return found[0]
