"""What does pretraining buy where labels are few? The table of chapter 10.

    python res/few_labels/compare.py --data data

Ways to ten classes of CIFAR-10 from 100, 500 and 1,000 labelled images, three seeds each, written to table.csv
beside this file, whole after every run, so that it can be stopped and started again. To begin afresh, delete table.csv.
About an hour on one core.

- "linear head": vit-s14 stays as it is, images are enlarged to 98 pixels, and logistic regression (`fit_linear_head`)
  reads the class token after the last norm.
- "fine-tuned": that head, and then all 21.6 million weights trained on the same images; 500 images only. The learning
  rate, 2e-5, had 83.6 % on 1,500 of the images that are set apart for validation, 1e-5 had 83.1 %, one run each. 5e-5
  and 1e-4, tried before on 1,500 test images, had been worse than 75 %.
- "head on random weights" and "head on pixels": the controls, the same logistic regression on the class token of
  vit-s14 with the numbers of each tensor in a random order (one order, seed 0), and on the 3,072 pixels.
- "ViT from scratch" and "ConvNet from scratch": the 119 thousand parameters and the recipe of tiny-cifar, 60 epochs, at
  32 pixels, as in res/convnet.

The seed draws the labelled images, the same for all, and rules initialisation, order and augmentation. Nothing is
chosen by a validation set: the accuracy is that of the last weights on the 10,000 test images. Seconds are those of one
core; those of the linear head count its features of the training images too.
"""

import argparse
import csv
import time
import tomllib
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

from vit_course import data, pretrained, training
from vit_course._support.files.atomic import write_csv
from vit_course.config import ViTConfig
from vit_course.maps.controls import random_weights
from vit_course.training.convnet import ConvNet
from vit_course.training.recipe import RECIPES, TrainingConfig
from vit_course.vit import ViT

TABLE = Path(__file__).with_name("table.csv")
SIZES, SEEDS = (100, 500, 1000), (0, 1, 2)
PIXELS = 98  # 7 x 7 patches
TINY = TrainingConfig(**tomllib.loads((RECIPES / "tiny-cifar.toml").read_text(encoding="utf-8"))["training"])
# Averaging over a thousand steps would still hold the first weights in runs as short as these.
SCRATCH = replace(TINY, epochs=60, average=0.0)
FINE = TrainingConfig(
    epochs=8,
    batch_size=25,
    learning_rate=2e-5,
    warmup=0.1,
    weight_decay=0.05,
    flip=True,
    padding=8,
    precision="bfloat16",
)


def images(folder: Path, size: int, seed: int) -> data.Dataset:
    """CIFAR-10 with `size` training images that the seed draws; the validation set is a token, nothing uses it."""
    whole = data.cifar10(folder)
    drawn = np.random.RandomState(seed).permutation(len(whole.train))[:size]
    return replace(whole, train=whole.train[torch.from_numpy(drawn)], validation=whole.validation[:1])


class Pretrained:
    """The ways that begin with vit-s14, or with its numbers in a random order; test features are made once and kept."""

    def __init__(self, folder: Path, cache: Path, shuffled: bool = False):
        self.folder, self.cache = folder, cache.with_stem(cache.stem + ("_random" if shuffled else ""))
        self.model, self.preprocess, _ = pretrained.load_run("vit-s14", image_size=PIXELS)
        if shuffled:
            self.model = random_weights(self.model)

    def linear_head(self, size: int, seed: int) -> dict:
        dataset = images(self.folder, size, seed)
        started = time.process_time()
        head = self._head(dataset)
        seconds = time.process_time() - started
        logits = head(self._test_features(dataset))
        accuracy = (logits.argmax(dim=1) == dataset.test.labels).float().mean().item()
        return {"parameters": count(head), "epochs": 0, "test_accuracy": accuracy, "processor_seconds": seconds}

    def fine_tuned(self, size: int, seed: int) -> dict:
        dataset = images(self.folder, size, seed)
        started = time.process_time()
        model = pretrained.with_head(self.model, self._head(dataset))
        history = training.train(model, enlarged(dataset, self.preprocess), replace(FINE, seed=seed), progress=False)
        seconds = time.process_time() - started
        features = pretrained.class_tokens(model.eval(), self.preprocess, dataset.test.images, bfloat16=True)
        accuracy = (model.head(features).argmax(dim=1) == dataset.test.labels).float().mean().item()
        return {
            "parameters": count(model),
            "epochs": len(history),
            "test_accuracy": accuracy,
            "processor_seconds": seconds,
        }

    def _head(self, dataset: data.Dataset) -> torch.nn.Linear:
        features = pretrained.class_tokens(self.model, self.preprocess, dataset.train.images)
        return pretrained.fit_linear_head(features, dataset.train.labels)

    def _test_features(self, dataset: data.Dataset) -> torch.Tensor:
        if not self.cache.exists():
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            features = pretrained.class_tokens(self.model, self.preprocess, dataset.test.images)
            np.save(self.cache, features.numpy())
        return torch.from_numpy(np.load(self.cache))


