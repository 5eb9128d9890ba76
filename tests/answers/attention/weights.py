"""Answers to exercise attention.weights."""

import math

import torch
import torch.nn.functional as F
from einops import einsum, repeat

from answers import right, unforeseen, wrong
from vit_course.checks.draw import Draw


@right("attention.weights")
def with_einsum(q, k, keep):
    scores = einsum(q, k, "b h t d, b h s d -> b h t s") * q.size(-1) ** -0.5
    return torch.softmax(torch.where(repeat(keep, "b t s -> b h t s", h=q.shape[1]), scores, -torch.inf), -1)


@right("attention.weights")
def with_loops(q, k, keep):
    B, h, T, d = q.shape
    out = torch.zeros(B, h, T, k.shape[2])
    for b in range(B):
        for head in range(h):
            for t in range(T):
                read = keep[b, t]
                exp = torch.exp(k[b, head, read] @ q[b, head, t] / math.sqrt(d))
                out[b, head, t, read] = exp / exp.sum()
    return out


@right("attention.weights")
def large_number_added(q, k, keep):
    d = q.shape[-1]
    return F.softmax(torch.matmul(q, (k / d**0.5).mT) - 1e9 * (~keep).unsqueeze(1), dim=3)


@right("attention.weights")
def logarithm_added(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1]) + keep.float().log()[:, None]).softmax(-1)


@right("attention.weights")
def divided_by_the_sum(q, k, keep):
    kept = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) * keep[:, None]
    return kept / kept.sum(-1, keepdim=True)


@right("attention.weights")
def from_sdpa(q, k, keep):
    identity = torch.eye(k.shape[-2]).expand(*k.shape[:2], -1, -1)
    return F.scaled_dot_product_attention(q, k, identity, attn_mask=keep[:, None])


def attend(q, k, keep, divisor=None, dim=-1, fill=-torch.inf):
    scores = q @ k.mT / (divisor or math.sqrt(q.shape[-1]))
    return scores.masked_fill(~keep[:, None], fill).softmax(dim)


@wrong("attention.weights", "softmax-over-queries")
def columns(q, k, keep):
    return attend(q, k, keep, dim=2)


@wrong("attention.weights", "mask-ignored")
def unmasked(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)


@wrong("attention.weights", "mask-ignored")
def mask_thrown_away(q, k, keep):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores.masked_fill(~keep[:, None], -torch.inf)  # returns a new tensor, which nobody takes
    return scores.softmax(-1)


@wrong("attention.weights", "masked-after-softmax")
def masked_late(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1).masked_fill(~keep.unsqueeze(1), 0)


@wrong("attention.weights", "score-zero")
def score_of_zero(q, k, keep):
    return attend(q, k, keep, fill=0)


@wrong("attention.weights", "score-zero")
def tiny_score(q, k, keep):
    return attend(q, k, keep, fill=-1e-9)


@wrong("attention.weights", "mask-added")
def added(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1]) + keep[:, None].float()).softmax(-1)


@wrong("attention.weights", "mask-inverted")
def inverted(q, k, keep):
    return attend(q, k, ~keep)


@wrong("attention.weights", "mask-inverted")
def subtracted_where_kept(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(keep[:, None], -1e9).softmax(-1)


@wrong("attention.weights", "wrong-sign")
def huge(q, k, keep):
    return attend(q, k, keep, fill=1e9)


@wrong("attention.weights", "wrong-sign")
def minus_times_minus(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1]) - (~keep)[:, None] * -1e9).softmax(-1)


@wrong("attention.weights", "nan-from-infinity")
def zero_times_infinity(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1]) + (~keep)[:, None] * -torch.inf).softmax(-1)


@wrong("attention.weights", "nan-from-infinity")
def plus_infinity(q, k, keep):
    return attend(q, k, keep, fill=torch.inf)


@wrong("attention.weights", "mask-misaligned")
def without_heads(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep, -1e9).softmax(-1)


@wrong("attention.weights", "mask-misaligned")
def multiplied_without_heads(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) * keep


@wrong("attention.weights", "mask-misaligned")
def chosen_without_heads(q, k, keep):
    return torch.where(keep, q @ k.mT / math.sqrt(q.shape[-1]), -1e9).softmax(-1)


@wrong("attention.weights", "no-scale")
def unscaled(q, k, keep):
    return attend(q, k, keep, 1)


@wrong("attention.weights", "scale-by-d")
def by_width(q, k, keep):
    return attend(q, k, keep, q.shape[-1])


