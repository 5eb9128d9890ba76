"""One run of `python -m vit_course train`: loads the data, trains the model, prints and stores the results."""

import io
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from vit_course import data, plots
from vit_course._support.files.atomic import write_atomically, write_json
from vit_course._support.files.weights import load_weights
from vit_course._support.inputs.rules import harmless
from vit_course._support.inputs.source_names import SOURCES
from vit_course.commands.console import say
from vit_course.config import ViTConfig
from vit_course.data.memory import check_memory
from vit_course.pretrained import Pretrained, load_run, resize, with_head
from vit_course.training.baseline import linear_baseline
from vit_course.training.checking import available_device
from vit_course.training.contrastive import Contrastive, retrieval_accuracy
from vit_course.training.evaluation import evaluate, images_at_once
from vit_course.training.features import knn_accuracy
from vit_course.training.loop import train
from vit_course.training.objective import Objective
from vit_course.training.objective_from_run import KINDS
from vit_course.training.processes import engine_for
from vit_course.training.run_folder import add_names
from vit_course.training.supervised import Supervised
from vit_course.vit import ViT

if TYPE_CHECKING:
    from vit_course.commands.recipes import Recipe

BYTES_A_PARAMETER = 16  # in float32: the weight, its gradient and AdamW's two moments


# What each kind of objective is judged by: its name, the column of the log that is drawn, and what it is compared with.
REPORTED = {
    "test_accuracy": ("test accuracy", "accuracy", "a linear classifier", "linear_test_accuracy"),
    "knn_test_accuracy": (
        "accuracy of the 20 nearest neighbours", "loss", "before training", "untrained_knn_test_accuracy",
    ),
    "retrieval_test_accuracy": (
        "share of captions that are true of the image found", "loss", "by chance", "retrieval_by_chance",
    ),
}  # fmt: skip


def train_and_report(recipe: "Recipe", options) -> int:
    """Trains, evaluates the best weights on the test images, writes the results; returns the exit code.

    Args:
        recipe: what to train, on what, and how.
        options: the weights to start from, or None, and the flags that do not change the result: out, resume, device,
            accumulate, compiled, workers.
    """
    engine = engine_for(available_device(options.device))
    # The main process downloads and unpacks first, then one process on each machine, which may have a disk of its own;
    # the others find the data there.
    with engine.main_process_first(), engine.local_main_process_first():
        start = None if options.weights is None else load_run(options.weights)
        dataset = data.from_recipe(recipe.data if start is None else _with_size_of(start, recipe.data))
    if start is not None:
        dataset = _normalised_as(start, dataset)
    objective = _new_objective(recipe, dataset, engine.device, start)
    if engine.is_main_process:
        _announce(recipe, dataset, objective, options.out, engine.num_processes)
    started = time.perf_counter()
    try:
        history = train(
            objective,
            dataset,
            recipe.training,
            run_dir=options.out,
            resume=options.resume,
            accumulate=options.accumulate,
            compiled=options.compiled,
            workers=options.workers,
        )
    except KeyboardInterrupt as interrupt:
        again = f"the same command with --resume continues from the last complete epoch in {options.out}"
        raise KeyboardInterrupt(harmless(again)) from interrupt
    seconds = round(time.perf_counter() - started)
    result = _test(objective, dataset, recipe, options, engine)
    if not options.resume:
        result["training_seconds"] = seconds
    unreadable = data.unreadable(dataset, engine)
    engine.end_training()
    if engine.is_main_process:
        _keep(options.out, recipe.name, history, result, unreadable)
    return 0


def _with_size_of(start: Pretrained, values: dict) -> dict:
    # Where the size of the images is free and not given, it is that of the images of the weights.
    free = values["source"] == "shapes" or values["source"] not in SOURCES
    return {"image_size": list(start.model.config.height_width), **values} if free else values


def _normalised_as(start: Pretrained, dataset: data.Dataset) -> data.Dataset:
    channels = start.model.config.in_channels
    if channels != dataset.in_channels:
        raise ValueError(
            f"the weights take images of {channels} channels, but those of {dataset.name} have {dataset.in_channels}"
        )
    return replace(dataset, mean=start.preprocess.mean, std=start.preprocess.std)


