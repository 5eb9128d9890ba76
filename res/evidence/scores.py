"""What the scripts beside this file share: the maps of any model, occlusion, and scores against outlines.

A model is ours, timm's or of transformers. A map is its class token's row of attention; where it has no class token,
the mean of the rows of its patches.
"""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from vit_course import data
from vit_course.data.photographs import Photograph
from vit_course.maps import Tokens, record_attention
from vit_course.patches import patchify

SMALL = 64  # pixels: images up to here go through a model many at once, larger ones alone, for the maps to fit


def outlined(preprocess: Callable) -> tuple[list[Photograph], torch.Tensor, torch.Tensor]:
    """-> the photographs with an outline, as a model takes them, (n, C, H, W), and their masks, (n, H, W)."""
    photos = [one for one in data.photographs().values() if one.polygons]
    masks = torch.stack([one.mask(preprocess) for one in photos])
    return photos, torch.cat([preprocess(one.path) for one in photos]), masks


def all_tokens(net: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, T, D): every token after the last norm."""
    for name in ("features", "forward_features"):  # ours, timm's
        if callable(ask := getattr(net, name, None)):
            return ask(images)
    return net.base_model(images).last_hidden_state


def has_class_token(tokens: Tokens) -> bool:
    return tokens.prefix[:1] == ("class token",)


def seen(maps: torch.Tensor, tokens: Tokens) -> torch.Tensor:
    """(..., T, T) -> (..., rows, columns): the class token's row, or the mean row of the patches."""
    first = tokens.num_prefix
    row = maps[..., 0, :] if has_class_token(tokens) else maps[..., first:, :].mean(dim=-2)  # (..., T)
    return row[..., first:].unflatten(-1, tokens.grid)


def recorded(net: nn.Module, images: torch.Tensor) -> Iterator[tuple[torch.Tensor, Tokens]]:
    """(n, C, H, W) -> a part of the images at a time: all maps, (b, L, h, T, T), and which tokens are patches."""
    for part in images.split(50 if max(images.shape[2:]) <= SMALL else 1):
        with torch.no_grad(), record_attention(net) as found:
            all_tokens(net, part)
        yield found.stacked(), found.tokens()


def class_rows(net: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(n, C, H, W) -> (n, L, h, rows, columns), the class token's maps."""
    return torch.cat([seen(*two) for two in recorded(net, images)])


@torch.no_grad()
def features(net: nn.Module, images: torch.Tensor, tokens: Tokens) -> torch.Tensor:
    """(n, C, H, W) -> (n, D): the class token after the last norm, or the mean of the patches."""
    z = torch.cat([all_tokens(net, part) for part in images.split(16)])  # (n, T, D)
    return z[:, 0] if has_class_token(tokens) else z[:, tokens.num_prefix :].mean(dim=1)


@torch.no_grad()
def logits(net: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(n, C, H, W) -> (n, K)."""
    found = [net(part) for part in images.split(16)]
    return torch.cat([getattr(one, "logits", one) for one in found])


def auc(map: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., rows, columns), (H, W) -> (...): each patch counts as all its pixels, a pixel as what is covered of it."""
    cover = patchify(mask[None, None].float(), len(mask) // map.shape[-2])[0].mean(dim=-1)  # (N,)
    beside, a = 1 - cover, map.flatten(-2)  # (N,), (..., N)
    wins = (a[..., :, None] - a[..., None, :]).sign()  # (..., N, N)
    return 0.5 + wins @ beside @ cover / (cover.sum() * beside.sum()) / 2


def score(maps: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """(n, ..., rows, columns), (n, H, W) -> (n, ...)."""
    return torch.stack([auc(*two) for two in zip(maps, masks, strict=True)])


def best_on_others(scores: torch.Tensor) -> torch.Tensor:
    """(n, L, h) -> (n,): for each picture the number of the best head on the other ones."""
    flat = scores.flatten(1)  # (n, L * h)
    return (flat.sum(dim=0) - flat).argmax(dim=1)


def of_heads(scores: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
    """(n, L, h), (n,) -> (n,): of each picture the score of the head with this number."""
    return scores.flatten(1).gather(1, heads[:, None])[:, 0]


def middle(grid: tuple[int, int]) -> torch.Tensor:
    """-> (rows, columns), brightest in the middle."""
    places = [torch.arange(float(side)) - (side - 1) / 2 for side in grid]
    return -torch.cartesian_prod(*places).norm(dim=1).unflatten(0, grid)


def colour(images: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """(n, C, H, W) -> (n, rows, columns): how far each patch's mean colour is from the median colour."""
    side = images.shape[2] // grid[0]
    means = patchify(images, side).unflatten(-1, (side**2, -1)).mean(dim=2)  # (n, N, C)
    median = images.flatten(2).median(dim=2).values  # (n, C)
    return (means - median[:, None]).norm(dim=-1).unflatten(1, grid)


def greyed(images: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """(n, C, H, W), (..., rows, columns) -> (n, C, H, W): patches where `keep` is 0 get the mean colour of training."""
    (height, width), (rows, columns) = images.shape[2:], keep.shape[-2:]
    return images * keep.to(images).repeat_interleave(height // rows, -2).repeat_interleave(width // columns, -1)


def occlusion(moved: Callable, images: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """(n, C, H, W) -> (n, rows, columns): how far the answer moves without each patch.

    A grid over 8 x 8 is greyed in blocks: 2 x 2 patches up to 16 x 16, and so on, so that there are at most 64.

    Args:
        moved: from pictures with a grey place, (n, C, H, W), to (n,).
    """
    step = -(-max(grid) // 8)
    down, across = (torch.arange(side) // step for side in grid)
    blocks = down[:, None] * (across[-1] + 1) + across  # (rows, columns), the number of each patch's block
    found = [moved(greyed(images, blocks != number)) for number in range(int(blocks.max()) + 1)]
    return torch.stack(found, dim=1)[:, blocks]
