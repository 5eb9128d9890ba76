"""Records what PyTorch's optimisers do while a learner's code trains, by a hook on each of their steps."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch.optim.optimizer import register_optimizer_step_post_hook


@dataclass
class Steps:
    """The recorded steps.

    Args:
        number: of steps.
        rates: the learning rate of each step, the largest where there are several.
    """

    number: int = 0
    rates: list[float] = field(default_factory=list)

    def record(self, optimiser, *_) -> None:
        """Records a step; called after each."""
        self.number += 1
        self.rates.append(max(float(group.get("lr", 0)) for group in optimiser.param_groups))


@contextlib.contextmanager
def watched_steps() -> Iterator[Steps]:
    """Yields a `Steps` that records the steps of all optimisers inside the `with` block."""
    steps = Steps()
    hook = register_optimizer_step_post_hook(steps.record)
    try:
        yield steps
    finally:
        hook.remove()