@wrong("attention.weights", "sqrt-of-hidden-width")
def by_all_heads(q, k, keep):
    return attend(q, k, keep, math.sqrt(q.shape[1] * q.shape[3]))


@wrong("attention.weights", "scale-by-tokens")
def by_tokens(q, k, keep):
    return attend(q, k, keep, k.shape[-2] ** 0.5)


@wrong("attention.weights", "scale-by-tokens")
def by_queries(q, k, keep):
    return attend(q, k, keep, q.shape[-2] ** 0.5)


@wrong("attention.weights", "multiplied-by-root")
def multiplied(q, k, keep):
    return attend(q, k, keep, q.shape[-1] ** -0.5)


@wrong("attention.weights", "no-softmax")
def scores_only(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep[:, None], 0)


@wrong("attention.weights", "no-softmax")
def scores_with_infinities(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep[:, None], -torch.inf)


@wrong("attention.weights", "softmax-over-heads")
def over_heads(q, k, keep):
    return attend(q, k, keep, dim=1)


@wrong("attention.weights", "scaled-after-softmax")
def scaled_late(q, k, keep):
    return attend(q, k, keep, 1) / math.sqrt(q.shape[-1])


@wrong("attention.weights", "keys-not-transposed")
def not_transposed(q, k, keep):
    return (q @ k).softmax(-1)


@wrong("attention.weights", "gradient-cut")
def detached(q, k, keep):
    return attend(q, k, keep).detach()


@wrong("attention.weights", "input-changed")
def in_place(q, k, keep):
    q /= math.sqrt(q.shape[-1])
    return attend(q, k, keep, 1)


@wrong("attention.weights", "input-changed")
def mask_turned_in_place(q, k, keep):
    keep.logical_not_()
    return attend(q, k, ~keep)


@wrong("attention.weights", "random-result")
def dropout_left_on(q, k, keep):
    return F.dropout(attend(q, k, keep), 0.5)


@wrong("attention.weights", "hard-coded-size")
def one_size(q, k, keep):
    return attend(q, k, keep, math.sqrt(Draw(0).sizes(5, low=3, high=10)[4]))  # the width of the first draw


@wrong("attention.weights", "negative-weights")
def no_exponential(q, k, keep):
    scores = q @ k.mT / math.sqrt(q.shape[-1]) * keep[:, None]
    return scores / scores.sum(-1, keepdim=True)


@wrong("attention.weights", "shares-differ")
def absolute(q, k, keep):
    return (q @ k.mT / math.sqrt(q.shape[-1])).abs().masked_fill(~keep[:, None], -1e9).softmax(-1)


@wrong("attention.weights", "mask-of-one")
def mask_of_the_first_image(q, k, keep):
    return attend(q, k, keep[:1])


@wrong("attention.weights", "other-axes")
def keys_by_keys(q, k, keep):
    return (k @ k.mT).softmax(-1).flip(-1)


@wrong("attention.weights", "axes-do-not-fit")
def mask_of_the_other_axis(q, k, keep):
    return attend(q, k, keep.mT)


@wrong("attention.weights", "masked-after-softmax-and-no-scale")
def masked_late_and_unscaled(q, k, keep):
    return (q @ k.mT).softmax(-1) * keep[:, None]


@wrong("attention.weights", "scaled-otherwise")
def by_eight(q, k, keep):
    return attend(q, k, keep, 8)


@wrong("attention.weights", "masked-keys-read")
def not_small_enough(q, k, keep):
    return attend(q, k, keep, fill=-10)


@wrong("attention.weights", "rows-not-one")
def masked_late_and_over_heads(q, k, keep):
    return (q @ k.mT).softmax(0) * keep[:, None]


@wrong("attention.weights", "masked-keys-have-weight")
def masked_nowhere_and_over_heads(q, k, keep):
    return (q @ k.mT).softmax(1)


@wrong("attention.weights", "mask-not-bool")
def mask_of_numbers(q, k, keep):
    return attend(q, k, keep.float())


@unforeseen("attention.weights")
def all_on_one_key(q, k, keep):
    best = attend(q, k, keep).argmax(-1)
    return F.one_hot(best, k.shape[-2]).float()


@wrong("attention.weights", "first-head-alone-right")
def of_the_first_head(q, k, keep):
    return attend(q[:, :1], k[:, :1], keep).expand(-1, q.shape[1], -1, -1)