def _new_objective(
    recipe: "Recipe", dataset: data.Dataset, device: torch.device, start: Pretrained | None
) -> Objective:
    if start is not None:
        config = start.model.config
    else:
        config = ViTConfig(
            **recipe.model,
            image_size=dataset.image_size,
            in_channels=dataset.in_channels,
            num_classes=len(dataset.class_names) if recipe.objective == "supervised" else 0,
        )
    if device.type == "cpu":
        check_memory(
            BYTES_A_PARAMETER * config.num_parameters,
            f"{config.num_parameters:,} parameters with their gradients and moments",
            "make hidden_dim, mlp_dim or num_layers smaller",
        )
    data.seed_everything(recipe.training.seed)
    model = ViT(config) if start is None else _with_new_head(start.model, dataset)
    if recipe.objective == "supervised":
        return Supervised(model, dataset, recipe.training.label_smoothing).to(device)
    return KINDS[recipe.objective](model, **recipe.options).to(device)


def _with_new_head(model: ViT, dataset: data.Dataset) -> ViT:
    """The model for the size and the classes of the images; its head is 0 (Dosovitskiy et al. 2020, section 3.2)."""
    head = torch.nn.Linear(model.config.representation_size or model.config.hidden_dim, len(dataset.class_names))
    for parameter in head.parameters():
        torch.nn.init.zeros_(parameter)
    return with_head(resize(model, dataset.image_size), head)


def _announce(recipe: "Recipe", dataset: data.Dataset, objective: Objective, out: Path, num_processes: int) -> None:
    height, width = dataset.image_size
    say(f"{dataset.name}: {len(dataset.train)} training images of {height} x {width}")
    about = "" if recipe.objective == "supervised" else f"; objective: {recipe.objective}"
    say(f"model: {objective.model.config.num_parameters} parameters{about}; run folder {out}")
    if num_processes > 1:
        say(f"{num_processes} processes share each batch of {recipe.training.batch_size} images")


def _test(objective: Objective, dataset: data.Dataset, recipe: "Recipe", options, engine) -> dict:
    """Returns the test accuracy of the best weights, and the baseline to beat."""
    model, (best, _) = objective.kept, load_weights(options.out / "best.safetensors")
    model.load_state_dict(best)
    at_once = images_at_once(dataset.test, recipe.training.batch_size, options.accumulate)
    if isinstance(objective, Contrastive):
        objective.eval()
        accuracy, chance = retrieval_accuracy(objective, dataset.test, dataset, at_once)
        return {"retrieval_test_accuracy": accuracy, "retrieval_by_chance": chance}
    if recipe.objective != "supervised":
        accuracy = knn_accuracy(model, dataset, at_once, options.workers)
        data.seed_everything(recipe.training.seed)
        untrained = knn_accuracy(ViT(model.config).to(engine.device), dataset, at_once, options.workers)
        return {"knn_test_accuracy": accuracy, "untrained_knn_test_accuracy": untrained}
    _, accuracy = evaluate(model, dataset.test, dataset, at_once, engine=engine, workers=options.workers)
    result = {"test_accuracy": accuracy}
    if not recipe.data.get("on_disk"):  # ten more times through all files would take too long
        result["linear_test_accuracy"] = linear_baseline(dataset, device=engine.device)
    return result


def _keep(out: Path, name: str, history: list[dict], result: dict, unreadable: list[str]) -> None:
    if unreadable := add_names(out / "unreadable.txt", unreadable):
        say(f"{len(unreadable)} files could not be read and were left out, such as {unreadable[0]}: unreadable.txt")
    measured = next(name for name in REPORTED if name in result)
    what, kind, compared, to_beat = REPORTED[measured]
    accuracy, to_beat = result[measured], result.get(to_beat)
    write_json(out / "result.json", result)
    say(f"{what} {accuracy:.3f}" + (f"; {compared}: {to_beat:.3f}" if to_beat is not None else ""))
    figure = plots.curves(
        {key: [row[key] for row in history] for key in (f"train_{kind}", f"validation_{kind}")},
        xlabel="epoch",
        ylabel=kind,
        title=f"{name}: {what} {accuracy:.3f}",
    )
    png = io.BytesIO()
    figure.savefig(png, dpi=100, metadata={"Software": None})
    write_atomically(out / "curves.png", png.getvalue())
