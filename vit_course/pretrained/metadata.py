"""What a model of timm or Hugging Face says about itself that its weights do not show."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from vit_course._support.files.records import need_object
from vit_course._support.inputs.arguments import RULES, height_and_width
from vit_course._support.inputs.rules import real, shown
from vit_course.pretrained.diagnostics import STILL_RECORDED

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
GELU: dict[str, list[str]] = _TABLES["gelu"]
POOLS = {"token": "cls", "avg": "mean", "map": "attention", "": None}  # timm's
_USUAL: dict[str, Any] = _TABLES["huggingface"]["usual"]
# Hugging Face's model types, the classes of each that can be loaded, and what its config means where it is silent.
HUGGINGFACE: dict[str, tuple[list[str], dict[str, Any]]] = {
    kind: (row["classes"], _USUAL | row.get("usual", {})) for kind, row in _TABLES["huggingface"]["types"].items()
}
# A size in Hugging Face's config, and an argument of timm, under our name.
SIZES: dict[str, str] = _TABLES["huggingface"]["sizes"]
TIMM_SIZES: dict[str, str] = _TABLES["timm"]["sizes"]
TIMM_HARMLESS = frozenset(_TABLES["timm"]["harmless"])
TIMM: list[str] = _TABLES["timm"]["names"]
TIMM_HEADS: dict[str, int] = _TABLES["timm"]["heads"]
TIMM_TANH = r"vit_(giantopt_patch16|so400m_patch16|base_patch32|large_patch16)_siglip_(gap_)?(?P<side>\d+)"

# What cannot be loaded though each of its layers looks at the whole picture.
STILL = f"; {STILL_RECORDED}"
TIMM_RECORDED = r"(beit|beitv2|eva|eva02)_|vit_\w+_r\d+_s\d+_|vit_\w+_(rpn|xp)_|vit_\w+_dinov3"
HUGGINGFACE_RECORDED = ("beit", "data2vec-vision", "dinov3_vit", "ijepa", "yolos", "vit", "deit", "clip")


@dataclass(frozen=True)
class Said:
    """What is known beside the weights; None is unknown.

    Args:
        num_heads: h
        norm_epsilon: of every norm.
        gelu: "none", "tanh" or "quick".
        pool: "cls", "mean" or "attention", what the head reads.
        grid: (rows, columns) of patches.
        blocks_are_known: whether the blocks are seen to be those of a ViT.
    """

    num_heads: int | None = None
    norm_epsilon: float | None = None
    gelu: str | None = None
    pool: str | None = None
    grid: tuple[int, int] | None = None
    blocks_are_known: bool = False


def by_timm(model: nn.Module) -> Said:
    """What a `VisionTransformer` of timm says: read from its parts.

    Raises:
        ValueError: another class, parts that our ViT has not, or parts that differ from block to block.
    """
    kind = type(model).__name__
    if kind not in ("VisionTransformer", "VisionTransformerDistilled"):
        raise ValueError(f"this is a {kind}, and of timm only VisionTransformer and its distilled kind can be loaded")
    for block in model.blocks:
        for module, known in ((block, "Block"), (getattr(block, "attn", None), "Attention"),
                              (getattr(block, "mlp", None), "Mlp")):  # fmt: skip
            if type(module).__name__ != known:
                raise ValueError(f"its blocks have a {type(module).__name__} where our ViT has a {known}")
    if model.global_pool not in POOLS:
        raise ValueError(f"global_pool is {shown(model.global_pool)}, and our ViT does not do that")
    pool = POOLS[model.global_pool]
    prefix = getattr(model, "num_prefix_tokens", 0)
    if pool in ("mean", "attention") and prefix and getattr(model, "pool_include_prefix", False):
        raise ValueError("its head reads the class token and the registers together with the patches; ours never does")
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    return Said(
        num_heads=_same("number of heads", (block.attn.num_heads for block in model.blocks)),
        norm_epsilon=_same("epsilon of the norms", (norm.eps for norm in norms)),
        gelu=_same("activation", (_gelu_of(block.mlp.act) for block in model.blocks)),
        pool=pool,
        grid=tuple(model.patch_embed.grid_size),
        blocks_are_known=True,
    )


def by_timm_name(name: object, arguments: Mapping, global_pool: object) -> Said:
    """What the name of an architecture of timm says, with the arguments that its config.json changes it by.

    Raises:
        ValueError: another architecture, a pool that our ViT does not do, or an activation that is no GELU.
    """
    found = next((found for pattern in TIMM if isinstance(name, str) and (found := re.fullmatch(pattern, name))), None)
    if found is None or found["size"] not in TIMM_HEADS:
        raise ValueError(
            f"this is a {shown(name)}, and of timm only the plain vit_*, deit_* and deit3_*, DINOv2, CLIP, SigLIP and "
            f"those that take the mean can be loaded{STILL if re.match(TIMM_RECORDED, str(name)) else ''}"
        )
    pools = [pool for pool in (arguments.get("global_pool"), global_pool) if pool is not None]
    for pool in pools:
        if not isinstance(pool, str) or pool not in POOLS or pool != pools[0]:
            else_said = f"model_args say {shown(pools[0])}" if pool is not pools[0] else "our ViT does not do that"
            raise ValueError(f"global_pool is {shown(pool)}, and {else_said}")
    pool = pools[0] if pools else None
    num_heads = TIMM_HEADS[found["size"]]
    if name == "vit_base_patch16_gap_224":
        num_heads = 16
    if "_plus_" in name:
        num_heads = 14
    tanh = re.fullmatch(TIMM_TANH, name)
    tanh = tanh is not None and (not name.startswith("vit_large") or tanh["side"] == "512")
    gelu = "quick" if "quickgelu" in name else "tanh" if tanh else "none"
    if arguments.get("act_layer") is not None:
        gelu = gelu_named(arguments["act_layer"])
    epsilon = 1e-5 if "_clip_" in name else 1e-6
    return Said(arguments.get("num_heads") or num_heads, epsilon, gelu, POOLS.get(pool), blocks_are_known=True)


def by_huggingface(config: Mapping, kind: str) -> tuple[Said, dict]:
    """What the config of a Hugging Face model says, and its sizes under our names.

    Args:
        config: as config.json has it.
        kind: the name of the class.

    Raises:
        ValueError: a class that cannot be loaded, or a value that a `ViTConfig` cannot have.
    """
    model_type = config.get("model_type")
    classes, usual = HUGGINGFACE.get(model_type if isinstance(model_type, str) else "", ([], _USUAL))
    if not classes or kind not in (*classes, model_type):
        still = STILL if model_type in HUGGINGFACE_RECORDED else ""
        raise ValueError(f"this is a {kind}, and {_what_is_taken(model_type)}{still}")
    if model_type in ("clip", "siglip"):
        config = need_object("vision_config", config.get("vision_config") or {})
    config = {**usual, **config}
    if config.get("use_swiglu_ffn"):
        raise ValueError("its MLP is a SwiGLU, as in DINOv2's giant; our ViT has a GELU")
    sizes = {}
    for name, ours in SIZES.items():
        if name in config:
            sizes[ours] = config[name]
            check_size(name, ours, config[name])
    if "mlp_ratio" in usual:
        real(1e-3, 1e3)("mlp_ratio", config["mlp_ratio"])
        sizes["mlp_dim"] = int(config["hidden_size"] * config["mlp_ratio"])
    RULES["norm_epsilon"]("layer_norm_eps", config["layer_norm_eps"])
    check_size("num_attention_heads", "num_heads", config["num_attention_heads"])
    height, width = height_and_width("image_size", config["image_size"])
    patch, _ = height_and_width("patch_size", config["patch_size"])
    grid = (height // patch, width // patch)
    return Said(config["num_attention_heads"], config["layer_norm_eps"], gelu_named(config["hidden_act"]),
                grid=grid, blocks_are_known=True), sizes  # fmt: skip


def by_huggingface_model(model: nn.Module) -> Said:
    """As `by_huggingface`, of the model itself.

    Raises:
        ValueError: as `by_huggingface`, and where the model has no config.
    """
    kind, config = type(model).__name__, getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        raise ValueError(f"this is a {kind}, which has no config of Hugging Face: give its state dict")
    content = config.to_dict()
    if content.get("pooler_act", "tanh") != "tanh" and any("pooler." in key for key in model.state_dict()):
        raise ValueError(f"pooler_act must be 'tanh', got {shown(content['pooler_act'])}")
    return by_huggingface(content, kind)[0]


def gelu_named(name: object) -> str:
    """Our name of an activation; a `ValueError` where it is no GELU."""
    for ours, theirs in GELU.items():
        if name in theirs:
            return ours
    known = ", ".join(name for names in GELU.values() for name in names if name.islower())
    raise ValueError(f"the activation is {shown(name)}, and our ViT has a GELU only: {known}")


def _gelu_of(activation: nn.Module) -> str:
    if isinstance(activation, nn.GELU):
        return activation.approximate
    return gelu_named(type(activation).__name__)


def _what_is_taken(model_type: object) -> str:
    classes, _ = HUGGINGFACE.get(model_type if isinstance(model_type, str) else "", ([], {}))
    if classes:
        return f"of this kind only {' and '.join(classes)} can be loaded"
    return (
        f"of Hugging Face only {', '.join(classes[0] for classes, _ in HUGGINGFACE.values())} and others of their kind"
    )


def _same(what: str, values) -> object:
    found = sorted(set(values), key=str)
    if len(found) != 1:
        raise ValueError(f"the {what} differs from layer to layer, {', '.join(map(str, found))}; in our ViT it is one")
    return found[0]


def check_size(name: str, ours: str, value: object) -> None:
    """By our rule for it; an image or a patch may be said by one side or by two."""
    if ours in ("image_size", "patch_size"):
        height_and_width(name, value)
    else:
        RULES[ours](name, value)
