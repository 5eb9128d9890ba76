"""Is it the object that a head lights up, or anything that does not belong? The table of chapter 09.

    python res/evidence/pasted.py

Each of the eight photographs with an outline gives its object, shrunk to 98 pixels, eight times: pasted into each
corner twice, on eight other photographs. Each picture is made three times, and only the filling of the outline differs:

- "object": the object itself.
- "texture": a piece of the picture of galaxies or of a retina, moved by a random distance; each of the two once in
  each corner.
- "pieces": squares of 8 x 8 pixels, cut from the object at random and laid side by side. They have the object's
  colours and its detail, and edges of their own; the object is gone.

Written to pasted.csv beside this file: one line for each picture, with its AUC (`auc` of chapter 09) by several maps:

- "head 5": layer 11, head 5 of vit-s14, the best of its 72 heads on the eight photographs.
- "trained": for each object the head of vit-s14 that is best on the photographs of the other seven.
- "random 0" to "random 5": the same choice, for vit-s14 with the numbers of each tensor in a random order.
- "colour": how far a patch's mean colour is from the median colour. "middle": a map that is bright in the middle.

About six minutes on one core.
"""

from pathlib import Path

import numpy as np
import torch

from vit_course import data, pretrained
from vit_course.files.atomic import write_csv
from vit_course.maps import controls, record_attention
from vit_course.patches import patchify

TABLE = Path(__file__).with_name("pasted.csv")
FILLINGS, TEXTURES = ("object", "texture", "pieces"), ("galaxies", "retina")
SIDE, MARGIN, PIECE = 98, 7, 8  # pixels


def class_rows(net, images: torch.Tensor) -> torch.Tensor:
    """(n, C, H, W) -> (n, L, h, rows, columns), the class token's maps."""
    kept = []
    for image in images.split(1):
        with torch.no_grad(), record_attention(net) as recorded:
            net.features(image)
        kept.append(recorded.stacked()[0, :, :, 0, 1:])  # (L, h, N)
    return torch.stack(kept).unflatten(-1, net.config.grid)


def auc(map: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., rows, columns), (H, W) -> (...): each patch counts as all its pixels."""
    cover = patchify(mask[None, None].float(), len(mask) // map.shape[-2])[0].mean(dim=-1)  # (N,)
    beside, a = 1 - cover, map.flatten(-2)  # (N,), (..., N)
    wins = (a[..., :, None] - a[..., None, :]).sign()  # (..., N, N)
    return 0.5 + wins @ beside @ cover / (cover.sum() * beside.sum()) / 2


def score(maps: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """(n, ..., rows, columns), (n, H, W) -> (n, ...)."""
    return torch.stack([auc(*two) for two in zip(maps, masks, strict=True)])


def colour(images: torch.Tensor) -> torch.Tensor:
    """(n, C, H, W) -> (n, rows, columns): how far each patch's mean colour is from the median colour."""
    means = patchify(images, 14).unflatten(-1, (14**2, 3)).mean(dim=2)  # (n, N, C)
    median = images.flatten(2).median(dim=2).values  # (n, C)
    return (means - median[:, None]).norm(dim=-1).unflatten(1, (16, 16))


def best_on_others(scores: torch.Tensor) -> torch.Tensor:
    """(n, L, h) -> (n,): for each photograph the number of the best head on the other ones."""
    flat = scores.flatten(1)  # (n, L * h)
    return (flat.sum(dim=0) - flat).argmax(dim=1)


