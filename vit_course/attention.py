"""Scaled dot-product attention: one head by itself, and all heads at once."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import broadcast_together, check_floats, check_together, check_tokens

# Sequences of up to this many tokens compute the (T, T) weights explicitly; longer ones use PyTorch's fused kernel.
# Time of a layer, forward and backward, with the fused kernel relative to the explicit computation, from width 768 to
# width 48 (one thread of a Zen 4 processor):
#   tokens                 65          145         197         257         577
#   float32            1.0 to 0.9  1.0 to 0.6  1.0 to 0.7  1.0 to 0.5  1.0 to 0.4
#   bfloat16 autocast  1.4 to 5.2  1.4 to 3.5  1.3 to 2.5  1.3 to 1.9  1.5 to 1.0
# For short sequences, the explicit computation costs up to a tenth of a training step in float32, and saves far more
# in bfloat16. Longer sequences occur mostly in models that run in float32, where the fused kernel is faster. It never
# stores the weights, which take gigabytes at 4,096 tokens.
EXPLICIT_TOKENS = 128


def attention_weights(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """(..., T, d), (..., S, d) -> (..., T, S)

    softmax(q k^T / sqrt(d)) over the keys: row i says how much query i takes from each key, and sums to 1.

    Args:
        q: T queries of width d.
        k: S keys of the same width (S = T in self-attention).

    Raises:
        TypeError: where one of them is not a tensor.
        ValueError: where queries and keys differ in width, type or device, or their leading axes do not go together,
            or there are no keys.

    Source: Vaswani et al. 2017, Eq. 1; Dosovitskiy et al. 2020, Eq. 6.
    """
    _check_pair(q, k)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)  # (..., T, S)
    return scores.softmax(dim=-1)


class AttentionHead(nn.Module):
    """(B, T, D) -> (B, T, d), (B, T, T)

    One head, for reading: returns its output and its weights. `SelfAttention` is h of these at once.

    Args:
        hidden_dim: D
        head_dim: d
        qkv_bias: whether the three projections have a bias.

    Raises:
        TypeError: in forward, for anything but a tensor.
        ValueError: for an impossible size; in forward, for tokens of another width, type or device.

    Source: Dosovitskiy et al. 2020, Eq. 5-7.
    """

    def __init__(self, hidden_dim: int, head_dim: int, qkv_bias: bool = True):
        super().__init__()
        check_arguments(hidden_dim=hidden_dim, head_dim=head_dim, qkv_bias=qkv_bias)
        self.query = nn.Linear(hidden_dim, head_dim, bias=qkv_bias)
        self.key = nn.Linear(hidden_dim, head_dim, bias=qkv_bias)
        self.value = nn.Linear(hidden_dim, head_dim, bias=qkv_bias)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        check_tokens(x, self.query)
        weights = attention_weights(self.query(x), self.key(x))  # (B, T, T)
        return weights @ self.value(x), weights  # (B, T, d), (B, T, T)


class SelfAttention(nn.Module):
    """(B, T, D) -> (B, T, D)

    h heads at once: one matrix makes all queries, keys and values, and the heads are an axis.

    Args:
        hidden_dim: D
        num_heads: h; must divide D.
        qkv_bias: whether the query, key and value projections have a bias.
        dropout: on the output, in training.
        attention_dropout: on the weights, in training.

    Raises:
        TypeError: in forward, for anything but a tensor.
        ValueError: for an impossible size, or a `hidden_dim` that `num_heads` does not divide; in forward, for tokens
            of another width, type or device.

    Source: Dosovitskiy et al. 2020, Eq. 5-8.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_heads: int,
        qkv_bias: bool = True,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ):
        super().__init__()
        check_arguments(hidden_dim=hidden_dim, num_heads=num_heads, qkv_bias=qkv_bias)
        check_arguments(dropout=dropout, attention_dropout=attention_dropout)
        if hidden_dim % num_heads:
            raise ValueError(f"hidden_dim {hidden_dim} is not a multiple of num_heads {num_heads}")
        self.num_heads = num_heads
        self.qkv = nn.Linear(hidden_dim, 3 * hidden_dim, bias=qkv_bias)
        self.attention_dropout = nn.Dropout(attention_dropout)
        self.projection = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split_heads(x)  # each (B, h, T, d)
        if x.shape[1] <= EXPLICIT_TOKENS:
            out = self.attention_dropout(attention_weights(q, k)) @ v  # (B, h, T, d)
        else:
            rate = self.attention_dropout.p if self.training else 0.0
            out = F.scaled_dot_product_attention(q, k, v, dropout_p=rate)  # (B, h, T, d)
        out = out.transpose(1, 2).flatten(2)  # (B, T, D)
        return self.dropout(self.projection(out))

    def weights(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, h, T, T): the attention weights, before dropout. Each row sums to 1."""
        q, k, _ = self.split_heads(x)
        return attention_weights(q, k)

    def split_heads(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(B, T, D) -> three of (B, h, T, d): queries, keys, values, the heads one after the other in D."""
        check_tokens(x, self.qkv)
        qkv = self.qkv(x).unflatten(2, (3, self.num_heads, -1))  # (B, T, 3, h, d)
        # Unbind, then transpose: in this order the backward pass joins the three gradients with one copy, not two.
        q, k, v = qkv.unbind(2)  # each (B, T, h, d)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # each (B, h, T, d)


def _check_pair(q: torch.Tensor, k: torch.Tensor) -> None:
    for name, x in (("queries", q), ("keys", k)):
        check_floats(name, x)
        if x.ndim < 2:
            raise ValueError(f"{name} must have at least 2 axes (..., T, d), got shape {tuple(x.shape)}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"queries have width {q.shape[-1]}, but keys have width {k.shape[-1]}: they must be equal")
    if 0 in k.shape[-2:]:
        raise ValueError(f"at least 1 key of width 1 is needed, got keys of shape {tuple(k.shape)}")
    if not broadcast_together(q.shape[:-2], k.shape[:-2]):
        raise ValueError(
            f"the leading axes of queries {tuple(q.shape)} and keys {tuple(k.shape)} must be equal, or 1 in one of them"
        )
    check_together("queries", q, "keys", k)
