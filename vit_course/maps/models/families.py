"""Where each family of Vision Transformers keeps its parts: one row for each, and a row of your own for your model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import nn

from vit_course._support.inputs.rules import shown


@dataclass(frozen=True)
class Family:
    """The paths of the parts of a model.

    Args:
        blocks: the list of the encoder's layers.
        attention: in a layer, the module that attends; `*` stands for each part of a list, such as one module a head.
            If there are several paths, the first that exists.
        patches: the module that cuts the image into patches, such as a convolution.
        tokens: the tokens before the patches, in their order: a name -> the parameter that holds them.
        norm: the norm after the last layer, if all tokens go through one.
        refused: why a model of this family has no maps over all patches, if it has none.
        has_all: whether every model has all of these tokens, so that one that is missing is an error.
        is_tested: whether the tests of this package show that the order of the tokens is as described.
    """

    blocks: str
    attention: str | tuple[str, ...]
    patches: str = ""
    tokens: Mapping[str, str] = field(default_factory=dict)
    norm: str = ""
    refused: str = ""
    has_all: bool = False
    is_tested: bool = True


CLASS = "class token"
RANDOM_MASK = (
    "leaves patches out at random and shuffles the others, even in eval mode, so it is not known where they lie: load "
    "its weights by pretrained.load_huggingface, which keeps all of them"
)

OURS = Family(
    "encoder.blocks",
    "attention",
    "patch_embedding.projection",
    {CLASS: "class_token.token", "register": "registers.tokens"},
    "encoder.norm",
)
TIMM = Family(
    "blocks",
    ("attn", "attns.*.attn"),  # of parallel blocks
    "patch_embed.proj",
    {CLASS: "cls_token", "distillation token": "dist_token", "register": "reg_token"},
    "norm",
)
NAFLEX = replace(TIMM, patches="embeds.proj", tokens={CLASS: "embeds.cls_token", "register": "embeds.reg_token"})
# The authors' code of DINOv2 and DINOv3, which is in no package, has timm's names, but for the registers.
DINOV2 = replace(TIMM, tokens={CLASS: "cls_token", "register": "register_tokens"}, is_tested=False)
DINOV3 = replace(TIMM, tokens={CLASS: "cls_token", "register": "storage_tokens"}, is_tested=False)
TORCHVISION = Family(
    "encoder.layers", "self_attention", "conv_proj", {CLASS: "class_token"}, "encoder.ln"
)  # fmt: skip
VIT_PYTORCH = Family(
    "transformer.layers", "0", "to_patch_embedding.0", {CLASS: "cls_token"}, "transformer.norm"
)  # fmt: skip
HUGGINGFACE = Family(
    "layers",
    "attention",
    "embeddings.patch_embeddings.projection",
    {
        CLASS: "embeddings.cls_token",
        "distillation token": "embeddings.distillation_token",
        "register": "embeddings.register_tokens",
    },
    "layernorm",
)
DINOV2_HUGGINGFACE = replace(HUGGINGFACE, blocks="encoder.layer")
DINOV3_HUGGINGFACE = replace(
    HUGGINGFACE, blocks="model.layer", patches="embeddings.patch_embeddings", norm="norm"
)  # fmt: skip
CLIP = Family(
    "encoder.layers",
    "self_attn",
    "embeddings.patch_embedding",
    {CLASS: "embeddings.class_embedding"},
)
SIGLIP = replace(CLIP, tokens={}, norm="post_layernorm")
AIM = replace(CLIP, attention="attention", patches="embeddings.patch_embed", tokens={}, norm="rms_norm")
MAE = Family("", "", refused=RANDOM_MASK)

# The module in which classes are defined, or the beginning of its name; their names; their family.
FAMILIES: tuple[tuple[str, tuple[str, ...], Family], ...] = (
    ("vit_course.vit", ("ViT",), OURS),
    ("torchvision.models", ("VisionTransformer",), TORCHVISION),
    ("timm.models", ("VisionTransformer", "VisionTransformerDistilled", "VisionTransformerRelPos"), TIMM),
    ("timm.models", ("Eva", "Beit"), TIMM),
    ("timm.models", ("NaFlexVit",), NAFLEX),
    ("dinov2", ("DinoVisionTransformer",), DINOV2),
    ("dinov3", ("DinoVisionTransformer",), DINOV3),
    ("vit_pytorch.vit", ("ViT",), VIT_PYTORCH),
    ("vit_pytorch.simple_vit", ("SimpleViT",), VIT_PYTORCH),
    ("transformers.models", ("ViTModel", "DeiTModel", "BeitModel", "IJepaModel"), HUGGINGFACE),
    ("transformers.models", ("Dinov2Model", "Dinov2Backbone", "VitPoseBackbone"), DINOV2_HUGGINGFACE),
    ("transformers.models", ("Dinov2WithRegistersModel", "Dinov2WithRegistersBackbone"), DINOV2_HUGGINGFACE),
    ("transformers.models", ("DINOv3ViTModel",), DINOV3_HUGGINGFACE),
    ("transformers.models", ("CLIPVisionModel", "OwlViTVisionTransformer"), CLIP),
    ("transformers.models", ("SiglipVisionModel",), SIGLIP),
    ("transformers.models", ("Aimv2VisionModel",), AIM),
    ("transformers.models", ("ViTMAEModel",), MAE),
)
_OF_USERS: dict[type[nn.Module], Family] = {}


def describe(
    kind: type[nn.Module],
    blocks: str,
    attention: str,
    patches: str | None = None,
    tokens: Mapping[str, str] | None = None,
    norm: str = "",
) -> None:
    """Says where the models of a class of your own keep their parts, for `record_attention` and all else here.

    Args:
        kind: the class; its subclasses are described too, unless they have a description of their own.
        blocks: the path of the list of layers, such as "encoder.layers". A layer takes tokens (B, T, D) first, and
            returns them.
        attention: in a layer, the path of the module that attends, such as "attn"; "attn.heads.*" if each part of a
            list is one head.
        patches: the path of what cuts the image: a convolution, or a module that holds several. Without it, give
            `grid` where patches matter.
        tokens: those before the patches, in their order: a name -> the path of the parameter that holds them, such as
            {"class token": "cls_token", "register": "registers"}. Several in one parameter are numbered.
        norm: the path of the norm after the last layer, if all tokens go through one.

    Raises:
        TypeError: not a class of modules.
    """
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        raise TypeError(f"kind must be a class of modules, such as type(model), got {shown(kind)}")
    _OF_USERS[kind] = Family(blocks, attention, patches or "", dict(tokens or {}), norm, has_all=True, is_tested=False)


def family_of(kind: type) -> Family | None:
    """Returns the family of a class of models, or of the nearest class that it is derived from; else None.

    What somebody derives from a library's class may arrange its tokens in another way, so it is not taken as tested.
    """
    for each in kind.__mro__:
        if each in _OF_USERS:
            return _OF_USERS[each]
        for place, names, family in FAMILIES:
            if each.__name__ in names and f"{each.__module__}.".startswith(f"{place}."):
                is_librarys = kind.__module__.partition(".")[0] == place.partition(".")[0]
                return family if is_librarys else replace(family, is_tested=False)
    return None
