"""One run of `python -m vit_course train`: the data, the model, its training, and what is said and kept of it."""

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from vit_course import data, plots
from vit_course._support.files.atomic import write_atomically, write_json
from vit_course._support.files.weights import load_weights
from vit_course._support.inputs.rules import harmless
from vit_course.commands.console import say
from vit_course.config import ViTConfig
from vit_course.data.memory import need_memory
from vit_course.training.baseline import linear_baseline
from vit_course.training.checking import available_device
from vit_course.training.evaluation import evaluate, images_at_once
from vit_course.training.features import knn_accuracy
from vit_course.training.loop import train
from vit_course.training.masked import MaskedAutoencoder
from vit_course.training.objective import Objective
from vit_course.training.processes import engine_for
from vit_course.training.run_folder import add_names
from vit_course.training.self_distilled import SelfDistillation
from vit_course.training.supervised import Supervised
from vit_course.vit import ViT

if TYPE_CHECKING:
    from vit_course.commands.recipes import Recipe

BYTES_A_PARAMETER = 16  # in float32: the weight, its gradient and AdamW's two moments


def train_and_report(recipe: "Recipe", options) -> int:
    """Trains, evaluates the best weights on the test images and writes what was found; -> the exit code.

    Args:
        recipe: what to train, on what, and how.
        options: those flags that change nothing of the result: out, resume, device, accumulate, compiled, workers.
    """
    engine = engine_for(available_device(options.device))
    # One process downloads and unpacks, then one on each machine that does not see that one's disk; the others find it.
    with engine.main_process_first(), engine.local_main_process_first():
        dataset = data.from_recipe(recipe.data)
    objective = _new_objective(recipe, dataset, engine.device)
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


def _new_objective(recipe: "Recipe", dataset: data.Dataset, device: torch.device) -> Objective:
    config = ViTConfig(
        **recipe.model,
        image_size=dataset.image_size,
        in_channels=dataset.in_channels,
        num_classes=len(dataset.class_names) if recipe.objective == "supervised" else 0,
    )
    if device.type == "cpu":
        need_memory(
            BYTES_A_PARAMETER * config.num_parameters,
            f"{config.num_parameters:,} parameters with their gradients and moments",
            "make hidden_dim, mlp_dim or num_layers smaller",
        )
    data.seed_everything(recipe.training.seed)
    model = ViT(config)
    if recipe.objective == "supervised":
        return Supervised(model, dataset, recipe.training.label_smoothing).to(device)
    objective = MaskedAutoencoder if recipe.objective == "masked" else SelfDistillation
    return objective(model, **recipe.options).to(device)


def _announce(recipe: "Recipe", dataset: data.Dataset, objective: Objective, out: Path, num_processes: int) -> None:
    height, width = dataset.image_size
    say(f"{dataset.name}: {len(dataset.train)} training images of {height} x {width}")
    about = "" if recipe.objective == "supervised" else f"; objective: {recipe.objective}"
    say(f"model: {objective.model.config.num_parameters} parameters{about}; run folder {out}")
    if num_processes > 1:
        say(f"{num_processes} processes share each batch of {recipe.training.batch_size} images")


def _test(objective: Objective, dataset: data.Dataset, recipe: "Recipe", options, engine) -> dict:
    """What the best weights reach on the test images, and beside it the figure to beat."""
    model, (best, _) = objective.kept, load_weights(options.out / "best.safetensors")
    model.load_state_dict(best)
    at_once = images_at_once(dataset.test, recipe.training.batch_size, options.accumulate)
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
    supervised = "test_accuracy" in result
    what, kind = ("test accuracy", "accuracy") if supervised else ("accuracy of the 20 nearest neighbours", "loss")
    accuracy, compared = result["test_accuracy" if supervised else "knn_test_accuracy"], "a linear classifier"
    to_beat = result.get("linear_test_accuracy")
    if not supervised:
        compared, to_beat = "before training", result["untrained_knn_test_accuracy"]
    figure = plots.curves(
        {key: [row[key] for row in history] for key in (f"train_{kind}", f"validation_{kind}")},
        xlabel="epoch",
        ylabel=kind,
        title=f"{name}: {what} {accuracy:.3f}",
    )
    png = io.BytesIO()
    figure.savefig(png, dpi=100, metadata={"Software": None})
    write_atomically(out / "curves.png", png.getvalue())
    write_json(out / "result.json", result)
    say(f"{what} {accuracy:.3f}" + (f"; {compared}: {to_beat:.3f}" if to_beat is not None else ""))
