"""Published ViTs that differ from ours in a detail: the place of a norm, the GELU, or what the head reads."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from vit_course._support.inputs.tensors import check_tokens
from vit_course.attention import attention_weights
from vit_course.config import ViTConfig
from vit_course.encoder import MLP
from vit_course.vit import ViT

# The fields of a `VariantConfig` that does not differ from a `ViTConfig`.
PLAIN = {"reads": "pool", "norm_pooled": False, "pre_norm": False, "quick_gelu": False}
TWO_TOKENS = ("cls+patches", "cls+register")  # put side by side, so that the head is twice as wide


@dataclass(frozen=True)
class VariantConfig(ViTConfig):
    """A `ViTConfig` with options that only some published families have.

    Args:
        reads: what the head reads. "pool" as in our `ViT`; "patches" the mean of the patch tokens, though there is a
            class token; "cls+patches" that token and that mean side by side (DINOv2's classifiers); "cls+register" the
            class token and the first register (DeiT's distillation token); "attention" one query's attention over
            the patch tokens (SigLIP).
        norm_pooled: the last norm comes after the mean (timm's fc_norm), so that `features` come before it.
        pre_norm: a norm before the first block (CLIP).
        quick_gelu: x * sigmoid(1.702 x) instead of the GELU (CLIP).

    Raises:
        ValueError: as `ViTConfig`, and where a token that the head reads is not there.

    Source: Touvron et al. 2020 (arXiv:2012.12877), Radford et al. 2021 (arXiv:2103.00020), Zhai et al. 2023
    (arXiv:2303.15343), Oquab et al. 2023 (arXiv:2304.07193).
    """

    reads: str = "pool"
    norm_pooled: bool = False
    pre_norm: bool = False
    quick_gelu: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.reads in ("patches", *TWO_TOKENS) and self.pool != "cls":
            raise ValueError(f"reads={self.reads!r} needs a class token, but pool is {self.pool!r}")
        if self.reads == "cls+register" and not self.num_registers:
            raise ValueError("reads='cls+register' needs a register, but num_registers is 0")

    @property
    def num_parameters(self) -> int:
        """How many numbers a `VariantViT` of this config learns."""
        D, M = self.hidden_dim, self.mlp_dim
        pooling = D + 3 * D * (D + 1) + D * (D + 1) + 2 * D + M * (D + 1) + D * (M + 1)
        wider = self.num_classes * (self.representation_size or D) * (self.reads in TWO_TOKENS)
        return super().num_parameters + 2 * D * self.pre_norm + pooling * (self.reads == "attention") + wider


class VariantViT(ViT):
    """(B, C, H, W) -> (B, num_classes)

    A `ViT` with the differences that its config states.

    Args:
        config: a `VariantConfig`.

    Raises:
        TypeError, ValueError: as `ViT`.

    Source: Dosovitskiy et al. 2020, and those named by `VariantConfig`.
    """

    def __init__(self, config: VariantConfig):
        super().__init__(config)
        D, epsilon = config.hidden_dim, config.norm_epsilon
        self.pre_norm = nn.LayerNorm(D, eps=epsilon) if config.pre_norm else nn.Identity()
        self.head_norm = nn.Identity()
        if config.norm_pooled:
            self.encoder.norm, self.head_norm = nn.Identity(), nn.LayerNorm(D, eps=epsilon)
        if config.reads == "attention":
            self.pooling = AttentionPooling(D, config.num_heads, config.mlp_dim, config.gelu, epsilon)
        if config.quick_gelu:
            for mlp in (module for module in self.modules() if isinstance(module, MLP)):
                mlp.gelu = QuickGELU()
        if config.reads in TWO_TOKENS and config.num_classes:
            self.head = nn.Linear(2 * self.head.in_features, config.num_classes)
            nn.init.normal_(self.head.weight, std=0.1 * D**-0.5)
            nn.init.zeros_(self.head.bias)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.pre_logits(self.pooled(self.features(images))))  # (B, num_classes)

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, T, D): every token after the last norm, or after the last block with `norm_pooled`."""
        return self.encoder(self.pre_norm(self.embed(images)))

    def pooled(self, z: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, D) or (B, 2 D): what the head reads of the tokens."""
        patches, reads = z[:, self.config.num_prefix :], self.config.reads  # (B, N, D)
        if reads == "attention":
            y = self.pooling(patches)  # (B, D)
        elif reads == "cls+patches":
            y = torch.cat([z[:, 0], patches.mean(dim=1)], dim=1)  # (B, 2 D)
        elif reads == "cls+register":
            y = z[:, :2].flatten(1)  # (B, 2 D)
        else:
            y = z[:, 0] if reads == "pool" and self.config.pool == "cls" else patches.mean(dim=1)  # (B, D)
        return self.head_norm(y)


class AttentionPooling(nn.Module):
    """(B, N, D) -> (B, D)

    One learned query attends to all tokens, with several heads; an MLP follows.

    Args:
        hidden_dim, num_heads, mlp_dim, gelu, norm_epsilon: as in `EncoderBlock`.

    Raises:
        TypeError, ValueError: as `EncoderBlock`.

    Source: Lee et al. 2019, "Set Transformer" (arXiv:1810.00825), section 3.2; Zhai et al. 2022 (arXiv:2106.04560).
    """

    def __init__(self, hidden_dim: int, num_heads: int, mlp_dim: int, gelu: str, norm_epsilon: float):
        super().__init__()
        self.num_heads = num_heads
        self.probe = nn.Parameter(0.02 * torch.randn(1, 1, hidden_dim))
        self.qkv = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.projection = nn.Linear(hidden_dim, hidden_dim)
        self.norm = nn.LayerNorm(hidden_dim, eps=norm_epsilon)
        self.mlp = MLP(hidden_dim, mlp_dim, gelu=gelu)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_tokens(x, self.qkv)
        weights, biases = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)
        tokens = (self.probe.expand(len(x), -1, -1), x, x)  # of the query, the keys and the values
        q, k, v = (
            F.linear(token, weight, bias).unflatten(2, (self.num_heads, -1)).transpose(1, 2)  # (B, h, 1 or N, d)
            for token, weight, bias in zip(tokens, weights, biases, strict=True)
        )
        y = (attention_weights(q, k) @ v).transpose(1, 2).flatten(2)  # (B, 1, D)
        y = self.projection(y)
        return (y + self.mlp(self.norm(y)))[:, 0]  # (B, D)


class QuickGELU(nn.Module):
    """(B, T, D) -> (B, T, D)

    x * sigmoid(1.702 x), close to the GELU and cheaper.

    Args:
        x: in forward, floats of any shape.

    Source: Hendrycks & Gimpel 2016 (arXiv:1606.08415), section 2.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (1.702 * x).sigmoid()


def new_model(config: ViTConfig) -> ViT:
    """A fresh model of this config, a `VariantViT` where it is a `VariantConfig`."""
    return VariantViT(config) if isinstance(config, VariantConfig) else ViT(config)


def simplest(config: VariantConfig) -> ViTConfig:
    """Returns a plain `ViTConfig` if nothing differs from one, else the config itself."""
    fields = config.to_dict()
    plain = all(fields.pop(name) == value for name, value in PLAIN.items())
    return ViTConfig(**fields) if plain else config
