"""AdamW or Muon, the learning-rate schedule, weight decay and gradient clipping."""

import math

import torch
from torch import nn

from vit_course.training.processes import Engine
from vit_course.training.recipe import TrainingConfig


def warmup_cosine(step: int, total_steps: int, warmup: float) -> float:
    """The share of the peak learning rate at `step`: a line from 0 up to 1, then half a cosine down to 0.

    Source: Loshchilov & Hutter 2016 (arXiv:1608.03983), Eq. 5, without restarts; Dosovitskiy et al. 2020, Table 3.
    """
    warmup_steps = max(1, round(warmup * total_steps))
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps)))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: the matrices of linear layers and convolutions decay, all other parameters do not.

    A bias or a norm's scale pulled towards 0 only loses its function; so does a position table.
    """
    matrices = {id(m.weight) for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))}
    decay = [p for p in model.parameters() if id(p) in matrices]
    rest = [p for p in model.parameters() if id(p) not in matrices]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def make_optimisers(model: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """AdamW for all parameters, or Muon for the hidden matrices and AdamW for what is left.

    Muon turns the momentum of a matrix into the nearest orthogonal one, so that a step changes all directions alike;
    its steps are scaled to the size of AdamW's, so that one learning rate serves both.
    """
    decay, rest = parameter_groups(model, config.weight_decay)
    # Muon is not meant for the last layer, or for weights that are not matrices, such as those of a convolution.
    linear = [m.weight for m in model.modules() if isinstance(m, nn.Linear) and m.weight.requires_grad]
    hidden = {id(weight) for weight in linear[:-1]}
    hidden = [p for p in decay["params"] if id(p) in hidden] if config.optimiser == "muon" else []
    taken = {id(p) for p in hidden}
    decay["params"] = [p for p in decay["params"] if id(p) not in taken]
    adamw = torch.optim.AdamW([decay, rest], betas=(0.9, float(config.beta2)))
    if not hidden:
        return [adamw]
    return [torch.optim.Muon(hidden, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"), adamw]


class Stepper:
    """The optimisers of a model as one: clears gradients, clips them, and makes a step.

    Args:
        model: whose parameters are trained.
        config: the recipe.

    `each` is the list of optimisers.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig):
        self.each, self.clip_norm = make_optimisers(model, config), config.clip_norm

    def prepared(self, model: nn.Module, engine: Engine, compiled: bool) -> nn.Module:
        """Returns the model to run: wrapped for several processes, compiled if asked for; it shares the weights."""
        replica, *self.each = engine.prepare(model, *self.each)
        return torch.compile(replica) if compiled else replica

    def zero_grad(self) -> None:
        """Clears the gradients of the last step."""
        for optimiser in self.each:
            optimiser.zero_grad()

    def clip(self, model: nn.Module) -> torch.Tensor:
        """Clips the gradient to a norm of at most `clip_norm` (0: no limit), and returns its norm before that."""
        if self.clip_norm:
            return nn.utils.clip_grad_norm_(model.parameters(), self.clip_norm)
        return nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])

    def step(self, rate: float) -> None:
        """Makes a step of each optimiser, at this learning rate."""
        for optimiser in self.each:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
