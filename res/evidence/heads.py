"""How much each head matters to the class token: a table of chapter 09.

    python res/evidence/heads.py

In each photograph with an outline, each of the 72 heads of vit-s14 is taken out, one at a time, in four ways: the mean
over its tokens takes the place of its output, or zeros, its mean over all photographs of the course, or its output for
the next photograph. Written to heads.csv beside this file: one line for each head of each photograph, layer by layer,
with its effects, by `effects` of vit_course.maps.

Ten minutes on one core.
"""

from pathlib import Path

import torch
from scores import outlined

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv
from vit_course.maps import effects, mean_activations

TABLE = Path(__file__).with_name("heads.csv")


def main() -> None:
    torch.set_num_threads(1)
    run = pretrained.load_run("vit-s14")
    photos, images, _ = outlined(run.preprocess)  # (n, C, H, W)
    every = torch.cat([run.preprocess(one.path) for one in data.photographs().values()])
    means = mean_activations(run.model, every, ["heads"], progress=False)
    ways = {"token mean": "token mean", "zero": "zero", "mean of all": means, "another": images.roll(1, dims=0)}
    found = {}
    for name, by in ways.items():
        found[name] = effects(run.model, images, "heads", of="class token", by=by, progress=False).each  # (n, L, h)
        print(name, f"{found[name].mean():.4f}", flush=True)
    lines = [
        {"photograph": one.name, "layer": layer, "head": head}
        | {name: f"{values[i, layer, head]:.6f}" for name, values in found.items()}
        for i, one in enumerate(photos)
        for layer in range(12)
        for head in range(6)
    ]
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
