"""Answers to exercise class_token.padded."""

import torch
import torch.nn.functional as F
from einops import rearrange, reduce

from answers import UNKNOWN, Answers

answers = Answers("class_token.padded")

answers.edits(
    ("summed-over-the-width", "(z[:, 1:] * weights).sum(dim=1)", "(z[:, 1:] * weights).sum(dim=2)"),
    ("returned-nothing", "return ", ""),
)


@answers.right
def by_product(z, real):
    weights = real / real.sum(dim=1, keepdim=True)
    return torch.einsum("bnd,bn->bd", z[:, 1:], weights)


@answers.right
def by_nanmean(z, real):
    return z[:, 1:].masked_fill(~real[..., None], torch.nan).nanmean(dim=1)


@answers.right
def by_reduce(z, real):
    kept = rearrange(real, "b n -> b n 1").float()
    return reduce(z[:, 1:] * kept, "b n d -> b d", "sum") / reduce(kept, "b n 1 -> b 1", "sum")


@answers.right
def by_rows_of_weights(z, real):
    return (F.normalize(real.float(), p=1, dim=1)[:, None] @ z[:, 1:]).flatten(1)


@answers.right
def image_by_image(z, real):
    return torch.stack([tokens[1:][mask].mean(dim=0) for tokens, mask in zip(z, real, strict=True)])


@answers.wrong("divided-by-all")
def divided_by_all(z, real):
    return (z[:, 1:] * real[:, :, None].float()).mean(dim=1)


@answers.wrong("one-count-for-all")
def one_count_for_all(z, real):
    weights = real[:, :, None].float()
    return (z[:, 1:] * weights).sum(dim=1) / weights.sum()


@answers.wrong("class-token-in-mean")
def class_token_in_mean(z, real):
    return z.mean(dim=1)


@answers.wrong(UNKNOWN)
def smallest_taken(z, real):
    return z[:, 1:].masked_fill(~real[..., None], torch.inf).amin(dim=1)
