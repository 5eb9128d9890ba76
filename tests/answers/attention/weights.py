"""Answers to exercise attention.weights."""

import einops
import torch
import torch.nn.functional as F

from answers import UNKNOWN, Answers

answers = Answers("attention.weights")

answers.edits(
    ("softmax-over-queries", "dim=-1", "dim=2"),
    ("scale-by-tokens", "q.shape[-1]", "q.shape[-2]"),
    ("scaled-otherwise", "0.5", "0.3"),
)


@answers.right
def by_einsum(q, k, keep):
    scores = einops.einsum(q, k, "b h t d, b h s d -> b h t s") * q.size(-1) ** (-0.5)
    keep = einops.repeat(keep, "b t s -> b h t s", h=q.shape[1])
    return torch.softmax(torch.where(keep, scores, -torch.inf), -1)


@answers.right
def by_loops(q, k, keep):
    B, h, T, d = q.shape
    out = torch.zeros(B, h, T, k.shape[2])
    for b in range(B):
        for head in range(h):
            for t in range(T):
                read = keep[b, t]
                exp = torch.exp(k[b, head, read] @ q[b, head, t] / d**0.5)
                out[b, head, t, read] = exp / exp.sum()
    return out


@answers.right
def large_number_subtracted(q, k, keep):
    scores = torch.matmul(q, (k / q.shape[-1] ** 0.5).mT)
    return F.softmax(scores - 1e9 * (~keep).unsqueeze(1), dim=3)


@answers.right
def by_attention_to_the_identity(q, k, keep):
    identity = torch.eye(k.shape[-2]).expand(*k.shape[:2], -1, -1)
    return F.scaled_dot_product_attention(q, k, identity, attn_mask=keep[:, None])


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


@answers.wrong("masked-keys-read")
def masked_score_too_high(q, k, keep):
    return scores_of(q, k).masked_fill(~keep[:, None], -10).softmax(dim=-1)


@answers.wrong("negative-weights")
def divided_by_the_sum(q, k, keep):
    scores = scores_of(q, k) * keep[:, None]
    return scores / scores.sum(-1, keepdim=True)


@answers.wrong("all-alike")
def infinity_made_a_number(q, k, keep):
    return (scores_of(q, k) + ~keep[:, None] * float("-inf")).nan_to_num().softmax(dim=-1)


@answers.wrong("rows-not-one")
def divided_after_the_softmax(q, k, keep):
    scores = (q @ k.mT).masked_fill(~keep[:, None], float("-inf"))
    return scores.softmax(dim=-1) / q.shape[-1] ** 0.5


@answers.wrong("masked-keys-have-weight")
def softmax_over_sequences(q, k, keep):
    return scores_of(q, k).softmax(dim=0)


@answers.wrong("shares-differ")
def scores_without_signs(q, k, keep):
    return scores_of(q, k).abs().masked_fill(~keep[:, None], float("-inf")).softmax(dim=-1)


@answers.wrong("masked-keys-read")
def own_key_read_too(q, k, keep):
    keep = keep | torch.eye(*keep.shape[1:], dtype=torch.bool)
    return scores_of(q, k).masked_fill(~keep[:, None], float("-inf")).softmax(dim=-1)


@answers.wrong(UNKNOWN)
def largest_score_only(q, k, keep):
    scores = scores_of(q, k).masked_fill(~keep[:, None], float("-inf"))
    return F.one_hot(scores.argmax(-1), k.shape[-2]).float() + 0 * scores.softmax(-1)
