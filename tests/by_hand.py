"""Models of four libraries, and the interventions of `vit_course.maps` made by hand on a copy of a model."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import published
import torch
import torch.nn.functional as F
from torch import nn

from vit_course.attention import attention_weights
from vit_course.config import ViTConfig
from vit_course.maps import record_attention
from vit_course.vit import ViT

CONFIG = ViTConfig(
    image_size=(14, 21), patch_size=7, num_classes=5, hidden_dim=36, num_layers=3, num_heads=3, mlp_dim=20,
    dropout=0.3, attention_dropout=0.3,
)  # fmt: skip
WIDTH, LAYERS, HEADS = 12, 3, 3


@dataclass
class Library:
    """How a library's model is made, where its layers are, and what their parts are called."""

    make: Callable[[], nn.Module]
    blocks: str
    attention: str
    projection: str  # of the attention
    mlp: str
    size: tuple[int, int] = (14, 21)

    def model(self) -> nn.Module:
        return published.shaken(self.make())

    def images(self, count: int = 2) -> torch.Tensor:
        return torch.randn(count, 3, *self.size)

    @property
    def num_tokens(self) -> int:
        return 1 + self.size[0] * self.size[1] // 49

    def block(self, model: nn.Module, layer: int) -> nn.Module:
        return list(model.get_submodule(self.blocks).children())[layer]


def eager_timm() -> nn.Module:
    model = published.timm_vit((14, 21))
    for block in model.blocks:
        block.attn.fused_attn = False
    return model


OURS = Library(lambda: ViT(CONFIG), "encoder.blocks", "attention", "projection", "mlp")
TIMM = Library(lambda: published.timm_vit((14, 21)), "blocks", "attn", "proj", "mlp")
VIT_PYTORCH = Library(
    lambda: published.vit_pytorch_vit((14, 21)),
    "transformer.layers",
    "0",
    "to_out.0",
    "1",
)
HUGGINGFACE = Library(
    lambda: published.huggingface_vit(image_size=[14, 21]), "vit.layers", "attention", "o_proj", "mlp"
)
LIBRARIES = {
    "ours": OURS,
    "timm": TIMM,
    "timm eager": Library(eager_timm, "blocks", "attn", "proj", "mlp"),
    "torchvision": Library(published.torchvision_vit, "encoder.layers", "self_attention", "out_proj", "mlp", (21, 21)),
    "huggingface": HUGGINGFACE,
    "huggingface eager": Library(
        lambda: published.huggingface_vit(image_size=[14, 21], attn_implementation="eager"),
        "vit.layers", "attention", "o_proj", "mlp",
    ),
}  # fmt: skip


class Other(nn.Module):
    """Wraps a part of a model and replaces its output by that of another function."""

    def __init__(self, part: nn.Module, other: Callable):
        super().__init__()
        self.part, self.other = part, other

    def forward(self, x, *args, **kwargs):
        out = self.part(x, *args, **kwargs)
        return (self.other(x, out[0]), *out[1:]) if isinstance(out, tuple) else self.other(x, out)


def one_head(library: Library, model: nn.Module, layer: int, head: int) -> Callable:
    """(B, T, D) -> (B, T, D): what a head adds to the tokens, by a copy of the attention with zeros for the others."""
    attention = copy.deepcopy(library.block(model, layer).get_submodule(library.attention))
    projection = attention.get_submodule(library.projection)
    with torch.no_grad():
        for other in set(range(HEADS)) - {head}:
            projection.weight[:, other * WIDTH : (other + 1) * WIDTH] = 0
        projection.bias.zero_()

    def alone(x):
        out = attention(x, x, x) if isinstance(attention, nn.MultiheadAttention) else attention(x)
        return out[0] if isinstance(out, tuple) else out

    return alone


def with_part(library: Library, model: nn.Module, layer: int, part: str, other: Callable) -> nn.Module:
    """A copy in which a part of a layer, or the layer where `part` is "", gives what `other` makes of it."""
    changed = copy.deepcopy(model)
    block = library.block(changed, layer)
    path = f"{library.blocks}.{[*changed.get_submodule(library.blocks).named_children()][layer][0]}"
    path, was = (f"{path}.{part}", block.get_submodule(part)) if part else (path, block)
    changed.set_submodule(path, Other(was, other))
    return changed


