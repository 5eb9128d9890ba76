"""The patch tokens of the explorable `matcher`, made smaller: python res/explorables/make_matcher.py (seconds).

vit-s14 gives each of four photographs 16 x 16 patch tokens of 384 numbers. Each is brought to length 1, so that a
product is a cosine similarity, and keeps its coordinates along the 64 directions in which the 1,024 of them are
largest, in bytes of equal steps; nothing is subtracted first. The script prints what is lost. Writes matcher.npz beside
this file, with the photographs as the model saw them, as WebP; matcher.py of the package reads it.
"""

import io
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from vit_course import data, pretrained

NAMES = ("grace_hopper", "astronaut", "photographer", "cat")
DIRECTIONS, PATCHES = 64, 256


def best(tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(n, any) -> all cosine similarities (n, n), and the most similar patch in each photograph, (n, 4)."""
    unit = F.normalize(tokens, dim=1)
    found = unit @ unit.T
    return found, found.unflatten(1, (len(NAMES), PATCHES)).argmax(dim=2)


def main() -> None:
    """Makes the file, and says how far it is from the tokens themselves."""
    torch.set_num_threads(1)
    model, preprocess, _ = pretrained.load_run("vit-s14")
    photographs = data.photographs()
    x = torch.cat([preprocess(photographs[name].path) for name in NAMES])  # (4, C, H, W)
    with torch.no_grad():
        tokens = F.normalize(model.features(x)[:, 1:].flatten(0, 1).double(), dim=1)  # (4 * N, D)
    directions = torch.linalg.svd(tokens, full_matrices=False).Vh[:DIRECTIONS]  # (64, D)
    smaller = tokens @ directions.T  # (4 * N, 64)
    steps = smaller.abs().amax(dim=0) / 127  # (64,)
    kept = (smaller / steps).round()
    (exact, wanted), (found, given) = best(tokens), best(kept * steps)
    other = torch.arange(len(NAMES)).repeat_interleave(PATCHES)[:, None] != torch.arange(len(NAMES))  # (4 * N, 4)
    near = ((wanted // 16 - given // 16).abs() <= 1) & ((wanted % 16 - given % 16).abs() <= 1)
    off, same = (found - exact).abs(), (wanted == given)[other].double().mean()
    print(f"cosine similarities off by {off.mean():.3f} on average, by {off.max():.3f} at most")
    print(f"the same best match for {same:.0%}, the same or one beside it for {near[other].double().mean():.0%}")
    pictures = {}
    for name in NAMES:
        pixels = data.open_image(photographs[name].path, 224).permute(1, 2, 0).numpy()  # (H, W, C)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "WEBP", quality=72, method=6)
        pictures[name] = np.frombuffer(file.getvalue(), np.uint8)
        print(name, len(pictures[name]), "bytes")
    np.savez_compressed(
        Path(__file__).with_name("matcher.npz"),
        tokens=(kept + 128).to(torch.uint8).numpy(),
        steps=steps.float().numpy(),
        **pictures,
    )


if __name__ == "__main__":
    main()
