"""Answers to exercise evidence.score."""

import torch
import torch.nn.functional as F
from einops import rearrange

from answers import UNKNOWN, Answers
from vit_course.maps import interpret

answers = Answers("evidence.score")


@answers.right
def pooled(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    cover = F.avg_pool2d(mask.float()[:, None], P)[:, 0]
    return torch.einsum("brc,brc->b", map, cover) / map.sum((1, 2))


@answers.right
def enlarged(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    big = torch.kron(map, torch.ones(1, P, P))
    return (big * mask).sum((1, 2)) / big.sum((1, 2))


@answers.right
def with_einops(map, mask):
    P = mask.shape[1] // map.shape[1]
    cover = rearrange(mask, "b (r p) (c q) -> b r c (p q)", p=P, q=P).float().mean(-1)
    return (map * cover).sum((1, 2)) / map.sum((1, 2))


@answers.right
def by_the_package(map, mask):
    return interpret.mask_score(map, mask)


@answers.right
def in_loops(map, mask):
    scores = []
    for weights, inside in zip(map, mask, strict=True):
        P = inside.shape[0] // weights.shape[0]
        total = 0.0
        for r in range(weights.shape[0]):
            for c in range(weights.shape[1]):
                total += weights[r, c] * inside[r * P : (r + 1) * P, c * P : (c + 1) * P].float().mean()
        scores.append(total / weights.sum())
    return torch.stack(scores)


@answers.right
def in_numpy(map, mask):
    P = mask.shape[1] // map.shape[1]
    cover = mask.numpy().reshape(len(map), map.shape[1], P, map.shape[2], P).mean((2, 4))
    return torch.from_numpy((map.numpy() * cover).sum((1, 2)) / map.numpy().sum((1, 2)))


@answers.wrong("patch-rounded")
def more_than_half(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    cover = F.avg_pool2d(mask.float()[:, None], P)[:, 0]
    return (map * cover.round()).sum((1, 2)) / map.sum((1, 2))


@answers.wrong("one-pixel-a-patch")
def one_pixel(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    return (map * mask[:, ::P, ::P]).sum((1, 2)) / map.sum((1, 2))


@answers.wrong("spread-not-shared")
def spread(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    big = F.interpolate(map[:, None], scale_factor=P)[:, 0]
    return (big * mask).sum((1, 2)) / map.sum((1, 2))


@answers.wrong(UNKNOWN)
def squared(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    cover = F.avg_pool2d(mask.float()[:, None], P)[:, 0]
    return (map**2 * cover).sum((1, 2)) / (map**2).sum((1, 2))
