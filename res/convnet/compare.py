"""ConvNet against ViT as the training set grows: the table and the figure of chapter 10.

    python res/convnet/compare.py --data data

trains on 500 to 50,000 images of CIFAR-10, about an hour and ten minutes on one core, and writes table.csv beside this
file, whole after every run, so that it can be stopped and started again. To begin afresh, delete table.csv.

Both networks have 119 thousand parameters and see the same images in the same number of epochs; the ConvNet's training
takes 1.2 to 1.5 times as long. The recipe is that of tiny-cifar but for the epochs and the average, which is left out.
Its optimiser, Muon, is made for the matrices of a Transformer; the ConvNet has AdamW, and for the comparison the ViT
has both. The small sets are the first images of the large ones. The seed rules initialisation, order and augmentation.
Nothing is chosen by a validation set: the accuracy is that of the last weights on the 10,000 test images.
"""

import argparse
import csv
import multiprocessing
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from vit_course import data, training
from vit_course._support.files.atomic import write_csv
from vit_course.config import ViTConfig
from vit_course.training.convnet import ConvNet
from vit_course.training.recipe import RECIPES, TrainingConfig
from vit_course.vit import ViT

TABLE = Path(__file__).with_name("table.csv")
RECIPE = TrainingConfig(**tomllib.loads((RECIPES / "tiny-cifar.toml").read_text(encoding="utf-8"))["training"])
# As many epochs as there is time for: fewer where an epoch is long.
EPOCHS = {500: 60, 1_000: 60, 2_500: 40, 5_000: 30, 10_000: 20, 50_000: 10}
SEEDS = {size: 2 if size <= 1_000 else 1 for size in EPOCHS}
CONTENDERS = {"ViT, AdamW": (ViT, "adamw"), "ViT, Muon": (ViT, "muon"), "ConvNet, AdamW": (ConvNet, "adamw")}


def images(folder: Path, size: int) -> data.Dataset:
    """CIFAR-10 with `size` training images in a fixed order; the validation set is a token, nothing uses it."""
    whole = data.cifar10(folder)
    joined = data.ImageSet(
        *(torch.cat([getattr(p, name) for p in (whole.train, whole.validation)]) for name in ("images", "labels"))
    )
    order = torch.from_numpy(np.random.RandomState(0).permutation(len(joined)))
    return replace(whole, train=joined[order[:size]], validation=joined[:1])


def run(job: tuple[Path, int, str, int]) -> dict:
    folder, size, contender, seed = job
    torch.set_num_threads(1)
    network, optimiser = CONTENDERS[contender]
    dataset = images(folder, size)
    data.seed_everything(seed)
    model = ViT(ViTConfig.preset("tiny-cifar")) if network is ViT else ConvNet()
    # Averaging over a thousand steps would still hold the first weights in the shortest runs.
    recipe = replace(RECIPE, epochs=EPOCHS[size], optimiser=optimiser, average=0.0, seed=seed)
    started = time.process_time()
    history = training.train(model, dataset, recipe, progress=False)
    seconds = time.process_time() - started
    return {
        "images": size,
        "contender": contender,
        "seed": seed,
        "epochs": recipe.epochs,
        "parameters": sum(p.numel() for p in model.parameters()),
        "train_accuracy": round(history[-1]["train_accuracy"], 4),
        "test_accuracy": round(training.evaluate(model, dataset.test, dataset)[1], 4),
        "processor_seconds": round(seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    rows = list(csv.DictReader(TABLE.read_text().splitlines())) if TABLE.exists() else []
    done = {(int(row["images"]), row["contender"], int(row["seed"])) for row in rows}
    jobs = [
        (options.data, size, contender, seed)
        for seed in range(2)
        for size in EPOCHS
        for contender in CONTENDERS
        if seed < SEEDS[size] and (size, contender, seed) not in done
    ]
    print(f"{len(done)} runs in the table, {len(jobs)} to do")
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap_unordered(run, jobs):
            rows.append(row)
            write_csv(TABLE, sorted(rows, key=lambda r: (int(r["images"]), r["contender"], int(r["seed"]))))
            print(f"{row['images']} images, {row['contender']}, seed {row['seed']}: {row['test_accuracy']:.1%}")


if __name__ == "__main__":
    main()
