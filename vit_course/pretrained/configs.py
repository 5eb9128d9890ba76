"""What the configuration files of timm and Hugging Face say, and the model that their weights then make."""

import re
from collections.abc import Mapping

from vit_course.config import ViTConfig
from vit_course.pretrained.convert import load_huggingface, load_timm
from vit_course.pretrained.download import Find, read_json, read_weights
from vit_course.pretrained.preprocessing import Preprocessing
from vit_course.vit import ViT

PLAIN_TIMM = r"(vit|deit)_(tiny|small|base|large|huge)_patch\d+_\d+(_miil)?"
# Their name of a size: ours; for Hugging Face with what it means where the file says nothing.
TIMM_SIZES = {
    "img_size": "image_size",
    "patch_size": "patch_size",
    "in_chans": "in_channels",
    "embed_dim": "hidden_dim",
    "depth": "num_layers",
    "qkv_bias": "qkv_bias",
}
HUGGINGFACE_SIZES = {
    "image_size": ("image_size", 224),
    "patch_size": ("patch_size", 16),
    "num_channels": ("in_channels", 3),
    "hidden_size": ("hidden_dim", 768),
    "num_hidden_layers": ("num_layers", 12),
    "intermediate_size": ("mlp_dim", 3072),
    "qkv_bias": ("qkv_bias", True),
}
# Arguments of timm that are seen to elsewhere, that the weights show, or that only matter in training.
TIMM_HARMLESS = {
    *("num_heads", "num_classes", "mlp_ratio", "class_token", "global_pool", "fc_norm", "act_layer"),
    *("dynamic_img_size", "drop_rate", "pos_drop_rate", "patch_drop_rate", "proj_drop_rate", "attn_drop_rate"),
    *("drop_path_rate", "weight_init"),
}
# Our name of the GELU: theirs.
GELU = {"none": ("gelu",), "tanh": ("gelu_new", "gelu_pytorch_tanh", "gelu_tanh")}

Parts = tuple[ViT, Preprocessing, list[str]]


def from_timm(config: dict, find: Find, num_classes: int | None) -> Parts:
    """The config.json of a timm model -> (model, preprocessing, class names, or none where they are unknown).

    Raises:
        ValueError: another architecture than the plain ViT, an argument that ours has not, or weights that do not fit.
    """
    architecture, arguments = config["architecture"], config.get("model_args") or {}
    published = config.get("pretrained_cfg", config)  # older files are not nested
    if not re.fullmatch(PLAIN_TIMM, architecture):
        raise ValueError(
            f"this is a {architecture!r}, and of timm only the plain vit_*_patch*_* and deit_*_patch*_* can be loaded"
        )
    unknown = sorted(arguments.keys() - TIMM_SIZES - TIMM_HARMLESS)
    if unknown:
        raise ValueError(f"our ViT has nothing like timm's argument {unknown[0]}={arguments[unknown[0]]!r}")
    gelu = _gelu(arguments.get("act_layer") or "gelu")
    preprocess = Preprocessing.from_timm(published)
    state = read_weights(find)
    model = load_timm(state, arguments.get("num_heads"), None if "head.weight" in state else num_classes)
    _compare(model, {ours: arguments.get(key) for key, ours in TIMM_SIZES.items()})
    pool = config.get("global_pool") or "token"
    if pool != {"cls": "token", "mean": "avg"}[model.config.pool]:
        raise ValueError(f"global_pool is {pool!r}, which our ViT with pool={model.config.pool!r} does not do")
    names = config.get("label_names") or published.get("label_names") or []
    described = config.get("label_descriptions") or published.get("label_descriptions")
    names = [described.get(name, name) if isinstance(described, Mapping) else name for name in names]
    if not names and "head.weight" in state and model.config.num_classes == 1000:
        names = imagenet()  # timm itself takes a thousand classes for ImageNet's
    return rebuilt(model, gelu=gelu), preprocess, names


def from_huggingface(config: dict, find: Find, num_classes: int | None) -> Parts:
    """As `from_timm`, of the config.json and preprocessor_config.json of a Hugging Face ViT.

    Raises:
        ValueError: another architecture, a file that is missing, or weights that do not fit.
    """
    kind, *_ = config.get("architectures") or [config.get("model_type") or "model of an unnamed architecture"]
    if config.get("model_type") != "vit" or kind not in ("ViTForImageClassification", "ViTModel", "vit"):
        raise ValueError(f"this is a {kind}, and only ViTForImageClassification and ViTModel can be loaded")
    gelu, epsilon = _gelu(config.get("hidden_act", "gelu")), config.get("layer_norm_eps", 1e-12)
    path = find("preprocessor_config.json", "processor_config.json")
    if path is None:
        raise ValueError(
            "there is no preprocessor_config.json, which says what the model takes: save the image processor there "
            "too, or load the weights alone with load_huggingface"
        )
    preprocess = Preprocessing.from_huggingface(read_json(path))
    state = read_weights(find)
    head = "classifier.weight" in state
    if not head and config.get("pooler_act", "tanh") != "tanh":
        raise ValueError(f"pooler_act must be 'tanh', got {config['pooler_act']!r}")
    model = load_huggingface(state, config.get("num_attention_heads", 12), None if head else num_classes)
    _compare(model, {ours: config.get(key, usual) for key, (ours, usual) in HUGGINGFACE_SIZES.items()})
    labels = config.get("id2label") if head else None
    names = [labels[str(i)] for i in range(len(labels))] if labels else []
    return rebuilt(model, gelu=gelu, norm_epsilon=epsilon), preprocess, names


def rebuilt(model: ViT, **changes) -> ViT:
    """The same weights in a model of another configuration, in eval mode; a head for other classes starts afresh."""
    config = ViTConfig(**{**model.config.to_dict(), **changes})
    if config == model.config:
        return model
    other = ViT(config).to(model.head.weight)
    state = model.state_dict()
    if config.num_classes != model.config.num_classes:
        state |= {f"head.{key}": value for key, value in other.head.state_dict().items()}
    other.load_state_dict(state)
    return other.eval()


def imagenet() -> list[str]:
    """The names of the 1,000 classes of ImageNet, as torchvision has them."""
    from torchvision.models import ViT_B_16_Weights

    return list(ViT_B_16_Weights.IMAGENET1K_V1.meta["categories"])


def _compare(model: ViT, said: Mapping) -> None:
    for name, value in said.items():
        found = getattr(model.config, name)
        if name == "image_size" and isinstance(value, int):
            value = (value, value)
        value = tuple(value) if isinstance(value, list) else value
        if value not in (None, found, (found, found)):
            raise ValueError(f"config.json says {name} {value}, the weights have {found}")


def _gelu(name: str) -> str:
    for ours, theirs in GELU.items():
        if name in theirs:
            return ours
    known = ", ".join(name for names in GELU.values() for name in names)
    raise ValueError(f"the activation is {name!r}, and our ViT has a GELU only: {known}")
