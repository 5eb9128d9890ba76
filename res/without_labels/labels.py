"""What features that were learned without labels are good for: the tables of chapter 11.

    python res/without_labels/labels.py probe --data data      # about a quarter of an hour on one core
    python res/without_labels/labels.py finetune --data data   # about two hours on one core

CIFAR-10, with 100, 500, 1,000 or all 45,000 training labels, drawn three times, as many of each class; accuracy on the
10,000 test images. Every line is written as soon as it is known, and lines that are in the table are skipped.

- probe.csv: a linear classifier on features that stay as they are (class token next to the mean of the patch tokens,
  standardised): of mae-cifar, of dino-cifar, of the same network with random weights (three seeds), and of the pixels.
  The strength of its regularisation is chosen on the validation images from five, for each of them alike.
- finetune.csv: all weights trained, from mae-cifar, from dino-cifar and from scratch, by one recipe: 200 steps of
  64 images, and with all labels two epochs, 1,406 steps. `seconds` is the processor time.
"""

import argparse
import csv
import math
from dataclasses import replace
from pathlib import Path
from time import process_time

import torch

from vit_course import data, pretrained, training
from vit_course._support.files.atomic import write_csv
from vit_course.pretrained import fit_linear_head
from vit_course.training.features import features
from vit_course.vit import ViT

FOLDER = Path(__file__).parent
MODELS = {"masked": "mae-cifar", "self-distilled": "dino-cifar"}
LABELS, SEEDS = (100, 500, 1000, 45_000), (0, 1, 2)
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # C of scikit-learn
RECIPE = training.TrainingConfig(
    batch_size=64, learning_rate=1e-3, optimiser="muon", warmup=0.1, padding=4, flip=True, precision="bfloat16"
)


def drawn(labels: torch.Tensor, count: int, seed: int) -> torch.Tensor:
    """(n,) -> (count,): places of as many images of each class, drawn by chance."""
    if count >= len(labels):
        return torch.arange(len(labels))
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    return torch.cat([order[labels[order] == k][: count // 10] for k in range(10)])


def probed(known, checked, asked, count: int, seed: int) -> tuple[float, float]:
    """-> the strength that is best on the validation features, and the test accuracy with it."""
    chosen = drawn(known[1], count, seed)
    heads = {c: fit_linear_head(known[0][chosen], known[1][chosen], c) for c in STRENGTHS}
    share = {c: (head(checked[0]).argmax(dim=1) == checked[1]).double().mean().item() for c, head in heads.items()}
    best = max(share, key=share.get)
    return best, (heads[best](asked[0]).argmax(dim=1) == asked[1]).double().mean().item()


@torch.no_grad()
def all_features(name: str, cifar) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """-> features and labels of the training, validation and test images."""
    parts = (cifar.train, cifar.validation, cifar.test)
    if name == "pixels":
        return [(cifar.normalise(part.images).flatten(1), part.labels) for part in parts]
    if name.startswith("random"):
        data.seed_everything(int(name.split()[1]))
        model = ViT(pretrained.load("mae-cifar").config)
    else:
        model = pretrained.load(MODELS[name])
    return [features(model, part, cifar) for part in parts]


def probe(cifar, names: list[str]) -> None:
    """Writes probe.csv."""
    lines = _begun("probe.csv")
    for name in names:
        wanted = [(count, seed) for count in LABELS for seed in (SEEDS if count < 45_000 else SEEDS[:1])]
        done = {(int(line["labels"]), int(line["seed"])) for line in lines if line["start"] == name}
        wanted = [pair for pair in wanted if pair not in done]
        if not wanted:
            continue
        parts = all_features(name, cifar)
        for count, seed in wanted:
            strength, accuracy = probed(*parts, count, seed)
            line = {"start": name, "labels": count, "seed": seed, "strength": strength, "accuracy": accuracy}
            lines.append(line)
            print(line, flush=True)
            write_csv(FOLDER / "probe.csv", lines)


def finetune(cifar, names: list[str]) -> None:
    """Writes finetune.csv."""
    lines = _begun("finetune.csv")
    done = {(line["start"], int(line["labels"]), int(line["seed"])) for line in lines}
    for count in LABELS:
        for seed in SEEDS:
            for name in names:
                if (name, count, seed) in done:
                    continue
                start = process_time()
                accuracy = tuned(cifar, name, count, seed)
                line = {"start": name, "labels": count, "seed": seed, "accuracy": accuracy}
                lines.append(line | {"seconds": round(process_time() - start)})
                print(lines[-1], flush=True)
                write_csv(FOLDER / "finetune.csv", lines)


def tuned(cifar, name: str, count: int, seed: int) -> float:
    """-> the test accuracy after a training of all weights."""
    few = replace(cifar, train=cifar.train[drawn(cifar.train.labels, count, seed)])
    data.seed_everything(seed)
    source = pretrained.load(MODELS.get(name, "mae-cifar"))
    model = ViT(replace(source.config, num_classes=10))
    if name != "scratch":
        model.load_state_dict(source.state_dict(), strict=False)
    epochs = max(round(200 / math.ceil(count / RECIPE.batch_size)), 2)
    # Validation after each epoch would take longer than the training.
    few = replace(few, validation=cifar.validation[:64])
    training.train(model, few, replace(RECIPE, epochs=epochs, seed=seed), progress=False)
    return training.evaluate(model, cifar.test, cifar)[1]


def _begun(name: str) -> list[dict]:
    path = FOLDER / name
    return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


def main() -> None:
    """Writes the table that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("probe", "finetune"))
    parser.add_argument("--data", default="data", help="the folder that holds cifar-10-batches-py")
    parser.add_argument("--only", nargs="*", help="some of the features or starting weights; all by default")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cifar = data.cifar10(options.data, download=False)
    if options.table == "probe":
        probe(cifar, options.only or ["pixels", *(f"random {seed}" for seed in SEEDS), *MODELS])
    else:
        finetune(cifar, options.only or ["scratch", *MODELS])


if __name__ == "__main__":
    main()
