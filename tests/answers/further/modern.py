"""Answers to exercise further.modern."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("further.modern")
norm, turn, faulty_block = answers.given("norm", "turn", "faulty_block")

answers.edits(
    ("one-scale-for-both", "scales[1]", "scales[0]"),
    ("another-gate", "F.silu", "F.gelu"),
    ("gate-added", "F.silu(y @ gate.T) *", "F.silu(y @ gate.T) +"),
    (UNKNOWN, "return z + scales[1]", "return y + scales[1]"),
)


@answers.right
def a_loop_over_heads(z, qkv, projection, gate, expand, contract, scales, num_heads):
    D = z.shape[-1]
    d = D // num_heads
    x = F.layer_norm(z, (D,))
    heads = []
    for h in range(num_heads):
        q, k, v = (x @ qkv[i * D + h * d : i * D + (h + 1) * d].T for i in range(3))
        q, k = (turn(F.layer_norm(one, (d,))[:, None])[:, 0] for one in (q, k))
        heads.append(torch.softmax(q @ k.transpose(1, 2) / d**0.5, -1) @ v)
    z = z + torch.cat(heads, -1) @ projection.T * scales[0]
    x = F.layer_norm(z, (D,))
    return z + F.linear(F.silu(F.linear(x, gate)) * F.linear(x, expand), contract) * scales[1]


@answers.right
def with_einsum(z, qkv, projection, gate, expand, contract, scales, num_heads):
    B, T, D = z.shape
    q, k, v = (norm(z) @ qkv.T).reshape(B, T, 3, num_heads, -1).permute(2, 0, 3, 1, 4)
    q, k = turn(norm(q)), turn(norm(k))
    weights = (torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5).softmax(dim=-1)
    out = torch.einsum("bhij,bhjd->bihd", weights, v).reshape(B, T, D)
    z = z + scales[0] * (out @ projection.T)
    y = norm(z)
    return z + scales[1] * (F.silu(y @ gate.T) * (y @ expand.T) @ contract.T)


@answers.right
def scales_in_the_matrices(z, qkv, projection, gate, expand, contract, scales, num_heads):
    parts = F.linear(norm(z), qkv).chunk(3, dim=-1)
    q, k, v = (x.unflatten(2, (num_heads, -1)).transpose(1, 2) for x in parts)
    out = F.scaled_dot_product_attention(turn(norm(q)), turn(norm(k)), v).transpose(1, 2).flatten(2)
    z = z + F.linear(out, projection * scales[0][:, None])
    y = norm(z)
    return z + F.linear(nn.SiLU()(y @ gate.T) * (y @ expand.T), contract * scales[1][:, None])


@answers.wrong("still-faulty")
def unrepaired(z, qkv, projection, gate, expand, contract, scales, num_heads):
    return faulty_block(z, qkv, projection, gate, expand, contract, scales, num_heads)


@answers.wrong("bugs-left")
def scales_repaired(z, qkv, projection, gate, expand, contract, scales, num_heads):
    q, k, v = (norm(z) @ qkv.T).chunk(3, dim=-1)
    q, k = norm(q), norm(k)
    q, k, v = (x.unflatten(2, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    q, k, v = turn(q), turn(k), turn(v)
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    z = z + scales[0] * ((weights @ v).transpose(1, 2).flatten(2) @ projection.T)
    y = norm(z)
    return z + scales[1] * ((F.silu(y @ gate.T) * (y @ expand.T)) @ contract.T)


@answers.wrong("norm-over-all-heads")
def norm_over_all_heads(z, qkv, projection, gate, expand, contract, scales, num_heads):
    q, k, v = (norm(z) @ qkv.T).chunk(3, dim=-1)
    q, k = norm(q), norm(k)
    q, k, v = (x.unflatten(2, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    q, k = turn(q), turn(k)
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    z = z + scales[0] * ((weights @ v).transpose(1, 2).flatten(2) @ projection.T)
    y = norm(z)
    return z + scales[1] * ((F.silu(y @ gate.T) * (y @ expand.T)) @ contract.T)


@answers.wrong(UNKNOWN)
def another_function(z, qkv, projection, gate, expand, contract, scales, num_heads):
    parts = (norm(z) @ qkv.T).chunk(3, dim=-1)
    q, k, v = (x.unflatten(2, (num_heads, -1)).transpose(1, 2) for x in parts)
    q, k = turn(norm(q)), turn(norm(k))
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    z = z + scales[0] * ((weights @ v).transpose(1, 2).flatten(2) @ projection.T)
    y = norm(z)
    return z + scales[1] * (F.silu(y @ gate.T) ** 2 * (y @ expand.T) @ contract.T)
