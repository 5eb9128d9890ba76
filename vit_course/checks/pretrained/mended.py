"""Exercise pretrained.mended: a conversion of published weights, to be mended."""

from dataclasses import replace

import torch
from torch import nn

from vit_course import pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse
from vit_course.checks.tools.words import describe
from vit_course.config import ViTConfig
from vit_course.vit import ViT

EXPECTED = "Expected: a ViT of the package"
EPSILONS = (1e-6, 1e-3)  # the published one, and one that no library has for its default


def mended(answer, draw):
    """`answer(state, config)`: torchvision's state dict and the right config -> our `ViT` with the same weights."""
    for epsilon in EPSILONS:
        right, state = _published(draw, epsilon)
        with named_by_details(*ERRORS):
            model = call(answer, state, right.config)
        found = describe(model)
        details = [] if isinstance(model, ViT) else [EXPECTED, f"Received: {found}"]
        refuse(MODEL, dict(found=found, right=right, model=model), details)
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
    refuse(FIRST, dict(name=name, epsilons=epsilons, other_epsilon=other_epsilon), details)
    if name:
        raise Wrong("wrong-behaviour", "The two models differ.", [expected, f"Received: they first differ at {name!r}"])


ERRORS = [
    Known("loading state_dict", "sizes-differ", "The weights do not fit the model that your code builds."),
    Known(
        "FrozenInstanceError",
        "config-set",
        "A config cannot be changed once it is made, and this one is already correct.",
    ),
]

MODEL = [
    Slip("returned-nothing", "The result is None: nothing was returned.", lambda model: model is None),
    Slip(
        "wrong-type", "The result is {found} where a model is expected.", lambda model: not isinstance(model, nn.Module)
    ),
    Slip("wrong-behaviour", "The result is not a ViT of the package.", lambda model: not isinstance(model, ViT)),
    Slip(
        "training-mode",
        "The model, or a part of it, is in training mode.",
        lambda model: any(module.training for module in model.modules()),
    ),
    Slip(
        "blocks-missing",
        "The model does not have {right.config.num_layers} blocks, the number in the config.",
        lambda model, right: {model.config.num_layers, len(model.encoder.blocks)} != {right.config.num_layers},
    ),
    Slip(
        "wrong-dtype",
        "The weights are not in torch.float32, unlike those of the state dict.",
        lambda model: {parameter.dtype for parameter in model.parameters()} != {torch.float32},
    ),
]

# By where the two models first differ; "" where they do not.
FIRST = [
    Slip(
        "patches-differ",
        "The patch tokens already differ: weights or biases there are not those of the state dict.",
        lambda name: name == "patch embedding",
    ),
    Slip(
        "tokens-differ",
        (
            "The patch tokens are correct, but the input of block 0 is not: the class token or the positions have "
            "changed."
        ),
        lambda name: name == "class token and positions",
    ),
    Slip(
        "epsilon-not-of-the-config",
        "The norms have the epsilon of the published weights, whatever the config says.",
        lambda other_epsilon, epsilons: other_epsilon and epsilons == {EPSILONS[0]},
    ),
    Slip("norm-differs", "The epsilon of the norms is not the one in the config.", lambda other_epsilon: other_epsilon),
    Slip(
        "norm-differs",
        "The same tokens enter a norm, but different tokens leave it.",
        lambda name: name.endswith(("norm 1", "norm 2")) or name == "norm",
    ),
    Slip(
        "qkv-differs",
        "The same tokens enter the attention, but its queries, keys or values are different.",
        lambda name: name.endswith(("queries", "keys", "values")),
    ),
    Slip(
        "heads-differ",
        "Queries, keys and values agree, but what the heads compute from them does not.",
        lambda name: name.endswith(("heads side by side", "attention")),
    ),
    Slip(
        "projection-differs",
        "The output of the heads is correct, but that of the output projection is not.",
        lambda name: name.endswith("attention output"),
    ),
    Slip(
        "mlp-differs",
        "The same tokens enter the MLP, but the output of its first layer is different.",
        lambda name: name.endswith("hidden (before GELU)"),
    ),
    Slip(
        "gelu-differs",
        "The same numbers enter the GELU of an MLP, but different numbers leave it.",
        lambda name: name.endswith("after GELU"),
    ),
    Slip(
        "mlp-differs",
        "The MLPs agree up to their last layer, but the output of that layer is different.",
        lambda name: name.endswith("MLP output"),
    ),
    Slip(
        "head-differs",
        "The tokens agree to the end, but the logits do not: the head is different.",
        lambda name: name == "logits",
    ),
]
