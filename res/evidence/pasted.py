"""Is it the object that a head lights up, or anything that does not belong? The table of chapter 09.

    python res/evidence/pasted.py

Each photograph with an outline gives its object, shrunk to 98 pixels, four times: pasted once into each corner, on four
other photographs. Each picture is made four times, and only the filling of the outline differs:

- "object": the object itself.
- "pieces": squares of 8 x 8 pixels, cut from the object at random and laid side by side. They have the object's
  colours and its detail, and edges of their own; the object is gone.
- "texture": squares of 8 x 8 pixels from the background of another photograph, laid side by side.
- "flat": the mean colour of the object.

Written to pasted.csv beside this file: one line for each picture and filling, with its AUC (`auc` of chapter 09) by
several maps:

- "head 5": layer 11, head 5 of vit-s14.
- "trained": for each object the head of vit-s14 that is best on the photographs of the others.
- "random 0" to "random 5": the same choice, for vit-s14 with the numbers of each tensor in a random order.
- "colour": how far a patch's mean colour is from the median colour. "middle": a map that is bright in the middle.

About six minutes on one core.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scores import best_on_others, class_rows, colour, middle, of_heads, outlined, score

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv
from vit_course.maps import controls

TABLE = Path(__file__).with_name("pasted.csv")
FILLINGS, CORNERS = ("object", "pieces", "texture", "flat"), 4
SIDE, MARGIN, PIECE = 98, 7, 8  # pixels


def shrunk(image: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(C, H, W), (H, W) -> the object in its box, (C, rows, columns), and its outline, (rows, columns)."""
    down, across = mask.any(dim=1).nonzero()[:, 0], mask.any(dim=0).nonzero()[:, 0]
    box = slice(down[0], down[-1] + 1), slice(across[0], across[-1] + 1)
    cut = torch.cat([image[:, *box], mask[None, *box].float()])  # (C + 1, rows, columns)
    size = [max(1, int(side * SIDE / max(cut.shape[1:]))) for side in cut.shape[1:]]
    cut = torch.nn.functional.interpolate(cut[None], size, mode="bilinear", antialias=True)[0]
    return cut[:-1], cut[-1] > 0.5


def pieces(image: torch.Tensor, allowed: torch.Tensor, size: torch.Size, draw: np.random.Generator) -> torch.Tensor:
    """(C, H, W), (H, W), (rows, columns) -> (C, rows, columns): squares from where it is allowed, in random order."""
    whole = allowed.unfold(0, PIECE, 1).unfold(1, PIECE, 1).all(dim=-1).all(dim=-1)
    places = whole.nonzero()  # the upper left corners of squares that lie inside
    result = image.new_zeros(len(image), *size)
    for top in range(0, size[0], PIECE):
        for left in range(0, size[1], PIECE):
            y, x = places[draw.integers(len(places))]
            room = result[:, top : top + PIECE, left : left + PIECE]
            room.copy_(image[:, y : y + room.shape[1], x : x + room.shape[2]])
    return result


def pasted(background, fillings: list[torch.Tensor], inside, corner: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(C, H, W), k of (C, rows, columns), (rows, columns) -> (k, C, H, W), (H, W)."""
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


def pictures(preprocess: Callable) -> tuple[torch.Tensor, torch.Tensor, list[dict]]:
    """-> the pictures, (n, 4, C, H, W), their outlines, (n, H, W), and of each the object, background and texture.

    Args:
        preprocess: to images of 224 x 224.
    """
    photos, inputs, masks = outlined(preprocess)
    everything = {name: preprocess(one.path)[0] for name, one in data.photographs().items()}
    draw = np.random.default_rng(0)
    made, about = [], []
    for i, one in enumerate(photos):
        cut, inside = shrunk(inputs[i], masks[i])
        backgrounds = [str(name) for name in draw.permutation([name for name in everything if name != one.name])]
        textures = draw.permutation([k for k in range(len(photos)) if k != i])
        for corner in range(CORNERS):
            background, k = backgrounds[corner], int(textures[corner])
            fillings = [
                cut,
                pieces(cut, inside, inside.shape, draw),
                pieces(inputs[k], ~masks[k], inside.shape, draw),
                cut[:, inside].mean(dim=1)[:, None, None].expand_as(cut),
            ]
            made.append(pasted(everything[background], fillings, inside, corner))
            about.append({"object": one.name, "background": background, "texture": photos[k].name, "corner": corner})
    return *(torch.stack(part) for part in zip(*made, strict=True)), about


def main() -> None:
    """Writes the table."""
    torch.set_num_threads(1)
    real = pretrained.load_run("vit-s14")
    grid = real.model.config.grid
    _, inputs, masks = outlined(real.preprocess)  # (objects, C, H, W), (objects, H, W)
    made, outlines, about = pictures(real.preprocess)
    versions = made.unbind(dim=1)  # four of (n, C, H, W)
    columns = {"middle": [score(middle(grid).expand(len(made), -1, -1), outlines)] * len(FILLINGS)}
    columns["colour"] = [score(colour(some, grid), outlines) for some in versions]
    nets = {"trained": real.model} | {f"random {i}": controls.random_weights(real.model, i) for i in range(6)}
    for name, net in nets.items():
        heads = best_on_others(score(class_rows(net, inputs), masks))  # (objects,)
        heads = heads.repeat_interleave(CORNERS)  # (n,)
        found = [score(class_rows(net, some), outlines) for some in versions]  # four of (n, L, h)
        columns[name] = [of_heads(one, heads) for one in found]
        if name == "trained":
            columns["head 5"] = [one[:, 11, 5] for one in found]
        print(name, [f"{one.mean():.3f}" for one in columns[name]], flush=True)
    lines = [
        one | {"filling": filling} | {name: f"{values[kind][i]:.4f}" for name, values in columns.items()}
        for i, one in enumerate(about)
        for kind, filling in enumerate(FILLINGS)
    ]
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
