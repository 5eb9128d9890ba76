"""The control of chapter 11 for guesses of hidden patches: the best weighted sum of the visible numbers.

    python res/mae-cifar/linear_fill.py --data data   # five minutes on one core

Writes covariance.npy, (3, 3, 63, 63): for each two channels, and for each step from one pixel to another, from -31 to
31 rows and columns, the mean product of the two normalised values over the 45,000 training images of CIFAR-10. Pairs
that are far apart are rare in an image of 32 x 32, so a mean product is multiplied by 1 - step / 64 in each direction.

Then linear_fill.csv, with the errors on 500 validation images of the model, of the neighbours and of the weighted sums,
those of the two rules on the 110 crops for which the chapter trains a small model (five masks each), and those of the
weighted sums on the course's photographs, with 16, 32, 48 or 58 of their 64 patches hidden (five masks each).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from vit_course import data
from vit_course._support.files.atomic import write_csv

FOLDER, SIDE = Path(__file__).parent, 32
sys.path.append(str(FOLDER.parent / "experiments"))


def pixel_covariance(images: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W), normalised, H = W = 32 -> (C, C, 63, 63)"""
    total: torch.Tensor | float = 0.0
    for part in images.split(500):
        waves = torch.fft.rfft2(part.double(), s=(2 * SIDE, 2 * SIDE))  # (b, C, 64, 33)
        products = (waves[:, :, None].conj() * waves[:, None]).sum(dim=0)  # (C, C, 64, 33)
        total = total + torch.fft.irfft2(products, s=(2 * SIDE, 2 * SIDE))
    total = total.roll((SIDE - 1, SIDE - 1), dims=(2, 3))[:, :, :-1, :-1]  # from step -31 to 31
    step = torch.arange(1 - SIDE, SIDE).abs()
    pairs, near = SIDE - step, 1 - step / (2 * SIDE)
    return total / (len(images) * pairs[:, None] * pairs) * near[:, None] * near


def main() -> None:
    """Measures the covariance, then the errors, and writes both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="data", help="the folder that holds cifar-10-batches-py")
    cifar = data.cifar10(parser.parse_args().data, download=False)
    table = pixel_covariance(cifar.normalise(cifar.train.images))
    np.save(FOLDER / "covariance.npy", table.numpy().astype(np.float16))

    from chapter import defined_in  # beside the scripts of the experiments; it reads covariance.npy

    chapter = defined_in("11_without_labels")
    sets = {"CIFAR-10": (cifar.normalise(cifar.validation.images[:500]), 1), "crops": (chapter.held_out, 5)}
    rules, rows = (chapter.neighbours, chapter.linear), []
    for name, (images, masks) in sets.items():
        with torch.no_grad():
            found = chapter.errors(chapter.mae, images, range(masks), rules).mean(dim=0).tolist()
        for guess, error in zip(("model", "neighbours", "weighted sums"), found, strict=True):
            if (name, guess) != ("crops", "model"):  # that model saw other images, normalised in another way
                rows.append({"images": name, "guess": guess, "error": f"{error:.4f}"})
    for hide in (16, 32, 48, 58):
        chapter.mae.num_visible = 64 - hide
        with torch.no_grad():
            found = chapter.errors(chapter.mae, chapter.photographs, range(5), (chapter.linear,)).mean(dim=0)
        rows.append({"images": f"photographs, {hide} hidden", "guess": "weighted sums", "error": f"{found[1]:.4f}"})
    write_csv(FOLDER / "linear_fill.csv", rows)


if __name__ == "__main__":
    main()
