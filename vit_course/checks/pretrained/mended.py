"""Exercise pretrained.mended: a conversion of published weights, to be mended."""

from dataclasses import replace

import torch
from torch import nn

from vit_course import pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Mistake, bugs_left, named_by_details
from vit_course.checks.tools.words import beside, describe
from vit_course.config import ViTConfig
from vit_course.vit import ViT

EPSILONS = (1e-6, 1e-3)  # the published one, and one that no library has for its default


def mended(answer, draw):
    """`answer(state, config)`: torchvision's state dict and the right config -> our `ViT` with the same weights."""
    for epsilon in EPSILONS:
        right, state = _published(draw, epsilon)
        model = call(answer, state, right.config)
        _check_kind(model)
        images = draw.normal(2, right.config.in_channels, *right.config.image_size)
        with named_by_details(*PLACES, of=("wrong-behaviour",)):
            _compare(model, right, images)


def _published(draw, epsilon: float) -> tuple[ViT, dict]:
    # A small ViT with all its numbers drawn, and its state dict under torchvision's names.
    heads, head_dim, patch, rows, layers = draw.sizes(5, low=2, high=6)
    width = heads * head_dim
    config = ViTConfig(rows * patch, patch, 7, width, num_layers=min(layers, 3), num_heads=heads, mlp_dim=width + 3)
    model = ViT(replace(config, norm_epsilon=epsilon)).eval()
    model.load_state_dict({key: draw.normal(*value.shape) for key, value in model.state_dict().items()})
    return model, pretrained.to_torchvision(model)


def _check_kind(model) -> None:
    details = beside("a ViT of the package", describe(model))
    if not isinstance(model, nn.Module):
        raise Wrong("wrong-type", f"The result is {describe(model)} where a model is expected.", details)
    if not isinstance(model, ViT):
        raise Wrong("wrong-behaviour", "The result is not a ViT of the package.", details)
    if any(module.training for module in model.modules()):
        raise Wrong("training-mode", "The model, or a part of it, is in training mode.")


def _compare(model: ViT, right: ViT, images: torch.Tensor) -> None:
    expected = "the same tokens after every part, for the same images"
    try:
        place = _first_difference(model, right, images)
    except ValueError as error:
        sentence = "The model is not the one that was converted."
        raise Wrong("wrong-behaviour", sentence, beside(expected, error)) from error
    if not place:
        return
    for mistake in BUGS_LEFT:
        if any(not _first_difference(model, convert(right), images) for convert in mistake.functions(converted)):
            raise Wrong(mistake.slug, mistake.sentence)
    epsilons = {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}
    if epsilons == {EPSILONS[0]} != {right.config.norm_epsilon}:
        sentence = "The norms have the epsilon of the published weights, whatever the config says."
        raise Wrong("epsilon-not-of-the-config", sentence, beside(right.config.norm_epsilon, EPSILONS[0]))
    raise Wrong("wrong-behaviour", "The two models differ.", beside(expected, f"they first differ at {place!r}"))


def _first_difference(model: ViT, other: ViT, images: torch.Tensor) -> str:
    """The name of the first place where two models differ, or ""."""
    if first := pretrained.first_difference(model, other, images).first:
        return first.name
    logits, others = call(model, images), other(images)
    same = logits.shape == others.shape and torch.allclose(logits, others, rtol=1e-3, atol=1e-3)
    return "" if same else "logits"


def converted(right: ViT, positions=lambda table: table, epsilon=None, projection=lambda weight: weight) -> ViT:
    """The right model again, and with one of the steps replaced a wrong one."""
    model = ViT(replace(right.config, norm_epsilon=epsilon or right.config.norm_epsilon)).eval()
    state = dict(right.state_dict())
    state["positions.table"] = positions(state["positions.table"])
    for key in state:
        if key.endswith("attention.projection.weight"):
            state[key] = projection(state[key])
    model.load_state_dict(state)
    return model


TOKENS = Mistake(
    "tokens-differ",
    "The patch tokens are correct, but the input of block 0 is not: the class token or the positions have changed.",
    {"positions": lambda table: table.roll(1, dims=1)},
)
EPSILON = Mistake("norm-differs", "The epsilon of the norms is not the one in the config.", {"epsilon": 1e-5})
PROJECTION = Mistake(
    "projection-differs",
    "The output of the heads is correct, but that of the output projection is not.",
    {"projection": lambda weight: weight.T},
)
BUGS_LEFT = bugs_left(TOKENS, EPSILON, PROJECTION)

# Where the two models first differ.
PLACES = [
    Known(
        "at 'patch embedding'",
        "patches-differ",
        "The patch tokens already differ: weights or biases there are not those of the state dict.",
    ),
    Known("at 'class token and positions'", TOKENS.slug, TOKENS.sentence),
    Known("norm( [12])?'$", "norm-differs", "The same tokens enter a norm, but different tokens leave it."),
    Known(
        "(queries|keys|values)'$",
        "qkv-differs",
        "The same tokens enter the attention, but its queries, keys or values are different.",
    ),
    Known(
        "(heads side by side|attention)'$",
        "heads-differ",
        "Queries, keys and values agree, but what the heads compute from them does not.",
    ),
    Known("attention output'$", PROJECTION.slug, PROJECTION.sentence),
    Known("at 'logits'", "head-differs", "The tokens agree to the end, but the logits do not: the head is different."),
]
