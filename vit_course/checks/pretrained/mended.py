"""Exercise pretrained.mended: a conversion of published weights, to be mended."""

from dataclasses import replace

import torch
from torch import nn

from vit_course import pretrained
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, values
from vit_course.checks.tools.words import describe
from vit_course.config import ViTConfig
from vit_course.vit import ViT

EPSILONS = (1e-6, 1e-3)  # the published one, and one that no library has for its default


@exercise("10.2", "Debug a conversion", section="Find the first difference", difficulty=3, minutes=15)
def mended(answer, draw):
    """`answer(state, config)`: torchvision's state dict and the right config -> our `ViT` with the same weights."""
    for epsilon in EPSILONS:
        right, state = _published(draw, epsilon)
        with named_by_details(*known(__name__, "errors")):
            model = call(answer, state, right.config)
        _look_at(model, right)
        _compare(model, right, draw)


def _look_at(model, right: ViT) -> None:
    if model is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(model, nn.Module):
        raise Wrong("wrong-type", f"The result is {describe(model)} where a model is expected.")
    if not isinstance(model, ViT):
        received = f"Received: a module of the class {type(model).__name__}"
        raise Wrong("wrong-behaviour", "The result is no ViT of the package.", ["Expected: a ViT", received])
    if any(module.training for module in model.modules()):
        raise Wrong("training-mode", "The model, or a part of it, is in training mode.")
    layers = model.config.num_layers, right.config.num_layers
    if layers[0] != layers[1] or len(model.encoder.blocks) != layers[1]:
        found = [f"Expected: {layers[1]} blocks", f"Received: {len(model.encoder.blocks)}"]
        raise Wrong("blocks-missing", "The model has another number of blocks than the config says.", found)
    dtypes = {parameter.dtype for parameter in model.parameters()}
    if dtypes != {torch.float32}:
        found = ["Expected: torch.float32, as in the state dict", f"Received: {', '.join(map(str, dtypes))}"]
        raise Wrong("wrong-dtype", "The weights have another dtype than the ones that were given.", found)


def _compare(model: ViT, right: ViT, draw) -> None:
    images = draw.normal(2, right.config.in_channels, *right.config.image_size)
    try:
        comparison = pretrained.first_difference(model, right, images)
    except ValueError as error:
        raise Wrong("wrong-behaviour", "The model is not the one that was converted.", _both(str(error))) from error
    name = comparison.first.name if comparison.first else "logits"
    epsilons = _epsilons(model)
    if epsilons != {right.config.norm_epsilon} and name not in ("patch embedding", "class token and positions"):
        slug, sentence = "norm-differs", "The same tokens enter the first norm and other tokens leave it."
        if epsilons == {EPSILONS[0]}:
            slug = "epsilon-not-of-the-config"
            sentence = "The norms have the epsilon of the published weights, whatever the config says."
        received = ", ".join(f"{epsilon:g}" for epsilon in sorted(epsilons))
        found = [f"Expected: epsilon {right.config.norm_epsilon:g}", f"Received: epsilon {received}"]
        raise Wrong(slug, sentence, [*found, *_others(model, right, slug)])
    if comparison.first is None:
        with torch.no_grad():
            logits, expected = model(images), right(images)
        if logits.shape == expected.shape and torch.allclose(logits, expected, rtol=1e-3, atol=1e-3):
            return
    for ends, (slug, sentence) in values(__name__, "first").items():
        if name.endswith(ends):
            raise Wrong(slug, sentence, [f"The first difference is at {name!r}.", *_others(model, right, slug)])
    raise Wrong("wrong-behaviour", "The two models differ.", _both(f"they first differ at {name!r}"))


def _epsilons(model: nn.Module) -> set[float]:
    return {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}


# By how the name of the first stage that differs ends.


def _others(model: ViT, right: ViT, slug: str) -> list[str]:
    # What comes later in the walk: only the first difference has a sentence, the other faults of the function that
    # was given are named here.
    if slug not in ("tokens-differ", "norm-differs", "epsilon-not-of-the-config"):
        return []
    ours, theirs = model.state_dict(), right.state_dict()
    keys = [key for key in theirs if key.endswith("attention.projection.weight") and key in ours]
    found = ["the epsilon of the norms"] if slug[0] == "t" and _epsilons(model) != {right.config.norm_epsilon} else []
    if not all(ours[key].equal(theirs[key]) for key in keys):
        found.append("the output projections")
    return [f"Further on, not as it was either: {', '.join(found)}."] if found else []


def _both(received: str) -> list[str]:
    return ["Expected: the same tokens behind every part, for the same images", f"Received: {received}"]


def _published(draw, epsilon: float) -> tuple[ViT, dict]:
    # A small ViT with all its numbers drawn, and its state dict under torchvision's names.
    heads, head_dim, patch, rows, layers = draw.sizes(5, low=2, high=6)
    width = heads * head_dim
    config = ViTConfig(rows * patch, patch, 7, width, num_layers=min(layers, 3), num_heads=heads, mlp_dim=width + 3)
    model = ViT(replace(config, norm_epsilon=epsilon)).eval()
    model.load_state_dict({key: draw.normal(*value.shape) for key, value in model.state_dict().items()})
    return model, pretrained.to_torchvision(model)
