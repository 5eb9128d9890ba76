"""The means of the explorable `stream`: python res/explorables/make_stream.py FOLDER (a minute on one core).

FOLDER holds `cifar-10-batches-py`, or is to hold it. Sends its 10,000 test images through `tiny-cifar`, its weights in
half precision as in the page, and keeps the mean of what each branch adds, token by token: for the class token and
for each of the 64 places. Only these means are stored, in stream.npz beside this file; stream.py of the package reads
it.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from vit_course import data
from vit_course.explorables.tiny_vit import tiny_vit


@torch.no_grad()
def main(folder: str) -> None:
    model, preprocess, _ = tiny_vit()
    images = data.cifar10(folder, download=False).test.images
    branches = [part for block in model.encoder.blocks for part in (block.attention, block.mlp)]
    sums = torch.zeros(len(branches), model.config.num_tokens, model.config.hidden_dim, dtype=torch.float64)

    def adding(total: torch.Tensor):
        def hook(_module, _inputs, output: torch.Tensor) -> None:  # what it returned would take the output's place
            total.add_(output.double().sum(dim=0))

        return hook

    for total, branch in zip(sums, branches, strict=True):
        branch.register_forward_hook(adding(total))
    for batch in images.split(500):
        model(preprocess.normalise(batch))
    means = (sums / len(images)).numpy().astype(np.float16)  # (2L, T, D)
    np.savez_compressed(Path(__file__).with_name("stream.npz"), means=means)


if __name__ == "__main__":
    main(*sys.argv[1:])
