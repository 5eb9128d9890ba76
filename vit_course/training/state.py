"""Everything that a run needs to go on: weights, optimisers, random generators."""

from pathlib import Path

import torch
from torch import nn

from vit_course.files.records import naming
from vit_course.files.validated import check_shapes
from vit_course.training.optimisers import Stepper
from vit_course.training.processes import Engine, device_of, dropout_states, restore_dropout


class RunState:
    """The moving parts of a run, to be kept and put back as tensors.

    Args:
        model: that is trained.
        average: the running average of its weights, or None.
        optimiser: its moments and step counts belong to the state.
        order: draws order and augmentation.
        engine: of the processes; dropout draws in each from a generator of its own.
    """

    def __init__(
        self, model: nn.Module, average: nn.Module | None, optimiser: Stepper, order: torch.Generator, engine: Engine
    ):
        self.modules = {"model": model} | ({} if average is None else {"average": average})
        self.optimiser, self.order, self.engine = optimiser, order, engine
        self.device = device_of(model)

    def tensors(self) -> dict[str, torch.Tensor]:
        """-> the state by names such as "model.head.bias", "optimiser.0.3.exp_avg" and "random.order".

        All processes take part: each has a row of "random.dropout".
        """
        kept = self._all_but_optimiser_and_dropout()
        for i, optimiser in enumerate(self.optimiser.each):
            for j, state in optimiser.state_dict()["state"].items():
                kept |= {f"optimiser.{i}.{j}.{key}": value for key, value in state.items()}
        kept["random.dropout"] = dropout_states(self.engine, self.device)
        return kept

    def restore(self, path: Path, tensors: dict[str, torch.Tensor]) -> None:
        """Puts back what `tensors` gave, all of it or, where something does not fit, nothing.

        Args:
            path: of the file that holds it, for the messages.
            tensors: the state.

        Raises:
            ValueError: naming the first part or tensor that is missing, left over or of another shape.
        """
        parts: dict[str, dict[str, torch.Tensor]] = {}
        for key, tensor in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = tensor
        if set(parts) != {*self.modules, "optimiser", "random"}:
            needed = ", ".join((*self.modules, "optimiser", "random"))
            raise ValueError(f"{path} holds the parts {', '.join(sorted(parts))}, this run needs {needed}")
        dropout = parts["random"].get("dropout")
        if dropout is None or dropout.ndim != 2 or not len(dropout):
            raise ValueError(f"{path} holds no table random.dropout, with a row for each process")
        with naming(path):
            needed = {key: value.shape for key, value in self._all_but_optimiser_and_dropout().items()}
            apart = [f"optimiser.{name}" for name in parts["optimiser"]] + ["random.dropout"]
            check_shapes({key: tensor for key, tensor in tensors.items() if key not in apart}, needed)
            states = self._optimiser_states(parts["optimiser"])
        for part, module in self.modules.items():
            module.load_state_dict(parts[part])
        for optimiser, state in zip(self.optimiser.each, states, strict=True):
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        self.order.set_state(parts["random"]["order"])
        restore_dropout(dropout, self.engine, self.device)

    def _all_but_optimiser_and_dropout(self) -> dict[str, torch.Tensor]:
        weights = ((part, module.state_dict()) for part, module in self.modules.items())
        kept = {f"{part}.{key}": value for part, state in weights for key, value in state.items()}
        return kept | {"random.order": self.order.get_state()}

    def _optimiser_states(self, tensors: dict[str, torch.Tensor]) -> list[dict[int, dict]]:
        # Of each optimiser, of each of its parameters in their order: a step count or numbers of the parameter's shape.
        parameters = [[p for group in each.param_groups for p in group["params"]] for each in self.optimiser.each]
        states: list[dict[int, dict]] = [{} for _ in parameters]
        for key, tensor in tensors.items():
            try:
                i, j, name = key.split(".")
                parameter = parameters[int(i)][int(j)]
            except (ValueError, IndexError):
                raise ValueError(f"key 'optimiser.{key}' is left over: this run has no such parameter") from None
            if tensor.ndim and tensor.shape != parameter.shape:
                raise ValueError(
                    f"key 'optimiser.{key}' has shape {tuple(tensor.shape)}, {tuple(parameter.shape)} is needed"
                )
            states[int(i)].setdefault(int(j), {})[name] = tensor
        return states
