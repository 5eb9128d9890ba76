"""Answers to exercise class_token.padded."""

import torch
import torch.nn.functional as F
from einops import rearrange, reduce

from answers import right, unforeseen, wrong


@right("class_token.padded")
def weighted(z, real):
    kept = real[..., None]
    return (z[:, 1:] * kept).sum(dim=1) / kept.sum(dim=1)


@right("class_token.padded")
def image_by_image(z, real):
    return torch.stack([tokens[1:][mask].mean(dim=0) for tokens, mask in zip(z, real, strict=True)])


@right("class_token.padded")
def by_product(z, real):
    weights = real / real.sum(dim=1, keepdim=True)  # (B, N)
    return torch.einsum("bnd,bn->bd", z[:, 1:], weights)


@right("class_token.padded")
def by_nanmean(z, real):
    return z[:, 1:].masked_fill(~real[..., None], torch.nan).nanmean(dim=1)


@wrong("class_token.padded", "one-mean-for-all")
def images_averaged_too(z, real):
    return by_nanmean(z, real).mean(dim=0, keepdim=True).repeat(len(z), 1)


@right("class_token.padded")
def by_reduce(z, real):
    kept = rearrange(real, "b n -> b n 1").float()
    return reduce(z[:, 1:] * kept, "b n d -> b d", "sum") / reduce(kept, "b n 1 -> b 1", "sum")


@right("class_token.padded")
def by_rows_of_weights(z, real):
    return (F.normalize(real.float(), p=1, dim=1)[:, None] @ z[:, 1:]).flatten(1)


def _padded(slug, function):
    wrong("class_token.padded", slug)(function)


_padded("divided-by-all", lambda z, real: (z[:, 1:] * real[..., None]).mean(1))
_padded("divided-by-tokens", lambda z, real: (z[:, 1:] * real[..., None]).sum(1) / z.shape[1])
_padded("sum-of-patches", lambda z, real: (z[:, 1:] * real[..., None]).sum(1))
_padded("padding-counted", lambda z, real: z[:, 1:].mean(1))
_padded("class-token-in-mean", lambda z, real: z.mean(1))
_padded("class-token-in-mean", lambda z, real: weighted(
    torch.cat([z[:, :1], z], dim=1), torch.cat([torch.ones_like(real[:, :1]), real], dim=1)))  # fmt: skip
_padded("shifted-by-one", lambda z, real: weighted(torch.cat([z[:, :1], z[:, :-1]], dim=1), real))
_padded("mask-inverted", lambda z, real: weighted(z, ~real))
_padded("images-mixed", lambda z, real: z[:, 1:][real].mean(0))
_padded("class-token-read", lambda z, real: z[:, 0])
_padded("axis-kept", lambda z, real: weighted(z, real).unsqueeze(1))
_padded("gradient-cut", lambda z, real: weighted(z.detach(), real))
_padded("returned-nothing", lambda z, real: None)


@wrong("class_token.padded", "input-changed")
def zeroed(z, real):
    z[:, 1:][~real] = 0
    return weighted(z, real)


@wrong("class_token.padded", "largest-taken")
def largest(z, real):
    return z[:, 1:].masked_fill(~real[..., None], -torch.inf).amax(dim=1)


@wrong("class_token.padded", "first-ones-taken")
def as_many_from_the_front(z, real):
    return torch.stack([tokens[1 : 1 + mask.sum()].mean(dim=0) for tokens, mask in zip(z, real, strict=True)])


_padded("one-count-for-all", lambda z, real: (z[:, 1:] * real[..., None]).sum(1) / real[0].sum())
_padded("class-token-in-sum", lambda z, real: (z[:, 0] + (z[:, 1:] * real[..., None]).sum(1)) / real.sum(1)[:, None])
_padded("patch-left-out", lambda z, real: weighted(z[:, :-1], real[:, :-1]))
_padded("axis-of-one-dropped", lambda z, real: weighted(z, real).squeeze())
_padded("count-broadcast-wrongly", lambda z, real: (z[:, 1:] * real[..., None]).sum(1) / real.sum(1))


@unforeseen("class_token.padded")
def smallest(z, real):
    return z[:, 1:].masked_fill(~real[..., None], torch.inf).amin(dim=1)


@wrong("class_token.padded", "mask-on-all-tokens")
def all_tokens_weighted(z, real):
    weights = real[..., None].float()
    return (z * weights).sum(dim=1) / weights.sum(dim=1)


@wrong("class_token.padded", "summed-over-the-width")
def picked_then_averaged(z, real):
    return z[:, 1:][real].mean(dim=1)


@wrong("class_token.padded", "mask-inverted")
def padding_of_none_is_zero(z, real):
    weights = (~real)[..., None].float()
    return (z[:, 1:] * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
