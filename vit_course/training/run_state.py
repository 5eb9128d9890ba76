"""Everything that is needed to resume a run: weights, optimisers, random generators."""

import re
from pathlib import Path

import torch
from torch import nn

from vit_course._support.files.check_tensors import check_like
from vit_course._support.files.json_files import naming
from vit_course.training.objective import Objective
from vit_course.training.optimisers import Stepper
from vit_course.training.processes import Engine, device_of, dropout_states, restore_dropout


class RunState:
    """The changing parts of a run, saved and restored as tensors.

    Args:
        objective: the objective that is trained, with its model.
        average: the running average of its weights, or None.
        optimiser: its moments and step counts belong to the state.
        order: the generator that draws order and augmentation.
        engine: from `engine_for`; in each process, dropout draws from a generator of its own.
    """

    def __init__(
        self,
        objective: Objective,
        average: nn.Module | None,
        optimiser: Stepper,
        order: torch.Generator,
        engine: Engine,
    ):
        self.modules = {"objective": objective} | ({} if average is None else {"average": average})
        self.validated = objective if average is None else average.module
        self.optimiser, self.order, self.engine = optimiser, order, engine
        self.device = device_of(objective)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Returns the state by names such as "objective.model.head.bias", "optimiser.0.3.exp_avg" and "random.order".

        All processes must call this: each gives a row of "random.dropout".
        """
        kept = self._weights()
        for i, optimiser in enumerate(self.optimiser.each):
            for j, state in optimiser.state_dict()["state"].items():
                kept |= {f"optimiser.{i}.{j}.{key}": value for key, value in state.items()}
        return kept | {
            "random.order": self.order.get_state(),
            "random.dropout": dropout_states(self.engine, self.device),
        }

    def restore(self, path: Path, tensors: dict[str, torch.Tensor]) -> None:
        """Restores what `tensors` returned; also a state of version 1.0.0, which had no objectives yet.

        Args:
            path: of the state's file, for the error message.
            tensors: the complete state; its checksum has been verified.

        Raises:
            ValueError: weights of another model than this run's, before anything is changed.
        """
        if any(key.startswith("model.") for key in tensors):
            tensors = {_named_as_now(key): tensor for key, tensor in tensors.items()}
        weights = {key: tensor for key, tensor in tensors.items() if not key.startswith(("optimiser.", "random."))}
        with naming(path):
            check_like(weights, self._weights())
        for part, module in self.modules.items():
            module.load_state_dict(_below(f"{part}.", tensors))
        for i, optimiser in enumerate(self.optimiser.each):
            moments: dict[int, dict[str, torch.Tensor]] = {}
            for key, tensor in _below(f"optimiser.{i}.", tensors).items():
                number, name = key.split(".")
                moments.setdefault(int(number), {})[name] = tensor
            optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
        self.order.set_state(tensors["random.order"])
        restore_dropout(tensors["random.dropout"], self.engine, self.device)

    def _weights(self) -> dict[str, torch.Tensor]:
        each = ((part, module.state_dict()) for part, module in self.modules.items())
        return {f"{part}.{key}": value for part, state in each for key, value in state.items()}


def _below(place: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {key.removeprefix(place): tensor for key, tensor in tensors.items() if key.startswith(place)}


def _named_as_now(key: str) -> str:
    # Version 1.0.0 trained a bare model; now the model is part of an objective.
    key = re.sub(r"^average\.module\.", "average.module.model.", key)
    return re.sub(r"^model\.", "objective.model.", key)
