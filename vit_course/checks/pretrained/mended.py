"""Exercise pretrained.mended: a conversion of published weights, to be mended."""

from torch import nn

from vit_course import pretrained
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.words import describe
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise("Debug a conversion", section="Find the first difference", difficulty=3, minutes=15)
def mended(answer, draw):
    """`answer(state, config)`: torchvision's state dict and the right config -> our `ViT` with the same weights."""
    for _ in range(2):
        right, state = _published(draw)
        model = call(answer, state, right.config)
        if model is None:
            raise Wrong("returned-nothing", "The result is None: nothing was returned.")
        if not isinstance(model, nn.Module):
            raise Wrong("wrong-type", f"The result is {describe(model)} where a model is expected.")
        if model.training:
            raise Wrong("training-mode", "The model is in training mode.")
        images = draw.normal(2, right.config.in_channels, *right.config.image_size)
        try:
            comparison = pretrained.first_difference(model, right, images)
        except ValueError as error:
            raise Wrong("wrong-behaviour", "The model is not the one that was converted.", _both(str(error))) from error
        if comparison.first is None:
            continue
        name = comparison.first.name
        for end, (slug, sentence) in _FIRST.items():
            if name.endswith(end):
                raise Wrong(slug, sentence, [f"The first difference is at {name!r}."])
        raise Wrong("wrong-behaviour", "The two models differ.", _both(f"they first differ at {name!r}"))


# By how the name of the first stage that differs ends.
_FIRST = {
    "patch embedding": ("patches-differ", "The patch tokens differ already: the weights did not arrive."),
    "class token and positions": (
        "tokens-differ",
        "The patch tokens are right, and what enters block 0 is not: class token or positions are not as they were.",
    ),
    "norm 1": ("norm-differs", "The same tokens enter the first norm and other tokens leave it."),
    ("queries", "keys", "values"): (
        "qkv-differs",
        "The same tokens enter attention, and its queries, keys or values are others.",
    ),
    ("heads side by side", "attention"): (
        "heads-differ",
        "Queries, keys and values agree, and what the heads make of them does not.",
    ),
    "attention output": (
        "projection-differs",
        "What the heads give is right, and what the output projection makes of it is not.",
    ),
}


def _both(received: str) -> list[str]:
    return ["Expected: the same tokens behind every part, for the same images", f"Received: {received}"]


def _published(draw) -> tuple[ViT, dict]:
    # A small ViT with all its numbers drawn, and its state dict under torchvision's names.
    heads, head_dim, patch, rows, layers = draw.sizes(5, low=2, high=6)
    width = heads * head_dim
    config = ViTConfig(rows * patch, patch, 7, width, num_layers=min(layers, 3), num_heads=heads, mlp_dim=width + 3)
    model = ViT(config).eval()
    model.load_state_dict({key: draw.normal(*value.shape) for key, value in model.state_dict().items()})
    return model, pretrained.to_torchvision(model)
