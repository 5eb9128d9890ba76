"""What does a head on random weights tell of the drawn shapes? The control of chapter 10's few labels.

    python res/few_labels/random_orders.py

Five times: the numbers of each tensor of vit-s14 are put into a random order, the class tokens of 300 shapes are
computed at 70 pixels, and a linear head is fitted to 25, 50, 100 and 200 labels, drawn as in the chapter. Written to
random_orders.csv beside this file, with the share of the 100 test images that are classified correctly.

About a minute on one core, which is why the chapter reads the table.
"""

from pathlib import Path

import torch

from vit_course import data, pretrained
from vit_course.files.atomic import write_csv
from vit_course.maps.controls import random_weights

TABLE = Path(__file__).with_name("random_orders.csv")
LABELS, SEEDS = (25, 50, 100, 200), range(5)


def main() -> None:
    """Writes the table."""
    torch.set_num_threads(1)
    shapes = data.shapes()
    train, test = shapes.train[:200], shapes.test[:100]
    known = pretrained.load_run("vit-s14", image_size=70)  # 5 x 5 patches
    lines = []
    for seed in SEEDS:
        model = random_weights(known.model, seed)
        a, b = (pretrained.class_tokens(model, known.preprocess, part.images) for part in (train, test))
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))
        for labels in LABELS:
            drawn = order[:labels]
            head = pretrained.fit_linear_head(a[drawn], train.labels[drawn])
            right = (head(b).argmax(dim=1) == test.labels).float().mean().item()
            lines.append({"labels": labels, "seed": seed, "accuracy": f"{right:.2f}"})
        print(lines[-len(LABELS) :], flush=True)
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
