"""The configuration of a Vision Transformer, the published presets and the sizes that follow from them."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ViTConfig:
    """Everything that fixes the architecture, in torchvision's words.

    Args:
        image_size: height and width in pixels; one int means a square. Stored as (height, width).
        patch_size: P, the side of a square patch in pixels.
        in_channels: C.
        num_classes: how many logits the head gives.
        hidden_dim: D.
        num_layers: L.
        num_heads: h; must divide `hidden_dim`.
        mlp_dim: the width inside each block's MLP.
        pool: "cls" reads the class token, "mean" has no class token and averages the patch tokens.
        position: "learned", "sincos2d" (fixed) or "none".
        qkv_bias: whether the query, key and value projections have a bias.
        dropout: after the positions, in the MLP and after the attention's output projection.
        attention_dropout: on the attention weights.
        gelu: "none" for the exact GELU, "tanh" for the approximation that the original JAX code uses.
        norm_epsilon: what every LayerNorm adds to the variance.
        representation_size: the width of a hidden layer with a tanh before the head, as in the paper's pre-training;
            0 for none.
        patch_norm: a norm before and after the patch projection, as in vit-pytorch.

    Raises:
        ValueError: where a value is impossible by itself; sizes that must fit together are checked by the
            part that uses them, and all of them when a `ViT` is built.

    Source: Dosovitskiy et al. 2020 (arXiv:2010.11929), Table 1 for the sizes of the presets.
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

    def __post_init__(self):
        size = self.image_size
        pair = (size, size) if isinstance(size, int) else tuple(size)
        if len(pair) != 2 or not all(isinstance(side, int) and side > 0 for side in pair):
            raise ValueError(f"image_size must be a positive int or a pair (height, width), got {size!r}")
        object.__setattr__(self, "image_size", pair)
        for name in ("patch_size", "in_channels", "num_classes", "hidden_dim", "num_layers", "num_heads", "mlp_dim"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an int of at least 1, got {value!r}")
        for name, choices in (
            ("pool", ("cls", "mean")),
            ("position", ("learned", "sincos2d", "none")),
            ("gelu", ("none", "tanh")),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(self, name)!r}")
        if self.representation_size < 0:
            raise ValueError(f"representation_size must not be negative, got {self.representation_size!r}")
        if not self.norm_epsilon > 0:
            raise ValueError(f"norm_epsilon must be greater than 0, got {self.norm_epsilon!r}")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and less than 1, got {getattr(self, name)!r}")

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, columns) of patches, (H / P, W / P)."""
        height, width = self.image_size
        return height // self.patch_size, width // self.patch_size

    @property
    def num_patches(self) -> int:
        """N = HW / P^2."""
        rows, columns = self.grid
        return rows * columns

    @property
    def num_tokens(self) -> int:
        """T: N + 1 with a class token, N without."""
        return self.num_patches + (self.pool == "cls")

    @property
    def head_dim(self) -> int:
        """d = D / h."""
        return self.hidden_dim // self.num_heads

    def to_dict(self) -> dict:
        """Plain values that JSON can hold; `ViTConfig(**config.to_dict())` gives the config back."""
        return {**asdict(self), "image_size": list(self.image_size)}

    @classmethod
    def preset(cls, name: str, **changes) -> "ViTConfig":
        """A published configuration by its name, with any field changed by keyword.

        Raises:
            ValueError: an unknown name; the known ones are listed.
        """
        if name not in PRESETS:
            raise ValueError(f"unknown preset {name!r}; known are {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})


def _imagenet(patch_size: int, hidden_dim: int, num_layers: int, num_heads: int) -> dict:
    # The MLP is four times as wide as the tokens in all of Table 1; Ti and S are DeiT's (arXiv:2012.12877, Table 1).
    return dict(
        image_size=224,
        patch_size=patch_size,
        num_classes=1000,
        hidden_dim=hidden_dim,
        num_layers=num_layers,
        num_heads=num_heads,
        mlp_dim=4 * hidden_dim,
    )


PRESETS = {
    "tiny-cifar": dict(
        image_size=32, patch_size=4, num_classes=10, hidden_dim=48, num_layers=4, num_heads=4, mlp_dim=192
    ),
    "vit-ti/16": _imagenet(16, 192, 12, 3),
    "vit-s/16": _imagenet(16, 384, 12, 6),
    "vit-b/16": _imagenet(16, 768, 12, 12),
    "vit-l/16": _imagenet(16, 1024, 24, 16),
    "vit-h/14": _imagenet(14, 1280, 32, 16),
}
