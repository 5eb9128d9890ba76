"""What the stored CIFAR-10 model answers to the 10,000 test photographs, and the photographs with its errors.

    python res/predictions/cifar10.py --data data            # draws predictions.png: downloads 170 MB the first time
    python res/predictions/cifar10.py --data data --table    # makes cifar10.csv beside this file anew

The photographs may not be passed on, so the repository holds the answers alone: for each test photograph, in the order
of the data set, its class, the model's class, and the probability that the model gives to that.
"""

import argparse
import csv
from pathlib import Path

import torch

from vit_course import data, plots, pretrained
from vit_course._support.files.atomic import write_csv

TABLE = Path(__file__).with_name("cifar10.csv")


def answers(dataset: data.Dataset, model: torch.nn.Module) -> list[dict]:
    """One row a test photograph: label, predicted, probability."""
    rows = []
    for indices in torch.arange(len(dataset.test)).split(500):
        batch = dataset.test[indices]
        with torch.no_grad():
            sure, predicted = model.eval()(dataset.normalise(batch.images)).softmax(dim=-1).max(dim=-1)
        for label, answer, share in zip(batch.labels.tolist(), predicted.tolist(), sure.tolist(), strict=True):
            rows.append({"label": label, "predicted": answer, "probability": f"{share:.3f}"})
    return rows


def draw(dataset: data.Dataset, out: Path) -> None:
    """Twelve photographs as they come, and the twelve errors that the model is surest of."""
    rows = list(csv.DictReader(TABLE.read_text().splitlines()))
    wrong = [i for i, row in enumerate(rows) if row["label"] != row["predicted"]]
    wrong.sort(key=lambda i: -float(rows[i]["probability"]))
    chosen = [*range(12), *wrong[:12]]
    shares = torch.zeros(len(chosen), len(dataset.class_names))
    for place, index in enumerate(chosen):
        shares[place, int(rows[index]["predicted"])] = float(rows[index]["probability"])
    shown = dataset.test[torch.tensor(chosen)]
    figure = plots.predictions(shown.images, shares, dataset.class_names, shown.labels)
    figure.savefig(out, dpi=110)
    print(f"{out}: the first 12 test photographs, then the 12 errors with the highest probability")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    parser.add_argument("--out", type=Path, default=Path("predictions.png"))
    parser.add_argument("--table", action="store_true", help="compute the answers anew")
    options = parser.parse_args()
    dataset = data.cifar10(options.data)
    if options.table:
        write_csv(TABLE, answers(dataset, pretrained.load_run("tiny-cifar").model))
    draw(dataset, options.out)


if __name__ == "__main__":
    main()