def on_pixels(folder: Path, size: int, seed: int) -> dict:
    """The linear head with no network below it."""
    dataset = images(folder, size, seed)
    started = time.process_time()
    train, test = (dataset.normalise(part.images).flatten(1) for part in (dataset.train, dataset.test))  # (n, 3072)
    head = pretrained.fit_linear_head(train, dataset.train.labels)
    seconds = time.process_time() - started
    accuracy = (head(test).argmax(dim=1) == dataset.test.labels).float().mean().item()
    return {"parameters": count(head), "epochs": 0, "test_accuracy": accuracy, "processor_seconds": seconds}


def enlarged(dataset: data.Dataset, preprocess) -> data.Dataset:
    """The same training images at the size that the model takes, with its mean and deviation."""
    train, token = (
        data.ImageSet(functional.resize(part.images, [PIXELS, PIXELS], InterpolationMode.BICUBIC), part.labels)
        for part in (dataset.train, dataset.validation)
    )
    mean, std = preprocess.mean, preprocess.std
    return replace(dataset, train=train, validation=token, test=token, mean=mean, std=std)


def from_scratch(network: type, folder: Path, size: int, seed: int) -> dict:
    """A small network that has seen nothing but these images."""
    dataset = images(folder, size, seed)
    data.seed_everything(seed)
    model = ViT(ViTConfig.preset("tiny-cifar")) if network is ViT else ConvNet()
    recipe = replace(SCRATCH, optimiser="muon" if network is ViT else "adamw", seed=seed)
    started = time.process_time()
    history = training.train(model, dataset, recipe, progress=False)
    seconds = time.process_time() - started
    accuracy = training.evaluate(model, dataset.test, dataset)[1]
    return {
        "parameters": count(model),
        "epochs": len(history),
        "test_accuracy": accuracy,
        "processor_seconds": seconds,
    }


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def main() -> None:
    """Makes the rows that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    parser.add_argument("--cache", type=Path, default=Path("runs/few_labels/test_features.npy"))
    parser.add_argument("--only", help="one contender alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    published = Pretrained(options.data, options.cache)
    contenders = {
        "linear head": published.linear_head,
        "head on random weights": Pretrained(options.data, options.cache, shuffled=True).linear_head,
        "head on pixels": partial(on_pixels, options.data),
        "ViT from scratch": partial(from_scratch, ViT, options.data),
        "ConvNet from scratch": partial(from_scratch, ConvNet, options.data),
        "fine-tuned": published.fine_tuned,
    }
    rows = list(csv.DictReader(TABLE.read_text().splitlines())) if TABLE.exists() else []
    for contender, seed, size in product(contenders, SEEDS, SIZES):
        key = (str(size), contender, str(seed))
        done = {(row["images"], row["contender"], row["seed"]) for row in rows}
        if key in done or options.only not in (None, contender) or (contender == "fine-tuned" and size != 500):
            continue
        row = {"images": size, "contender": contender, "seed": seed, **contenders[contender](size, seed)}
        row |= {"test_accuracy": round(row["test_accuracy"], 4), "processor_seconds": round(row["processor_seconds"])}
        rows.append({name: str(value) for name, value in row.items()})
        write_csv(TABLE, sorted(rows, key=lambda r: (int(r["images"]), r["contender"], int(r["seed"]))))
        print(f"{size} images, {contender}, seed {seed}: {row['test_accuracy']:.1%}", flush=True)


if __name__ == "__main__":
    main()
