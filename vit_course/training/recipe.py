"""The recipe of a training run: its hyperparameters, for any model."""

from dataclasses import dataclass
from pathlib import Path

from vit_course._support.inputs import arguments
from vit_course._support.inputs.rules import check, one_of, positive, real, share, shown, whole

RECIPES = Path(__file__).parent / "recipes"

# The training objectives, and the options of each with the defaults of its class.
OBJECTIVES: dict[str, dict[str, int | float | str]] = {
    "supervised": {},
    "masked": {"mask_ratio": 0.75, "decoder_dim": 64, "decoder_layers": 2, "normalise_patches": True},
    "self-distilled": {
        "outputs": 1024, "temperature": 0.1, "teacher_temperature": 0.04, "momentum": 0.996, "centring": 0.9,
        "local_crops": 4,
    },
    "contrastive": {"loss": "softmax", "text_layers": 2, "embedding_dim": 64},
}  # fmt: skip


def mixing(name: str, value: object) -> None:
    """Checks for 0 or at least 0.1: with a smaller alpha, every share drawn in single precision would be 0.5."""
    real(0, 100)(name, value)
    if 0 < value < 0.1:
        raise ValueError(f"{name} must be 0 or at least 0.1, got {shown(value)}")


# The upper limits catch typing errors and, above all, infinity. A learning rate of 100 is far too large, but allowed:
# it is instructive to see a training break.
RULES = {
    "epochs": whole(1, 10**6),
    "batch_size": arguments.RULES["batch_size"],
    "learning_rate": positive(1000.0),
    "warmup": share,
    "weight_decay": real(0, 1000.0),
    "optimiser": one_of("adamw", "muon"),
    "beta2": share,
    "label_smoothing": share,
    "clip_norm": real(0, 1e6),
    "padding": arguments.RULES["padding"],
    "flip": arguments.RULES["flip"],
    "cutout": arguments.RULES["side"],
    "randaugment": whole(0, 30),
    "mixup": mixing,
    "average": share,
    "precision": one_of("float32", "bfloat16"),
    "seed": arguments.RULES["seed"],
}


@dataclass(frozen=True)
class TrainingConfig:
    """The hyperparameters of a training run, for any model.

    Args:
        epochs: passes over the training set.
        batch_size: images per step; the last batch of an epoch may be shorter.
        learning_rate: the peak, reached after the warm-up.
        warmup: the share of all steps in which the rate climbs from 0; the rest is half a cosine down to 0.
        weight_decay: on matrices only (`parameter_groups`).
        optimiser: "adamw" for all parameters (Loshchilov & Hutter 2017, arXiv:1711.05101), or "muon" for the matrices
            of all linear layers but the last, and AdamW for the rest (Liu et al. 2025, arXiv:2502.16982).
        beta2: AdamW's second momentum; its first is 0.9.
        label_smoothing: the share of the target that is spread over all classes; needs labels.
        clip_norm: gradients longer than this are shortened to it; 0 for no clipping.
        padding: augmentation by random shifts of up to this many pixels.
        flip: augmentation by mirroring left and right.
        cutout: augmentation by blanking a square with sides of this many pixels at a random place; 0 for none.
        randaugment: augmentation by two of torchvision's fourteen operations on each image, such as a rotation or more
            contrast, of this magnitude from 1 to 30; 0 for none (Cubuk et al. 2019, arXiv:1909.13719).
        mixup: each image and its label become a mixture with another one's, at a share from the Beta distribution with
            this alpha; 0 for none, and needs labels (Zhang et al. 2017, arXiv:1710.09412).
        average: the decay per step of a running average of the weights, such as 0.999; the average is then what is
            validated and kept as best; 0 for none (Polyak & Juditsky 1992).
        precision: "float32", or "bfloat16" for mixed precision: matrix products in bfloat16, sums and weights in
            float32. Faster where the processor has it.
        seed: of initialisation, order and augmentation.

    Raises:
        ValueError: a value of another type than its field's, or out of its range (`RULES`).
    """

    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.05
    optimiser: str = "adamw"
    beta2: float = 0.99
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    padding: int = 0
    flip: bool = False
    cutout: int = 0
    randaugment: int = 0
    mixup: float = 0.0
    average: float = 0.0
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self):
        check(RULES, vars(self))
