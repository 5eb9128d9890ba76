"""Everything that a run needs to go on: weights, optimisers, random generators."""

from pathlib import Path

import torch
from torch import nn

from vit_course._support.files.records import naming
from vit_course._support.files.validated import check_like
from vit_course.training.objective import Objective
from vit_course.training.optimisers import Stepper
from vit_course.training.processes import Engine, device_of, dropout_states, restore_dropout

# What each optimiser keeps of a parameter; of one that never had a gradient nothing, and the state says so.
MOMENTS = {"AdamW": ("step", "exp_avg", "exp_avg_sq"), "Muon": ("momentum_buffer",)}
UNUSED = "unused"


class RunState:
    """The moving parts of a run, to be kept and put back as tensors.

    Args:
        objective: that is trained, with its model.
        average: the running average of its weights, or None.
        optimiser: its moments and step counts belong to the state.
        order: draws order and augmentation.
        engine: of the processes; dropout draws in each from a generator of its own.
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
        """-> the state by names such as "objective.model.head.bias", "optimiser.0.3.exp_avg" and "random.order".

        All processes take part: each has a row of "random.dropout".
        """
        kept = self._all_but_optimiser_and_dropout()
        for i, optimiser in enumerate(self.optimiser.each):
            states = optimiser.state_dict()["state"]
            for j, parameter in enumerate(_parameters(optimiser)):
                state = states.get(j) or ({UNUSED: torch.zeros(0)} if parameter.requires_grad else {})
                kept |= {f"optimiser.{i}.{j}.{key}": value for key, value in state.items()}
        kept["random.dropout"] = dropout_states(self.engine, self.device)
        return kept

    def restore(self, path: Path, tensors: dict[str, torch.Tensor], steps: int, exact: bool) -> None:
        """Puts back what `tensors` gave, all of it or, where something does not fit, nothing.

        Args:
            path: of the file that holds it, for the messages.
            tensors: the state.
            steps: how many the run has made.
            exact: whether each parameter changed in each of them.

        Raises:
            ValueError: naming the first part or tensor that is missing, left over or of another shape or type, the
                generator whose state is none, or the count of steps that is another.
        """
        parts: dict[str, dict[str, torch.Tensor]] = {}
        for key, tensor in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = tensor
        if set(parts) != {*self.modules, "optimiser", "random"}:
            needed = ", ".join((*self.modules, "optimiser", "random"))
            raise ValueError(f"{path} holds the parts {', '.join(sorted(parts))}, but this run needs {needed}")
        dropout = parts["random"].get("dropout")
        if dropout is None or dropout.ndim != 2 or not len(dropout) or dropout.dtype != torch.uint8:
            raise ValueError(f"{path} holds no table random.dropout of bytes, with a row for each process")
        with naming(path):
            check_like({key: tensor for key, tensor in tensors.items() if key != "random.dropout"}, self._like(tensors))
            _check_moments(tensors, steps, exact)
            _check_generator("random.order", parts["random"]["order"], self.order)
            for row in dropout:
                _check_generator("random.dropout", row, torch.Generator(self.device))
        for part, module in self.modules.items():
            module.load_state_dict(parts[part])
        for i, optimiser in enumerate(self.optimiser.each):
            states: dict[int, dict[str, torch.Tensor]] = {}
            for key, tensor in parts["optimiser"].items():
                which, j, name = key.split(".")
                if int(which) == i and name != UNUSED:
                    states.setdefault(int(j), {})[name] = tensor
            optimiser.load_state_dict({"state": states, "param_groups": optimiser.state_dict()["param_groups"]})
        self.order.set_state(parts["random"]["order"])
        restore_dropout(dropout, self.engine, self.device)

    def _like(self, found: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        # Tensors of the shapes and types that are needed of all but dropout, by name.
        like = self._all_but_optimiser_and_dropout()
        for i, optimiser in enumerate(self.optimiser.each):
            for j, parameter in enumerate(_parameters(optimiser)):
                place = f"optimiser.{i}.{j}."
                if place + UNUSED in found:
                    like[place + UNUSED] = torch.zeros(0)
                elif parameter.requires_grad:
                    for name in MOMENTS[type(optimiser).__name__]:
                        like[place + name] = torch.tensor(0.0) if name == "step" else parameter
        return like

    def _all_but_optimiser_and_dropout(self) -> dict[str, torch.Tensor]:
        weights = ((part, module.state_dict()) for part, module in self.modules.items())
        kept = {f"{part}.{key}": value for part, state in weights for key, value in state.items()}
        return kept | {"random.order": self.order.get_state()}


def _parameters(optimiser: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


def _check_moments(tensors: dict[str, torch.Tensor], steps: int, exact: bool) -> None:
    for key, tensor in tensors.items():
        counts = key == "average.n_averaged" or (key.startswith("optimiser.") and key.endswith(".step"))
        low = steps if exact or key == "average.n_averaged" else 1
        if counts and not (low <= tensor.item() <= steps and tensor.item() == int(tensor)):
            wanted = f"{steps}" if low == steps else f"a whole number from {low} to {steps}"
            raise ValueError(f"key {key!r} counts {tensor.item():g} steps, by its history the run has made {wanted}")
        if key.endswith(".exp_avg_sq") and key.startswith("optimiser.") and (tensor < 0).any():
            raise ValueError(
                f"key {key!r} is a mean of squares and holds {tensor.min().item():g}, but at least 0 is needed"
            )


def _check_generator(key: str, state: torch.Tensor, like: torch.Generator) -> None:
    if len(state) != len(like.get_state()):  # of another kind of device, where dropout draws anew
        return
    try:
        torch.Generator(like.device).set_state(state.clone())
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"key {key!r} is not a state of a random generator: {reason}") from error
