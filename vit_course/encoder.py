"""The encoder: L blocks of attention and MLP, each with a norm before it and a residual around it."""

from typing import Any

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import check_tokens
from vit_course.attention import SelfAttention

# The published ViTs are trained with 1e-6; PyTorch's default is 1e-5.
NORM_EPSILON = 1e-6


class MLP(nn.Module):
    """(B, T, D) -> (B, T, D)

    Two linear layers with a GELU between, for each token by itself.

    Args:
        hidden_dim: D
        mlp_dim: the width between the two layers, 4 D in every published ViT.
        dropout: after each layer, in training.
        gelu: "none" for the exact form x * Phi(x), "tanh" for the approximation.

    Raises:
        TypeError: in forward, for anything but a tensor.
        ValueError: for an impossible size or option; in forward, for tokens of another width, type or device.

    Source: Dosovitskiy et al. 2020, section 3.1; Hendrycks & Gimpel 2016 (arXiv:1606.08415) for GELU and its tanh form.
    """

    def __init__(self, hidden_dim: int, mlp_dim: int, dropout: float = 0.0, gelu: str = "none"):
        super().__init__()
        check_arguments(hidden_dim=hidden_dim, mlp_dim=mlp_dim, dropout=dropout, gelu=gelu)
        self.expand = nn.Linear(hidden_dim, mlp_dim)
        self.gelu = nn.GELU(approximate=gelu)
        self.contract = nn.Linear(mlp_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_tokens(x, self.expand)
        x = self.dropout(self.gelu(self.expand(x)))  # (B, T, mlp_dim)
        return self.dropout(self.contract(x))  # (B, T, D)


class EncoderBlock(nn.Module):
    """(B, T, D) -> (B, T, D)

    Tokens talk to each other (attention), then each thinks for itself (MLP); both add to what was there.

    Args:
        hidden_dim: D
        num_heads: h
        mlp_dim: the width inside the MLP.
        qkv_bias, dropout, attention_dropout, gelu: see `SelfAttention` and `MLP`.
        norm_epsilon: what the norms add to the variance.

    Raises:
        TypeError, ValueError: as `SelfAttention` and `MLP`.

    Source: Dosovitskiy et al. 2020, Eq. 2 and 3.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_heads: int,
        mlp_dim: int,
        qkv_bias: bool = True,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        gelu: str = "none",
        norm_epsilon: float = NORM_EPSILON,
    ):
        super().__init__()
        check_arguments(hidden_dim=hidden_dim, norm_epsilon=norm_epsilon)
        self.norm1 = nn.LayerNorm(hidden_dim, eps=norm_epsilon)
        self.attention = SelfAttention(hidden_dim, num_heads, qkv_bias, dropout, attention_dropout)
        self.norm2 = nn.LayerNorm(hidden_dim, eps=norm_epsilon)
        self.mlp = MLP(hidden_dim, mlp_dim, dropout, gelu)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_tokens(x, self.norm1)
        x = x + self.attention(self.norm1(x))  # Eq. 2
        return x + self.mlp(self.norm2(x))  # Eq. 3


class Encoder(nn.Module):
    """(B, T, D) -> (B, T, D)

    L blocks and the last norm.

    Args:
        num_layers: L
        hidden_dim, num_heads, mlp_dim, options: see `EncoderBlock`.

    Raises:
        TypeError, ValueError: as `EncoderBlock`.

    Source: Dosovitskiy et al. 2020, Eq. 2-4 and Fig. 1 right.
    """

    def __init__(self, num_layers: int, hidden_dim: int, num_heads: int, mlp_dim: int, **options: Any):
        super().__init__()
        check_arguments(num_layers=num_layers)
        self.blocks = nn.ModuleList(EncoderBlock(hidden_dim, num_heads, mlp_dim, **options) for _ in range(num_layers))
        self.norm = nn.LayerNorm(hidden_dim, eps=options.get("norm_epsilon", NORM_EPSILON))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.norm(x)
