"""Records what PyTorch's optimisers do while a learner's code trains, by a hook on each of their steps."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook


@dataclass
class Steps:
    """The recorded steps.

    Args:
        number: of steps.
        without: how many of them found no gradient, or only zeros.
        rates: the learning rate of each step, the largest where there are several.
        moved: every parameter that an optimiser was given, by its identity.
    """

    number: int = 0
    without: int = 0
    rates: list[float] = field(default_factory=list)
    moved: dict[int, torch.Tensor] = field(default_factory=dict)

    def _see(self, optimiser, *_) -> None:
        groups = optimiser.param_groups
        parameters = [parameter for group in groups for parameter in group["params"]]
        self.number += 1
        self.without += not any(p.grad is not None and bool(p.grad.any()) for p in parameters)
        self.rates.append(max(float(group.get("lr", 0)) for group in groups))
        self.moved |= {id(parameter): parameter for parameter in parameters}

    def share_of(self, model: nn.Module) -> float:
        """The share of the model's numbers that some optimiser was given."""
        sizes = [(p.numel(), id(p) in self.moved) for p in model.parameters()]
        return sum(size for size, given in sizes if given) / max(1, sum(size for size, _ in sizes))


@contextlib.contextmanager
def watched_steps() -> Iterator[Steps]:
    """Yields a `Steps` that records the steps of all optimisers inside the `with` block."""
    seen = Steps()
    hook = register_optimizer_step_post_hook(seen._see)
    try:
        yield seen
    finally:
        hook.remove()
