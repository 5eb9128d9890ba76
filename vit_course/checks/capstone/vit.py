"""Exercise capstone.vit: the whole model."""

from vit_course.checks.capstone.whole_model import right_model
from vit_course.checks.tools.mistakes import Known, named_by_details
from vit_course.checks.tools.modules import build
from vit_course.config import ViTConfig


def vit(answer, draw):
    """`answer(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)`."""

    def built(config: ViTConfig):
        with named_by_details(*BUILT):
            return build(answer, **{name: getattr(config, name) for name in SIZES})

    right_model(built, _named, draw, axes="(B, classes)")


def _named(name: str) -> str:
    for ours, theirs in NAMES.items():
        name = name.replace(ours, theirs)
    return name


SIZES = [
    "image_size", "patch_size", "in_channels", "num_classes", "hidden_dim", "num_layers", "num_heads", "mlp_dim"
]  # fmt: skip

# What the parts of our `ViT` are called in the stub.
NAMES = {
    "patch_embedding.": "patches.",
    "class_token.token": "tokens.class_token",
    "positions.table": "tokens.positions",
    "encoder.": "",
    "mlp.": "",
}

BUILT = [
    Known(
        r"must be tuple of ints, ?but (got|found element of type) float|got \(float",
        "count-not-int",
        "A tensor is created with a number of patches or tokens that is not an int.",
    ),
]