def shrunk(image: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(C, H, W), (H, W) -> the object in its box, (C, rows, columns), and its outline, (rows, columns)."""
    down, across = mask.any(dim=1).nonzero()[:, 0], mask.any(dim=0).nonzero()[:, 0]
    box = slice(down[0], down[-1] + 1), slice(across[0], across[-1] + 1)
    cut = torch.cat([image[:, *box], mask[None, *box].float()])  # (C + 1, rows, columns)
    size = [max(1, int(side * SIDE / max(cut.shape[1:]))) for side in cut.shape[1:]]
    cut = torch.nn.functional.interpolate(cut[None], size, mode="bilinear", antialias=True)[0]
    return cut[:3], cut[3] > 0.5


def pieces(cut: torch.Tensor, inside: torch.Tensor, draw: np.random.Generator) -> torch.Tensor:
    """(C, rows, columns), (rows, columns) -> (C, rows, columns): squares of the object in random order."""
    whole = inside.unfold(0, PIECE, 1).unfold(1, PIECE, 1).all(dim=-1).all(dim=-1)
    places = whole.nonzero()  # the upper left corners of squares that lie on the object
    result = torch.zeros_like(cut)
    for top in range(0, cut.shape[1], PIECE):
        for left in range(0, cut.shape[2], PIECE):
            y, x = places[draw.integers(len(places))]
            room = result[:, top : top + PIECE, left : left + PIECE]
            room.copy_(cut[:, y : y + room.shape[1], x : x + room.shape[2]])
    return result


def pasted(background, fillings: list[torch.Tensor], inside, corner: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(C, H, W), three of (C, rows, columns), (rows, columns) -> (3, C, H, W), (H, W)."""
    rows, columns = inside.shape
    top = (MARGIN, 224 - MARGIN - rows)[corner // 2]
    left = (MARGIN, 224 - MARGIN - columns)[corner % 2]
    place = slice(top, top + rows), slice(left, left + columns)
    outline = torch.zeros(224, 224, dtype=torch.bool)
    outline[place] = inside
    made = background.repeat(len(fillings), 1, 1, 1)
    for picture, filling in zip(made, fillings, strict=True):
        picture[:, *place] = torch.where(inside, filling, background[:, *place])
    return made, outline


def pictures(real, photos: list, inputs: torch.Tensor, masks: torch.Tensor):
    """-> the pictures, (n, 3, C, H, W), their outlines, (n, H, W), and of each the object, background and texture."""
    everything = {name: real.preprocess(one.path)[0] for name, one in data.photographs().items()}
    draw = np.random.default_rng(0)
    made, about = [], []
    for i, one in enumerate(photos):
        cut, inside = shrunk(inputs[i], masks[i])
        others = [name for name in everything if name not in (one.name, *TEXTURES)]
        order = [str(name) for name in draw.permutation(others)][:8]
        for number in range(8):
            background, corner, kind = order[number % len(order)], number % 4, TEXTURES[number // 4]
            moved = everything[kind].roll(tuple(draw.integers(224, size=2)), dims=(1, 2))
            texture = moved[:, : inside.shape[0], : inside.shape[1]]
            three = [cut, texture, pieces(cut, inside, draw)]
            made.append(pasted(everything[background], three, inside, corner))
            about.append({"object": one.name, "background": background, "corner": corner, "texture": kind})
    return *(torch.stack(part) for part in zip(*made, strict=True)), about


def main() -> None:
    """Writes the table."""
    torch.set_num_threads(1)
    real = pretrained.load_run("vit-s14")
    photos = [one for one in data.photographs().values() if one.polygons]
    inputs = torch.cat([real.preprocess(one.path) for one in photos])  # (8, C, H, W)
    masks = torch.stack([one.mask(real.preprocess) for one in photos])  # (8, H, W)
    made, outlines, about = pictures(real, photos, inputs, masks)
    versions = made.unbind(dim=1)  # three of (n, C, H, W)
    columns = {"middle": [score(-_from_middle().expand(len(made), -1, -1), outlines)] * 3}
    columns["colour"] = [score(colour(some), outlines) for some in versions]
    nets = {"trained": real.model} | {f"random {i}": controls.random_weights(real.model, i) for i in range(6)}
    for name, net in nets.items():
        heads = best_on_others(score(class_rows(net, inputs), masks))  # (8,)
        heads = heads.repeat_interleave(8)[:, None]  # (n, 1)
        found = [score(class_rows(net, some), outlines) for some in versions]  # three of (n, L, h)
        columns[name] = [one.flatten(1).gather(1, heads)[:, 0] for one in found]
        if name == "trained":
            columns["head 5"] = [one[:, 11, 5] for one in found]
        print(name, [f"{one.mean():.3f}" for one in columns[name]], flush=True)
    lines = [
        one | {"filling": filling} | {name: f"{values[kind][i]:.4f}" for name, values in columns.items()}
        for i, one in enumerate(about)
        for kind, filling in enumerate(FILLINGS)
    ]
    write_csv(TABLE, lines)


def _from_middle() -> torch.Tensor:
    return (torch.cartesian_prod(torch.arange(16.0), torch.arange(16.0)) - 7.5).norm(dim=1).unflatten(0, (16, 16))


if __name__ == "__main__":
    main()
