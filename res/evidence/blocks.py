"""How much each block of patches matters to the class token: the table of chapter 09.

    python res/evidence/blocks.py

In each photograph with an outline, each of the 16 blocks of 4 x 4 patches is hidden in all layers of
vit-s14, one at a time. Written to blocks.csv beside this file: one line for each block, row by row, with its effect, by
`effects` of vit_course.maps.

A minute on one core.
"""

from pathlib import Path

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv
from vit_course.maps import effects

TABLE = Path(__file__).with_name("blocks.csv")


def main() -> None:
    run, lines = pretrained.load_run("vit-s14"), []
    for name, photograph in data.photographs().items():
        if photograph.polygons:
            image = run.preprocess(photograph.path)  # (1, C, H, W)
            found = effects(run.model, image, "patches", of="class token", block=4, progress=False).values
            for row, values in enumerate(found.tolist()):
                for column, value in enumerate(values):
                    lines.append({"photograph": name, "row": row, "column": column, "effect": f"{value:.6f}"})
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
