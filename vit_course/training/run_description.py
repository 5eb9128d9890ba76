"""Describes the model, recipe and data of a run in JSON values, which are compared when it is resumed."""

import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from torch import nn

from vit_course._support.inputs.rules import shown
from vit_course.data import Dataset, ImageFiles
from vit_course.training.objective import Objective
from vit_course.training.recipe import TrainingConfig
from vit_course.training.supervised import Supervised

SUPERVISED = {"objective": {"name": "supervised"}}  # the objective of a run that names none


def described(objective: Objective, dataset: Dataset, config: TrainingConfig) -> dict[str, dict]:
    """Returns {"model": ..., "recipe": ..., "data": ...}, each a dict; without labels also {"objective": ...}."""
    found = {"model": describe_model(objective.kept), "recipe": asdict(config), "data": describe_data(dataset)}
    if isinstance(objective, Supervised):
        return found
    return found | {"objective": {"name": objective.name, **objective.options}}


def describe_model(model: nn.Module) -> dict:
    """The config of a ViT; for any other model, its class and its layers as PyTorch prints them."""
    if hasattr(model, "config") and hasattr(model.config, "to_dict"):
        return model.config.to_dict()
    return {"class": type(model).__name__, "layers": str(model)}


def describe_data(dataset: Dataset) -> dict:
    """The properties by which one dataset is told from another."""
    known = {
        "training_images": len(dataset.train),
        "image_size": list(dataset.image_size),
        "class_names": list(dataset.class_names),
    }
    if isinstance(dataset.train, ImageFiles):  # not the mean, which changes if a file is damaged later
        names = ("/".join(Path(path).parts[-2:]) for path in dataset.train.paths)
        return known | {"checksum_of_file_names": zlib.crc32("\n".join(names).encode("utf-8", "surrogateescape"))}
    return known | {name: [float(value) for value in getattr(dataset, name)] for name in ("mean", "std")}


def check_the_same(path: Path, found: Mapping[str, Mapping], wanted: Mapping[str, Mapping]) -> None:
    """Raises a `ValueError` that names the first difference between the run of a file and this run.

    Args:
        path: of the file, for the message.
        found, wanted: of the two runs, from `described`, with `SUPERVISED` added if they name no objective.
    """
    for part, here in wanted.items():
        # A run older than a field of the recipe was trained with its default.
        before = asdict(TrainingConfig()) | found[part] if part == "recipe" else found[part]
        for name in {**here, **before}:
            if before.get(name) != here.get(name):
                raise ValueError(
                    f"{path} is from a run whose {part} has {name} {shown(before.get(name))}, but this run's has "
                    f"{shown(here.get(name))}: resume with the original settings, or name another folder"
                )
