"""Each ingredient of the training recipe switched off in turn, five seeds each: the table that chapter 07 shows.

    python res/ablation/ablate.py

takes five to ten minutes on two cores and writes table.csv beside this file, whole after every run, so that it can be
stopped and started again: runs that are in the table are skipped. To begin afresh, delete table.csv.

A seed rules initialisation, order and augmentation; the images are the same in every run. The accuracy is that of the
validation set, because recipes are compared here; the test set stays unused. Each run has one thread, so on one
machine the table comes out the same each time; on another kind of processor single numbers differ a little.

Two ingredients have no switch in `TrainingConfig`: the cosine and the decay groups. For those the function of that
name in `vit_course.training` is replaced for the length of the run; the loop itself is always the package's.
"""

import csv
import multiprocessing
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import torch

from vit_course import checkpoints, data, training
from vit_course.config import ViTConfig
from vit_course.vit import ViT

TABLE = Path(__file__).parent / "table.csv"
SEEDS = range(5)
PROCESSES = 2
COLUMNS = ("variant", "seed", "train_loss", "train_accuracy", "validation_loss", "validation_accuracy")

IMAGES = dict(num_train=2_000, num_validation=2_000, num_test=1, image_size=24, noise=0.0, clutter=0)
MODEL = ViTConfig(
    image_size=24, patch_size=6, num_classes=5, hidden_dim=64, num_layers=2, num_heads=8, mlp_dim=256
)  # fmt: skip
RECIPE = training.TrainingConfig(
    epochs=24,
    batch_size=128,
    learning_rate=5e-3,
    warmup=0.1,
    weight_decay=0.05,
    label_smoothing=0.1,
    clip_norm=1.0,
    padding=2,
    flip=True,
)


def warmup_constant(step: int, total_steps: int, warmup: float) -> float:
    """In place of `training.warmup_cosine`: the same warm-up, then the peak rate to the end."""
    return min(1.0, (step + 1) / max(1, round(warmup * total_steps)))


def one_group(model: torch.nn.Module, weight_decay: float) -> list[dict]:
    """In place of `training.parameter_groups`: every parameter decays, biases, norms and positions too."""
    return [{"params": list(model.parameters()), "weight_decay": weight_decay}]


@dataclass(frozen=True)
class Variant:
    """What differs from the full recipe.

    Args:
        recipe: fields of `RECIPE`.
        dataset: fields of the `Dataset`.
        functions: {name in `vit_course.training`: what takes its place}.
    """

    recipe: dict = field(default_factory=dict)
    dataset: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)


VARIANTS = {
    "full recipe": Variant(),
    "no warm-up": Variant(recipe={"warmup": 0.0}),
    "no cosine": Variant(functions={"warmup_cosine": warmup_constant}),
    "decay on everything": Variant(functions={"parameter_groups": one_group}),
    "no decay": Variant(recipe={"weight_decay": 0.0}),
    "no augmentation": Variant(recipe={"padding": 0, "flip": False}),
    "no label smoothing": Variant(recipe={"label_smoothing": 0.0}),
    "no clipping": Variant(recipe={"clip_norm": 0.0}),
    "no normalisation": Variant(dataset={"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}),
}


def run(job: tuple[str, int]) -> dict:
    """(variant, seed) -> the last epoch's row of the training log."""
    name, seed = job
    torch.set_num_threads(1)
    variant = VARIANTS[name]
    dataset = replace(data.shapes(**IMAGES), **variant.dataset)
    data.seed_everything(seed)
    model = ViT(MODEL)
    with ExitStack() as stack:
        for function, instead in variant.functions.items():
            stack.enter_context(mock.patch.object(training, function, instead))
        history = training.train(model, dataset, replace(RECIPE, seed=seed, **variant.recipe), progress=False)
    last = {"variant": name, "seed": seed, **history[-1]}
    return {key: round(last[key], 4) if isinstance(last[key], float) else last[key] for key in COLUMNS}


def read(path: Path = TABLE) -> list[dict]:
    """-> the rows of the table so far, values as text."""
    return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


def write(rows: list[dict], path: Path = TABLE) -> None:
    """Writes all rows, in the order of `VARIANTS` and seeds, whole or not at all."""
    names = list(VARIANTS)
    checkpoints.write_csv(path, sorted(rows, key=lambda row: (names.index(row["variant"]), int(row["seed"]))))


def main() -> None:
    rows = read()
    done = {(row["variant"], int(row["seed"])) for row in rows}
    missing = [(name, seed) for seed in SEEDS for name in VARIANTS if (name, seed) not in done]
    print(f"{len(done)} runs in the table, {len(missing)} to do")
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for row in pool.imap_unordered(run, missing):
            rows.append(row)
            write(rows)
            print(f"{row['variant']}, seed {row['seed']}: validation accuracy {row['validation_accuracy']:.1%}")


if __name__ == "__main__":
    main()
