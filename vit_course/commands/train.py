"""`python -m vit_course train`: the flags, and those checks of them that need no PyTorch."""

import argparse
import re
from dataclasses import MISSING
from pathlib import Path

from vit_course._support.inputs.source_names import SOURCES
from vit_course.commands.paths import check_checkpoint, path
from vit_course.commands.recipes import fields_of_a_recipe, known_recipes, read_recipe
from vit_course.config import ViTConfig
from vit_course.training.recipe import OBJECTIVES, TrainingConfig


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    train = commands.add_parser(
        "train",
        help="train a ViT from a recipe or flags",
        description="Trains a ViT and writes a run folder: config.json, log.csv, curves.png, result.json, "
        "best.safetensors (weights) and last.safetensors (to resume from). Flags override the recipe.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    train.add_argument("--recipe", help=f"one of {known_recipes()}, or the path of your own .toml file")
    train.add_argument(
        "--weights",
        default=None,
        help="start from these weights instead of random ones: any name that `explore --weights` takes. The model is "
        "that of the weights, with a new head, and images are normalised as they were for it; a recipe's [model] is "
        "not used",
    )
    train.add_argument("--out", type=path, help="the run folder (default: runs/ and the recipe's name)")
    train.add_argument("--resume", action="store_true", default=False, help="continue the run in the run folder")
    train.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 or mps")
    train.add_argument("--accumulate", type=int, default=1, help="parts that a batch is split into, to save memory")
    train.add_argument("--compiled", action="store_true", default=False, help="run the model through torch.compile")
    train.add_argument("--workers", type=int, default=0, help="processes that read images, with --on-disk")
    data = train.add_argument_group("data")
    data.add_argument("--data", help=f"{', '.join(SOURCES)}, or a folder with one sub-folder of images per class")
    data.add_argument(
        "--image-size", type=int, help="size of shapes and scenes, or size to which a folder's images are resized"
    )
    data.add_argument("--num-train", type=int, help="number of shapes or scenes to train on")
    data.add_argument("--on-disk", action="store_true", help="leave a folder's images on disk, to save memory")
    for group, config in (("model", ViTConfig), ("training", TrainingConfig)):
        section = train.add_argument_group(group)
        for name, field in fields_of_a_recipe(config).items():
            kind = {"action": argparse.BooleanOptionalAction} if field.type is bool else {"type": field.type}
            default = "" if field.default is MISSING else f"default {field.default}, "
            section.add_argument("--" + name.replace("_", "-"), **kind, help=f"{default}see {config.__name__}")
    section = train.add_argument_group("objective")
    section.add_argument("--objective", help=f"{', '.join(OBJECTIVES)} (default: supervised)")
    for objective, defaults in OBJECTIVES.items():
        for name, default in defaults.items():
            kind = {"action": argparse.BooleanOptionalAction} if type(default) is bool else {"type": type(default)}
            section.add_argument("--" + name.replace("_", "-"), **kind, help=f"default {default}, of {objective}")
    train.set_defaults(run=run)


def run(options) -> int:
    """Trains by the recipe and the flags, and writes the run folder; returns 0."""
    recipe = read_recipe(vars(options))
    if options.weights is not None:
        check_checkpoint(options.weights)
        _check_fits_weights(options, recipe.objective)
    _check_device(options.device)
    from vit_course.commands.training_run import train_and_report

    options.out = getattr(options, "out", Path("runs") / recipe.name)
    return train_and_report(recipe, options)


def _check_fits_weights(options, objective: str) -> None:
    if objective != "supervised":
        raise ValueError(f"--weights is for training with labels, but the objective is {objective}")
    if given := [name for name in fields_of_a_recipe(ViTConfig) if name in vars(options)]:
        raise ValueError(f"with --weights the model is that of {options.weights}: leave {', '.join(given)} out")


def _check_device(name: str) -> None:
    if not re.fullmatch(r"cpu(:0)?|cuda(:\d+)?|mps(:0)?", name):
        raise ValueError(f"device must be cpu, cuda, cuda:1 or mps, got {name!r}")
