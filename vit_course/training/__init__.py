"""Training: the loop, and around it the recipe, the schedule, the optimisers, the run folder and the processes.

Each name is imported when it is first used, so that the command line can read a recipe without PyTorch.
"""

import importlib

from vit_course._support.inputs.extras import extra

_FOUND_IN = {
    "Contrastive": "contrastive",
    "ConvNet": "convnet",
    "MaskedAutoencoder": "masked",
    "RECIPES": "recipe",
    "SelfDistillation": "self_distilled",
    "TrainingConfig": "recipe",
    "evaluate": "evaluation",
    "linear_baseline": "baseline",
    "load_objective": "objective_from_run",
    "load_weights": "run_folder",
    "parameter_groups": "optimisers",
    "train": "loop",
    "warmup_cosine": "optimisers",
}
__all__ = sorted(_FOUND_IN)


def __getattr__(name: str):
    if name not in _FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with extra("train", "training"):
        return getattr(importlib.import_module(f"{__name__}.{_FOUND_IN[name]}"), name)


def __dir__() -> list[str]:
    return __all__
