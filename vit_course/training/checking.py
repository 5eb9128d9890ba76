"""Checks before and during training: arguments, logits, NaN and infinity, a missing compiler."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import path_name, shown
from vit_course._support.inputs.tensors import check_module
from vit_course.data import Dataset, ImageFiles, Images
from vit_course.data.augment import check_padding
from vit_course.training.objective import Objective
from vit_course.training.processes import Engine
from vit_course.training.recipe import TrainingConfig


def check_fit(
    model: nn.Module, dataset: Dataset, config: TrainingConfig, run_dir: str | Path | None, resume: bool, **options
) -> None:
    """Raises a `TypeError` or `ValueError` if arguments of `train` have another type, or do not fit one another."""
    check_module("model", model)
    check_kind("dataset", dataset, Dataset)
    check_kind("config", config, TrainingConfig)
    if run_dir is not None:
        path_name("run_dir", run_dir)
    check_arguments(resume=resume, **options)
    if resume and run_dir is None:
        raise ValueError("resume=True needs the run_dir of the run to continue, got None")
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError(f"this {type(model).__name__} has no parameters to train, because none requires a gradient")
    check_padding(config.padding, dataset.image_size)
    if config.randaugment and dataset.in_channels not in (1, 3):
        raise ValueError(f"randaugment takes images of 1 or 3 channels, but {dataset.name} has {dataset.in_channels}")
    for name, does in (("mixup", "mixes"), ("label_smoothing", "smooths")):
        if (value := getattr(config, name)) and isinstance(model, Objective) and model.name != "supervised":
            raise ValueError(
                f"{name} {does} labels, but the objective {model.name} uses none: leave {name} at 0, got {value}"
            )
    for name in model.changes_meaning if isinstance(model, Objective) else ():
        if getattr(config, name):
            raise ValueError(
                f"{name} changes what is seen, so that captions would be false: with the objective {model.name} leave "
                f"it off, got {getattr(config, name)}"
            )
    if isinstance(model, Objective) and model.whole_batches and options["accumulate"] > 1:
        raise ValueError(
            f"the objective {model.name} compares all images of a batch, so a batch cannot be split: accumulate must "
            f"be 1, got {options['accumulate']}"
        )


def check_head(objective: Objective, engine: Engine) -> None:
    """Raises a `ValueError` if several processes would wait for gradients of a head that the objective does not use."""
    trained = (name for name, parameter in objective.model.named_parameters() if parameter.requires_grad)
    unused = next((name for name in trained if name.startswith(objective.unused)), None)
    if unused and engine.num_processes > 1:
        raise ValueError(
            f"the objective {objective.name} uses no head, but several processes need a gradient of every parameter: "
            f"build the ViT with num_classes=0 and representation_size=0, got one with {unused}"
        )


def check_kind(name: str, value: object, *kinds: type) -> None:
    """Raises a `TypeError` if a value has none of these types."""
    if not isinstance(value, kinds):
        words = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} must be {'an' if words[0] == 'I' else 'a'} {words}, got {type(value).__name__}")


def available_device(name: object) -> torch.device:
    """Returns the device of that name; raises a `ValueError` if this machine cannot compute on it."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].split(". ")[0]  # the rest is for those who build PyTorch
        raise ValueError(f"device {shown(name)} is not available here: {reason}") from error
    if device.type == "meta":
        raise ValueError("device 'meta' holds no numbers, so nothing can be trained there")
    return device


def check_logits(logits: torch.Tensor, images: torch.Tensor, name: str, classes: int) -> None:
    """Raises a `ValueError` if a model's output for B images is not (B, num_classes) with a logit for every class."""
    if not isinstance(logits, torch.Tensor):
        raise ValueError(f"the model must give a tensor (B, {classes}), got {type(logits).__name__}")
    if logits.ndim != 2 or len(logits) != len(images) or logits.shape[1] < classes:
        raise ValueError(
            f"the model gives shape {tuple(logits.shape)} for {len(images)} images, but {name} has {classes} "
            f"classes: ({len(images)}, {classes}) is needed"
        )


def check_still_finite(value: torch.Tensor, what: str, config: TrainingConfig) -> None:
    """Raises a `ValueError` if a value is NaN or infinite; `what` is the message, with `{}` for the value."""
    if not value.isfinite():
        raise ValueError(
            f"{what.format(value.item())}: a smaller learning_rate than {config.learning_rate} is needed; "
            "checkpoints of earlier epochs are kept"
        )


def none_read(images: Images, when: str) -> ValueError:
    """Makes the error for a part of a dataset of which not one image could be read."""
    such = f", such as {min(images.unreadable)}" if isinstance(images, ImageFiles) and images.unreadable else ""
    return ValueError(f"not one of {len(images)} images could be read in {when}{such}: is their disk still there?")


@contextmanager
def compile_errors(compiled: bool) -> Iterator[None]:
    """Turns the error of a missing compiler into a `ValueError` that says so."""
    try:
        yield
    except RuntimeError as error:
        if not compiled or not isinstance(error, torch._dynamo.exc.BackendCompilerFailed):
            raise
        raise ValueError(
            f"the model cannot be compiled ({str(error).splitlines()[0]}): compiled=True needs a C++ compiler; "
            "without compiling, training gives the same result and takes longer"
        ) from error
