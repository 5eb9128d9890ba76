"""Exercise pretrained.mended: a conversion of published weights, to be mended."""

from dataclasses import replace

import torch
from torch import nn

from vit_course import pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.words import describe
from vit_course.config import ViTConfig
from vit_course.vit import ViT

EPSILONS = (1e-6, 1e-3)  # the published one, and one that no library has for its default


def mended(answer, draw):
    """`answer(state, config)`: torchvision's state dict and the right config -> our `ViT` with the same weights."""
    for epsilon in EPSILONS:
        right, state = _published(draw, epsilon)
        with named_by_details(*known(__name__, "errors")):
            model = call(answer, state, right.config)
        found = describe(model)
        details = () if isinstance(model, ViT) else ["Expected: a ViT of the package", f"Received: {found}"]
        refuse(__name__, "model", locals(), details)
        _compare(model, right, draw)


def _published(draw, epsilon: float) -> tuple[ViT, dict]:
    # A small ViT with all its numbers drawn, and its state dict under torchvision's names.
    heads, head_dim, patch, rows, layers = draw.sizes(5, low=2, high=6)
    width = heads * head_dim
    config = ViTConfig(rows * patch, patch, 7, width, num_layers=min(layers, 3), num_heads=heads, mlp_dim=width + 3)
    model = ViT(replace(config, norm_epsilon=epsilon)).eval()
    model.load_state_dict({key: draw.normal(*value.shape) for key, value in model.state_dict().items()})
    return model, pretrained.to_torchvision(model)


def _compare(model: ViT, right: ViT, draw) -> None:
    images = draw.normal(2, right.config.in_channels, *right.config.image_size)
    expected = "Expected: the same tokens after every part, for the same images"
    try:
        first = pretrained.first_difference(model, right, images).first
    except ValueError as error:
        sentence = "The model is not the one that was converted."
        raise Wrong("wrong-behaviour", sentence, [expected, f"Received: {error}"]) from error
    with torch.no_grad():
        logits, wanted = model(images), right(images)
    same = logits.shape == wanted.shape and torch.allclose(logits, wanted, rtol=1e-3, atol=1e-3)
    name = first.name if first else "" if same else "logits"
    epsilons = {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}
    other_epsilon = epsilons != {right.config.norm_epsilon}
    details = [f"The first difference is at {name!r}."] if name else []
    if other_epsilon:
        received = ", ".join(f"{epsilon:g}" for epsilon in sorted(epsilons))
        details += [f"Expected: epsilon {right.config.norm_epsilon:g}", f"Received: epsilon {received}"]
    keys = [key for key in right.state_dict() if key.endswith("attention.projection.weight")]
    projections = [one.state_dict()[key] for one in (model, right) for key in keys]
    if not all(map(torch.equal, projections[: len(keys)], projections[len(keys) :])) and "output" not in name:
        details.append("The output projections further on are not the original ones either.")
    refuse(__name__, "first", locals(), details)
    if name:
        raise Wrong("wrong-behaviour", "The two models differ.", [expected, f"Received: they first differ at {name!r}"])