def came_in(library: Library, model: nn.Module, layer: int, part: str, images: torch.Tensor) -> torch.Tensor:
    """(B, T, D), the input of a part of a layer."""
    seen = []
    target = library.block(model, layer)
    hook = (target.get_submodule(part) if part else target).register_forward_pre_hook(lambda _, x: seen.append(x[0]))
    model(images)
    hook.remove()
    return seen[0]


class Masked(nn.Module):
    """Our attention with a mask (T, T); `seen` are its weights."""

    def __init__(self, part: nn.Module, keep: torch.Tensor):
        super().__init__()
        self.part, self.keep, self.seen = part, keep, None

    def forward(self, x):
        q, k, v = self.part.split_heads(x)
        weights = attention_weights(q, k) * self.keep
        self.seen = weights / weights.sum(-1, keepdim=True)
        return self.part.projection((self.seen @ v).transpose(1, 2).flatten(2))


def with_mask(library: Library, model: nn.Module, layers: range, keep: torch.Tensor) -> nn.Module:
    """A copy whose attention takes a mask (T, T), True where a query may read a key, in the library's own way."""
    changed = copy.deepcopy(model)
    minus = torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    for layer in range(LAYERS) if library is OURS else layers:
        block = library.block(changed, layer)
        attention = block.get_submodule(library.attention)
        if library is OURS:
            block.attention = Masked(attention, keep if layer in layers else torch.ones_like(keep))
        elif library.attention == "attn":
            attention.register_forward_pre_hook(lambda _, x, k: (x, k | {"attn_mask": keep}), with_kwargs=True)
        elif library.attention == "self_attention":
            attention.register_forward_pre_hook(lambda _, x, k: (x, k | {"attn_mask": ~keep}), with_kwargs=True)
        else:
            attention.register_forward_pre_hook(lambda _, x: (x[0], minus[None, None]))
    return changed


def maps_of(library: Library, masked: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(B, L, h, T, T), the maps of a model made by `with_mask`."""
    with torch.no_grad(), record_attention(masked) as maps:
        masked(images)
    if library is OURS:
        return torch.stack([block.attention.seen for block in masked.encoder.blocks], dim=1)
    return maps.stacked()


def without_columns(library: Library, model: nn.Module, layer: int, head: int, by: float = 0.0) -> nn.Module:
    """A copy in which the projection of a layer reads nothing of one head, or that many times as much."""
    changed = copy.deepcopy(model)
    projection = library.block(changed, layer).get_submodule(library.attention).get_submodule(library.projection)
    with torch.no_grad():
        projection.weight[:, head * WIDTH : (head + 1) * WIDTH] *= by
    return changed


def projected(library: Library, attention: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """(B, T, D) -> queries, keys and values, each (B, h, T, d), by the projections of a library's attention."""
    if isinstance(attention, nn.MultiheadAttention):
        qkv = F.linear(x, attention.in_proj_weight, attention.in_proj_bias).chunk(3, dim=-1)
    elif hasattr(attention, "qkv"):
        qkv = attention.qkv(x).chunk(3, dim=-1)
    elif hasattr(attention, "to_qkv"):
        qkv = attention.to_qkv(attention.norm(x)).chunk(3, dim=-1)
    else:
        qkv = [getattr(attention, f"{name}_proj")(x) for name in "qkv"]
    return [one.unflatten(2, (HEADS, WIDTH)).transpose(1, 2) for one in qkv]


def attended(library: Library, attention: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Three of (B, h, T, d) -> (B, T, D)"""
    heads = (q @ k.mT / WIDTH**0.5).softmax(dim=-1) @ v
    return attention.get_submodule(library.projection)(heads.transpose(1, 2).flatten(2))


def last_linear(library: Library, model: nn.Module, layer: int) -> nn.Linear:
    """The linear layer that the neurons of a layer enter."""
    mlp = library.block(model, layer).get_submodule(library.mlp)
    return [module for module in mlp.modules() if isinstance(module, nn.Linear)][-1]
