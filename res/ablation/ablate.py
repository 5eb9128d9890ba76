"""Each ingredient of a training recipe switched off in turn, or a further one on: the tables of chapters 07 and 12.

    python res/ablation/ablate.py                      # shapes, five seeds: ten minutes on two cores
    python res/ablation/ablate.py cifar10 --data data  # recipe tiny-cifar, cut short: an hour and a half on two cores

Writes NAME.csv beside this file, whole after every run, so that it can be stopped and started again: runs that are in
the table are skipped. To begin afresh, delete the table.

A seed rules initialisation, order and augmentation; the images are the same in every run. The accuracy is that of the
validation set, because recipes are compared here; the test set stays unused. Each run has one thread, so on one
machine a table comes out the same each time; on another kind of processor single numbers differ a little.

Two ingredients have no switch in `TrainingConfig`: the cosine and the decay groups. For those the function is replaced
for the length of the run, in the module that calls it; the loop itself is always the package's.
"""

import argparse
import csv
import multiprocessing
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import torch

from vit_course import data, training
from vit_course._support.files.atomic import write_csv
from vit_course.config import ViTConfig
from vit_course.training.optimisers import parameter_groups
from vit_course.training.recipe import RECIPES, TrainingConfig
from vit_course.vit import ViT

COLUMNS = ("variant", "seed", "train_loss", "train_accuracy", "validation_loss", "validation_accuracy")


def warmup_constant(step: int, total_steps: int, warmup: float) -> float:
    """In place of `training.warmup_cosine`: the same warm-up, then the peak rate to the end."""
    return min(1.0, (step + 1) / max(1, round(warmup * total_steps)))


def decay_on_everything(model: torch.nn.Module, weight_decay: float) -> list[dict]:
    """In place of `training.parameter_groups`: biases, norms and positions decay too."""
    return [{**group, "weight_decay": weight_decay} for group in parameter_groups(model, weight_decay)]


@dataclass(frozen=True)
class Variant:
    """What differs from the full recipe.

    Args:
        recipe: fields of the recipe.
        dataset: fields of the `Dataset`.
        functions: {name, with the module that calls it: what takes its place}.
    """

    recipe: dict = field(default_factory=dict)
    dataset: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)


SWITCHED_OFF = {
    "no warm-up": Variant(recipe={"warmup": 0.0}),
    "no cosine": Variant(functions={"vit_course.training.loop.warmup_cosine": warmup_constant}),
    "decay on everything": Variant(functions={"vit_course.training.optimisers.parameter_groups": decay_on_everything}),
    "no decay": Variant(recipe={"weight_decay": 0.0}),
    "no augmentation": Variant(recipe={"padding": 0, "flip": False, "cutout": 0}),
    "no clipping": Variant(recipe={"clip_norm": 0.0}),
}


@dataclass(frozen=True)
class Study:
    """A recipe with its variants, and on how many seeds each is run."""

    dataset: Callable[[Path], data.Dataset]
    model: ViTConfig
    recipe: TrainingConfig
    seeds: int
    variants: dict[str, Variant]


def first(number: int, dataset: data.Dataset) -> data.Dataset:
    """-> the dataset with so many of its training images."""
    return replace(dataset, train=dataset.train[:number])


# The defaults of torchvision; 1 is what the paper of mixup takes for CIFAR-10 too (section 3.2).
RANDAUGMENT, MIXUP = {"randaugment": 9}, {"mixup": 1.0}
TINY = tomllib.loads((RECIPES / "tiny-cifar.toml").read_text(encoding="utf-8"))
STUDIES = {
    "shapes": Study(
        lambda _: data.shapes(2_000, 2_000, 1, image_size=24, noise=0.0, clutter=0),
        ViTConfig(24, 6, 5, hidden_dim=64, num_layers=2, num_heads=8, mlp_dim=256),
        TrainingConfig(
            epochs=24,
            batch_size=128,
            learning_rate=5e-3,
            warmup=0.1,
            weight_decay=0.05,
            label_smoothing=0.1,
            clip_norm=1.0,
            padding=2,
            flip=True,
        ),
        seeds=5,
        variants={
            "full recipe": Variant(),
            **SWITCHED_OFF,
            "no label smoothing": Variant(recipe={"label_smoothing": 0.0}),
            "no normalisation": Variant(dataset={"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}),
        },
    ),
    # 6 epochs on 20,000 images are one 37th of the recipe's steps; the average is shortened by as much.
    "cifar10": Study(
        lambda folder: first(20_000, data.cifar10(folder)),
        ViTConfig(32, num_classes=10, **TINY["model"]),
        replace(TrainingConfig(**TINY["training"]), epochs=6, average=0.963),
        seeds=3,
        variants={
            "full recipe": Variant(),
            "AdamW for all weights": Variant(recipe={"optimiser": "adamw"}),
            **SWITCHED_OFF,
            "no label smoothing": Variant(recipe={"label_smoothing": 0.0}),
            "no cutout": Variant(recipe={"cutout": 0}),
            "no averaging": Variant(recipe={"average": 0.0}),
            "float32": Variant(recipe={"precision": "float32"}),
            "with RandAugment": Variant(recipe=RANDAUGMENT),
            "with mixup": Variant(recipe=MIXUP),
            "with both": Variant(recipe=RANDAUGMENT | MIXUP),
        },
    ),
}


def run(job: tuple[str, Path, str, int]) -> dict:
    """(study, folder of the data, variant, seed) -> the last epoch's row of the training log."""
    name, folder, variant_name, seed = job
    torch.set_num_threads(1)
    study = STUDIES[name]
    variant = study.variants[variant_name]
    dataset = replace(study.dataset(folder), **variant.dataset)
    data.seed_everything(seed)
    model = ViT(study.model)
    with ExitStack() as stack:
        functions = variant.functions.items()
        replaced = [stack.enter_context(mock.patch(name, side_effect=instead)) for name, instead in functions]
        history = training.train(model, dataset, replace(study.recipe, seed=seed, **variant.recipe), progress=False)
    assert all(function.called for function in replaced), "the loop looks it up elsewhere"
    last = {"variant": variant_name, "seed": seed, **history[-1]}
    return {key: round(last[key], 4) if isinstance(last[key], float) else last[key] for key in COLUMNS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", default="shapes", choices=STUDIES)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    study, table = STUDIES[options.study], Path(__file__).with_name(f"{options.study}.csv")
    rows = list(csv.DictReader(table.read_text().splitlines())) if table.exists() else []
    done = {(row["variant"], int(row["seed"])) for row in rows}
    jobs = [(options.study, options.data, name, seed) for seed in range(study.seeds) for name in study.variants]
    missing = [job for job in jobs if job[2:] not in done]
    print(f"{len(done)} runs in the table, {len(missing)} to do")
    names = list(study.variants)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap_unordered(run, missing):
            rows.append(row)
            write_csv(table, sorted(rows, key=lambda r: (names.index(r["variant"]), int(r["seed"]))))
            print(f"{row['variant']}, seed {row['seed']}: validation accuracy {row['validation_accuracy']:.1%}")


if __name__ == "__main__":
    main()
