"""How much each head matters to the class token: a table of chapter 09.

    python res/evidence/heads.py

In each of the eight photographs with an outline, each of the 72 heads of vit-s14 is taken out, one at a time: its mean
over the tokens takes the place of its output. Written to heads.csv beside this file: one line for each head, layer by
layer, with its effect, by `effects` of vit_course.maps.

A minute on one core.
"""

from pathlib import Path

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv
from vit_course.maps import effects

TABLE = Path(__file__).with_name("heads.csv")


def main() -> None:
    run, lines = pretrained.load_run("vit-s14"), []
    for name, photograph in data.photographs().items():
        if photograph.polygons:
            image = run.preprocess(photograph.path)  # (1, C, H, W)
            found = effects(run.model, image, "heads", of="class token", progress=False).values  # (L, h)
            for layer, values in enumerate(found.tolist()):
                for head, value in enumerate(values):
                    lines.append({"photograph": name, "layer": layer, "head": head, "effect": f"{value:.6f}"})
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
