"""Puts weights into a learner's module by the names that its stub fixes, and compares what it then computes."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, by_results
from vit_course.checks.tools.modules import alone, feed, feed_any_batch, repeats, scatter, trained_by
from vit_course.checks.tools.tensors import agree

UNEXPLAINED = ("wrong-values", "batch-of-several", "hard-coded-size", "some-numbers", "axis-of-one")
_SHOWN = 6  # names in a line; a whole model has dozens


def same_module(
    module: nn.Module,
    weights: Mapping[str, torch.Tensor],
    references: Sequence[Callable],
    inputs: Sequence[torch.Tensor],
    mistakes: Sequence[Mistake],
    axes: str,
    draw,
    through: bool = True,
) -> None:
    """Raises `Wrong` unless the module, with these weights and in eval mode, gives what a reference gives.

    Args:
        module: the learner's, as it was built.
        weights: by the names that the stub fixes.
        references: the right functions of one input; the module may agree with any of them.
        inputs: of several sizes.
        mistakes: wrong functions of one input.
        axes: of the output, such as "(B, T, D)".
        draw: of the check.
        through: whether a gradient must also reach the input.
    """
    if any(map(nn.parameter.is_lazy, module.parameters())):
        feed(module, inputs[0])
    put_by_name(module, weights)
    module.eval()
    out = feed_any_batch(module, inputs[0])
    reference = next((one for one in references if agree(out, one(inputs[0]))), references[0])
    right_shape = isinstance(out, torch.Tensor) and out.shape == reference(inputs[0]).shape
    if right_shape:
        repeats(module, inputs[0])
    draws = [(x,) for x in inputs]
    try:
        same_function(module, reference, draws, by_results(mistakes), axes, differentiable=False, numbers=False)
    except Wrong as wrong:
        if right_shape and wrong.mistake in UNEXPLAINED:
            alone(module, inputs[0], axes)
        raise
    trained_by(module, inputs[0], draw, through)


def put_by_name(module: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Copies the weights into the module's parameters; a parameter may have further names, as in an `nn.Sequential`.

    Raises:
        Wrong: a parameter that is missing, left over, of another shape, frozen, or the same as another one.
    """
    found = dict(module.named_parameters(remove_duplicate=False))
    if not found:
        sentence = "The module has no parameters: its layers are not attributes, or are in a plain list."
        raise Wrong("no-parameters", sentence, [f"Expected: {_listed(list(weights))}"])
    asked = {id(found[name]) for name in weights if name in found}
    others = [name for name, parameter in found.items() if name not in weights and id(parameter) not in asked]
    _check_names([name for name in weights if name not in found], others)
    for name, value in weights.items():
        if _without_ones(found[name]) != _without_ones(value):
            details = [f"Expected: {name} of shape {tuple(value.shape)}", f"Received: {tuple(found[name].shape)}"]
            raise Wrong("other-shapes", "A parameter has another shape than the sizes ask for.", details)
    first: dict[int, str] = {}
    for name in weights:
        parameter = found[name]
        if first.setdefault(id(parameter), name) != name:
            details = [f"Received: {first[id(parameter)]} and {name} are one parameter"]
            raise Wrong("shared-parameters", "Two parts share their weights; each should have its own.", details)
    frozen = [name for name, parameter in found.items() if not parameter.requires_grad]
    if frozen:
        raise Wrong("not-trained", "Parameters have requires_grad off.", [f"Received: {_listed(frozen)}"])
    with torch.no_grad():
        for name, value in weights.items():
            found[name].copy_(value.reshape(found[name].shape))


def _check_names(missing: Sequence[str], others: Sequence[str]) -> None:
    if not missing and not others:
        return
    slug, sentence = "other-names", "Weights are put in by name: the names in the stub are needed, and some differ."
    if not others:
        slug = "parameters-missing"
        sentence = "Parameters are missing: a bias or a layer, or layers in a plain list, which are not registered."
    if not missing:
        slug, sentence = "parameters-too-many", "The module learns more than the exercise asks for."
    if any(name.endswith("in_proj_weight") for name in others):
        slug = "layer-of-the-library"
        sentence = "This is a layer of PyTorch, or has one inside, whose parameters do not have the names in the stub."
    details = [f"Missing:  {_listed(missing)}", f"Not asked for: {_listed(others)}"]
    raise Wrong(slug, sentence, [line for line, names in zip(details, (missing, others), strict=True) if names])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _without_ones(tensor: torch.Tensor) -> list[int]:
    return [size for size in tensor.shape if size > 1]


def random_weights(module: nn.Module, draw) -> dict[str, torch.Tensor]:
    """Fills the parameters of one of the course's modules with random numbers, and returns them by name."""
    scatter(module, draw)
    return {name: parameter.detach() for name, parameter in module.named_parameters()}
