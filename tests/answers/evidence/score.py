"""Answers to exercise evidence.score."""

import itertools

import torch
import torch.nn.functional as F
from einops import einsum, rearrange, repeat

from answers import right, unforeseen, wrong
from vit_course.maps import interpret


@right("evidence.score")
def with_package(map, mask):
    return interpret.mask_score(map, mask)


@right("evidence.score")
def pixels(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    big = torch.kron(map, torch.ones(1, P, P))
    return (big * mask).sum((1, 2)) / big.sum((1, 2))


@right("evidence.score")
def pooled(map, mask):
    P = mask.shape[-1] // map.shape[-1]
    cover = F.avg_pool2d(mask.float()[:, None], P)[:, 0]
    return einsum(map / map.sum((1, 2), keepdim=True), cover, "b r c, b r c -> b")


@right("evidence.score")
def nearest(map, mask):
    big = F.interpolate(map.unsqueeze(1), size=mask.shape[-2:], mode="nearest").squeeze(1)
    return big.masked_fill(~mask, 0).flatten(1).mean(1) / big.flatten(1).mean(1)


@right("evidence.score")
def image_by_image(map, mask):
    scores = []
    for weights, inside in zip(map, mask, strict=True):
        P, total = inside.shape[0] // weights.shape[0], 0.0
        for r, c in itertools.product(range(weights.shape[0]), range(weights.shape[1])):
            total += weights[r, c] * inside[r * P : (r + 1) * P, c * P : (c + 1) * P].float().mean()
        scores.append(total / weights.sum())
    return torch.stack(scores)


@right("evidence.score")
def by_einops(map, mask):
    tiles = rearrange(mask, "b (r p) (c q) -> b r c (p q)", r=map.shape[1], c=map.shape[2])
    return (map * tiles.float().mean(-1)).sum((1, 2)) / map.sum((1, 2))


@right("evidence.score")
def numpy_in_double(map, mask):
    P = mask.shape[1] // map.shape[1]
    covered = mask.numpy().reshape(len(map), map.shape[1], P, map.shape[2], P).mean((2, 4))  # float64
    return torch.from_numpy((map.numpy() * covered).sum((1, 2)) / map.numpy().sum((1, 2)))


def enlarged(map, mask):
    P = mask.shape[1] // map.shape[1]
    return repeat(map, "b r c -> b (r p) (c q)", p=P, q=P)


def cover_of(map, mask):
    return F.avg_pool2d(mask.float(), mask.shape[1] // map.shape[1])


def weighted(map, part):
    return (map * part).sum((1, 2)) / map.sum((1, 2))


for slug, function in [
    ("not-divided", lambda a, m: (a * cover_of(a, m)).sum((1, 2))),
    ("not-divided", lambda a, m: (enlarged(a, m) * m).sum((1, 2))),
    ("spread-not-shared", lambda a, m: (enlarged(a, m) * m).sum((1, 2)) / a.sum((1, 2))),
    ("mask-inverted", lambda a, m: weighted(a, 1 - cover_of(a, m))),
    ("mean-of-all-pixels", lambda a, m: (enlarged(a, m) * m).mean((1, 2))),
    ("mean-inside", lambda a, m: torch.stack([b[inside].mean() for b, inside in zip(enlarged(a, m), m, strict=True)])),
    ("times-chance", lambda a, m: weighted(a, cover_of(a, m)) / cover_of(a, m).mean((1, 2))),
    ("map-not-used", lambda a, m: m.float().flatten(1).mean(1)),
    ("patch-counted-whole", lambda a, m: weighted(a, F.max_pool2d(m.float(), m.shape[1] // a.shape[1]))),
    ("patch-rounded", lambda a, m: weighted(a, cover_of(a, m) > 0.5)),
    ("patch-rounded", lambda a, m: weighted(a, cover_of(a, m) >= 0.5)),
    ("one-pixel-a-patch", lambda a, m: weighted(a, F.interpolate(m[:, None].float(), size=a.shape[1:])[:, 0])),
    ("mask-cut-by-bare-reshape", lambda a, m: weighted(a, m.float().view(*a.shape, -1).mean(-1))),
    ("map-tiled", lambda a, m: (lambda big: weighted(big, m))(a.tile(1, *[m.shape[1] // a.shape[1]] * 2))),
    ("map-transposed", lambda a, m: weighted(a.mT.reshape(a.shape), cover_of(a, m))),
    ("whole-batch", lambda a, m: (a * cover_of(a, m)).sum((1, 2)) / a.sum()),
    ("one-number", lambda a, m: (enlarged(a, m) * m).sum() / enlarged(a, m).sum()),
    ("one-number", lambda a, m: weighted(a, cover_of(a, m)).mean()),
    ("sizes-do-not-fit", lambda a, m: weighted(a, m)),
    ("wrong-dtype", lambda a, m: weighted(a.half(), cover_of(a, m).half())),
    ("side-by-number", lambda a, m: weighted(a, F.avg_pool2d(m.float(), 16))),
    ("one-pixel-a-patch", lambda a, m: weighted(a, m[:, *[slice(m.shape[1] // a.shape[1] // 2, None,
                                                               m.shape[1] // a.shape[1])] * 2].float())),
    ("patch-rounded", lambda a, m: weighted(a, cover_of(a, m) == 1)),
    ("mask-smoothed", lambda a, m: weighted(a, F.interpolate(m[:, None].float(), a.shape[1:], mode="bilinear")[:, 0])),
    ("batch-of-one", lambda a, m: weighted(a, cover_of(a, m)).squeeze()),
    ("axis-kept", lambda a, m: weighted(a, cover_of(a, m))[:, None]),
    ("sum-over-one-axis", lambda a, m: (a * cover_of(a, m)).sum(1) / a.sum(1)),
    ("percent", lambda a, m: 100 * weighted(a, cover_of(a, m))),
    ("ratio-to-the-background", lambda a, m: weighted(a, cover_of(a, m)) / weighted(a, 1 - cover_of(a, m))),
    ("divided-by-the-largest", lambda a, m: (a * cover_of(a, m)).sum((1, 2)) / a.amax((1, 2))),
    ("softmax-of-the-map", lambda a, m: weighted(a.flatten(1).softmax(1).view(a.shape), cover_of(a, m))),
    ("map-cut-in-two", lambda a, m: weighted((a > a.mean((1, 2), keepdim=True)).float(), cover_of(a, m))),
    ("mask-transposed", lambda a, m: weighted(a, cover_of(a, m).mT.reshape(a.shape))),
]:  # fmt: skip
    wrong("evidence.score", slug)(function)


@wrong("evidence.score", "map-smoothed")
def bilinear(map, mask):
    big = F.interpolate(map[:, None], mask.shape[1:], mode="bilinear", align_corners=False)[:, 0]
    return (big * mask).sum((1, 2)) / big.sum((1, 2))


@wrong("evidence.score", "input-changed")
def normalised_in_place(map, mask):
    map /= map.sum((1, 2), keepdim=True)
    return (map * cover_of(map, mask)).sum((1, 2))


@wrong("evidence.score", "truth-values-averaged")
def mean_of_truth_values(map, mask):
    P = mask.shape[1] // map.shape[1]
    covered = rearrange(mask, "b (r p) (c q) -> b r c (p q)", p=P, q=P).mean(-1)
    return (map * covered).sum((1, 2)) / map.sum((1, 2))


@wrong("evidence.score", "largest-alone")
def the_brightest_patch(map, mask):
    covered = F.avg_pool2d(mask.float()[:, None], mask.shape[1] // map.shape[1]).flatten(1)
    return covered.gather(1, map.flatten(1).argmax(1, keepdim=True))[:, 0]


@wrong("evidence.score", "whole-batch")
def by_the_largest_sum(map, mask):
    return with_package(map, mask) * map.sum((1, 2)) / map.sum((1, 2)).max()


@wrong("evidence.score", "reshape-does-not-fit")
def as_if_square(map, mask):
    n, P = map.shape[1], mask.shape[1] // map.shape[1]
    return (map * mask.float().reshape(-1, n, P, n, P).mean((2, 4))).sum((1, 2)) / map.sum((1, 2))


@unforeseen("evidence.score")
def squared(map, mask):
    return with_package(map**2, mask)


@unforeseen("evidence.score")
def twice_as_many(map, mask):
    return with_package(map, mask).repeat(2)


@wrong("evidence.score", "averaged-over-patches")
def mean_above_the_line(map, mask):
    patch = mask.shape[1] // map.shape[1]
    covered = F.avg_pool2d(mask[:, None].float(), patch)[:, 0]
    return (map * covered).mean((1, 2)) / map.sum((1, 2))
