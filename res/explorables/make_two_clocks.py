"""The learned table of the explorable `two_clocks`, made smaller: python res/explorables/make_two_clocks.py (seconds).

The position table of vit-s14 has 1370 rows (the class token's, and 37 x 37 patches) of 384 numbers. Here each row keeps
its coordinates along the 48 directions in which the rows are largest, in bytes of equal steps. Nothing is subtracted
first, so a cosine similarity of two rows stays what it was but for what is lost; the script prints how much that is.
Writes two_clocks.npz beside this file; two_clocks.py of the package reads it.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from vit_course import pretrained
from vit_course.embeddings import interpolate_positions

DIRECTIONS = 48
GRID = (37, 37)


def similarities(table: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """(T, any) -> (N, N), of the patch rows of a table resized to a grid."""
    rows = F.normalize(interpolate_positions(table[None], GRID, grid)[0, 1:], dim=1)
    return rows @ rows.T


def main() -> None:
    """Makes the file, and says how far similarities are from those of the whole table."""
    table = pretrained.load("vit-s14", image_size=518).positions.table.detach()[0].double()  # (T, D)
    directions = torch.linalg.svd(table, full_matrices=False).Vh[:DIRECTIONS]  # (48, D)
    smaller = table @ directions.T  # (T, 48)
    steps = smaller.abs().amax(dim=0) / 127  # (48,)
    kept = (smaller / steps).round()
    for grid in ((16, 16), (16, 24)):
        off = (similarities(kept * steps, grid) - similarities(table, grid)).abs()
        print(f"{grid}: cosine similarities off by {off.mean():.3f} on average, by {off.max():.3f} at most")
    np.savez_compressed(
        Path(__file__).with_name("two_clocks.npz"),
        table=(kept + 128).to(torch.uint8).numpy(),
        steps=steps.float().numpy(),
    )


if __name__ == "__main__":
    main()
