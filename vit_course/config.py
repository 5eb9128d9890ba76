"""The configuration of a Vision Transformer, the published presets and the sizes that follow from them."""

from dataclasses import asdict, dataclass
from typing import Any

from vit_course._support.inputs.arguments import MOST_PARAMETERS, MOST_TOKENS, check_arguments, height_and_width
from vit_course._support.inputs.rules import shown


@dataclass(frozen=True)
class ViTConfig:
    """Everything that fixes the architecture. The fields are named as in torchvision.

    Args:
        image_size: height and width in pixels; one int means a square. Stored as (height, width).
        patch_size: P, the side of a square patch in pixels.
        in_channels: C
        num_classes: how many logits the head gives; 0 for a model without a head, whose `features` alone work.
        hidden_dim: D
        num_layers: L
        num_heads: h; must divide `hidden_dim`.
        mlp_dim: the width inside each block's MLP.
        pool: "cls" reads the class token, "mean" has no class token and averages the patch tokens alone.
        position: "learned", "sincos2d" (fixed) or "none".
        qkv_bias: whether the query, key and value projections have a bias.
        dropout: after the positions, in the MLP and after the attention's output projection.
        attention_dropout: on the attention weights.
        gelu: "none" for the exact GELU, "tanh" for the approximation that the original JAX code uses.
        norm_epsilon: what every LayerNorm adds to the variance.
        representation_size: the width of a hidden layer with a tanh before the head, as in the paper's pre-training;
            0 for none.
        patch_norm: a norm before and after the patch projection, as in vit-pytorch.
        num_registers: R, learned tokens without a position between the class token and the patch tokens.

    Raises:
        ValueError: where a value is impossible by itself (`inputs.arguments` has the limits), or the model would
            be far larger than any published one. Sizes that must fit together are checked by the part that uses
            them, so all of them are checked when a `ViT` is built.

    Source: Dosovitskiy et al. 2020 (arXiv:2010.11929), Table 1 for the sizes of the presets; Darcet et al. 2023
    (arXiv:2309.16588) for the registers.
    """

    image_size: int | tuple[int, int]
    patch_size: int
    num_classes: int
    hidden_dim: int
    num_layers: int
    num_heads: int
    mlp_dim: int
    in_channels: int = 3
    pool: str = "cls"
    position: str = "learned"
    qkv_bias: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    gelu: str = "none"
    norm_epsilon: float = 1e-6
    representation_size: int = 0
    patch_norm: bool = False
    num_registers: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "image_size", height_and_width("image_size", self.image_size))
        check_arguments(**vars(self))
        for what, number, most in (
            ("tokens", self.num_tokens, MOST_TOKENS + 1),
            ("parameters", self.num_parameters, MOST_PARAMETERS),
        ):
            if number > most:
                raise ValueError(f"a ViT of these sizes has {number} {what}, but at most {most} are allowed")

    @property
    def height_width(self) -> tuple[int, int]:
        """(H, W): `image_size` as it is stored, whichever way it was given."""
        return height_and_width("image_size", self.image_size)

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, columns) of patches, (H / P, W / P)."""
        height, width = self.height_width
        return height // self.patch_size, width // self.patch_size

    @property
    def num_patches(self) -> int:
        """N = HW / P^2."""
        rows, columns = self.grid
        return rows * columns

    @property
    def num_positions(self) -> int:
        """How many tokens have a position: N + 1 with a class token, N without; registers have none."""
        return self.num_patches + (self.pool == "cls")

    @property
    def num_prefix(self) -> int:
        """How many tokens come before those of the patches: the class token, if there is one, and R registers."""
        return (self.pool == "cls") + self.num_registers

    @property
    def num_tokens(self) -> int:
        """T: the N patch tokens and the tokens before them."""
        return self.num_prefix + self.num_patches

    @property
    def head_dim(self) -> int:
        """d = D / h."""
        return self.hidden_dim // self.num_heads

    @property
    def num_parameters(self) -> int:
        """How many numbers a `ViT` of this config learns, counted without building one."""
        D, M, width = self.hidden_dim, self.mlp_dim, self.representation_size or self.hidden_dim
        patch = self.patch_size**2 * self.in_channels
        embedding = _linear(patch, D) + (2 * patch + 2 * D if self.patch_norm else 0)
        tokens = D * self.num_prefix + D * self.num_positions * (self.position == "learned")
        attention = _linear(D, 3 * D, self.qkv_bias) + _linear(D, D)
        block = 2 * D + attention + 2 * D + _linear(D, M) + _linear(M, D)  # a norm's scale and shift are 2 D
        head = (_linear(D, width) if self.representation_size else 0) + _linear(width, self.num_classes)
        return embedding + tokens + self.num_layers * block + 2 * D + head

    def to_dict(self) -> dict:
        """Plain values that JSON can hold; `ViTConfig(**config.to_dict())` gives the config back."""
        return {**asdict(self), "image_size": list(self.height_width)}

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "ViTConfig":
        """A published configuration by its name, with any field changed by keyword.

        Raises:
            ValueError: an unknown name; the known ones are listed.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise ValueError(f"unknown preset {shown(name)}; the presets are {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})


def _linear(inputs: int, outputs: int, bias: bool = True) -> int:
    return inputs * outputs + outputs * bias


_SIZES = ("image_size", "patch_size", "num_classes", "hidden_dim", "num_layers", "num_heads")
# Any, because each field has its own type; ViTConfig checks them all.
PRESETS: dict[str, dict[str, Any]] = {
    # The MLP is four times as wide as the tokens in all of Table 1.
    name: {**dict(zip(_SIZES, sizes, strict=True)), "mlp_dim": 4 * sizes[3]}
    for name, sizes in {
        "tiny-cifar": (32, 4, 10, 48, 4, 4),
        "vit-ti/16": (224, 16, 1000, 192, 12, 3),  # Ti and S are DeiT's (arXiv:2012.12877, Table 1)
        "vit-s/16": (224, 16, 1000, 384, 12, 6),
        "vit-b/16": (224, 16, 1000, 768, 12, 12),
        "vit-l/16": (224, 16, 1000, 1024, 24, 16),
        "vit-h/14": (224, 14, 1000, 1280, 32, 16),
    }.items()
}
