"""What a module of the encoder must do, whichever it is: for stack."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.slips import Known


def never_set(module: nn.Module) -> Known:
    """What the error says where the forward pass reads an attribute of this module that is not there."""
    sentence = "The forward pass uses an attribute that the constructor never set."
    return Known(rf"'{type(module).__name__}' object has no attribute", "never-set", sentence)


def trains(layer: nn.Module, x: torch.Tensor) -> None:
    """Raises `Wrong` unless a gradient reaches the tokens (B, T, D) and every parameter."""
    inputs = x.clone().requires_grad_()
    layer.zero_grad()
    out = feed(layer, inputs)
    if out.requires_grad:
        (out * torch.arange(out.numel()).view(out.shape)).sum().backward()
    if inputs.grad is None:
        raise Wrong("gradient-cut", "No gradient can pass through the module, so nothing before it could be trained.")
    if any(p.grad is None for p in layer.parameters() if p.requires_grad):
        raise Wrong("unused-parameters", "Some of the parameters have no part in the output.")


def set_norms(module: nn.Module, known, values: torch.Tensor) -> int:
    """Sets scales and shifts, all to the same D numbers: whatever is not a parameter of the modules in `known`.

    Returns how many numbers these are.
    """
    theirs = {id(p) for part in known for p in part.parameters()}
    rest = [p for p in module.parameters() if id(p) not in theirs]
    for parameter in rest:
        if parameter.ndim and parameter.shape[-1] == len(values):
            parameter.data = values.expand_as(parameter).clone()
    return sum(p.numel() for p in rest)
