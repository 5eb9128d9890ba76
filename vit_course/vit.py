"""The whole model: Eq. 1 to 4 of the paper, in order."""

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_tensor
from vit_course.config import ViTConfig
from vit_course.embeddings import ClassToken, LearnedPositions, RegisterTokens, SinCos2DPositions
from vit_course.encoder import Encoder
from vit_course.patches import NormedPatchEmbedding, PatchEmbedding


class ViT(nn.Module):
    """(B, C, H, W) -> (B, num_classes)

    Args:
        config: a `ViTConfig`.

    Raises:
        TypeError: when built, not a `ViTConfig`; in forward, not a tensor.
        ValueError: sizes that do not fit together, when built; in forward, images of another size, another number of
            channels or none at all, images that are not normalised, or of another type or device than the weights, and
            a model without a head.

    Source: Dosovitskiy et al. 2020, Eq. 1-4 and Fig. 1; Darcet et al. 2023 (arXiv:2309.16588) for the registers.
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        if not isinstance(config, ViTConfig):
            raise TypeError(f"config must be a ViTConfig, got {type(config).__name__}")
        for name, size in zip(("height", "width"), config.height_width, strict=True):
            if size % config.patch_size:
                raise ValueError(f"image {name} {size} is not a multiple of patch size {config.patch_size}")
        self.config = config
        embedding = NormedPatchEmbedding if config.patch_norm else PatchEmbedding
        self.patch_embedding = embedding(config.patch_size, config.in_channels, config.hidden_dim)
        self.class_token = ClassToken(config.hidden_dim) if config.pool == "cls" else nn.Identity()
        self.positions = _positions(config)
        # What is not used is not built: it would draw random numbers, and so change every other weight.
        self.registers: nn.Module = nn.Identity()
        if config.num_registers:
            self.registers = RegisterTokens(config.num_registers, config.hidden_dim, config.pool == "cls")
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(
            config.num_layers,
            config.hidden_dim,
            config.num_heads,
            config.mlp_dim,
            qkv_bias=config.qkv_bias,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            gelu=config.gelu,
            norm_epsilon=config.norm_epsilon,
        )
        width = config.representation_size or config.hidden_dim
        self.pre_logits: nn.Module = nn.Identity()
        if config.representation_size:
            self.pre_logits = nn.Sequential(nn.Linear(config.hidden_dim, width), nn.Tanh())
        self.head = nn.Linear(width, config.num_classes) if config.num_classes else _NoHead()
        self._initialise()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        z = self.features(images)  # (B, T, D)
        y = z[:, 0] if self.config.pool == "cls" else z[:, self.config.num_prefix :].mean(dim=1)  # (B, D), Eq. 4
        return self.head(self.pre_logits(y))  # (B, num_classes)

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, T, D): every token after the last norm."""
        return self.encoder(self.embed(images))  # Eq. 2 and 3

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, T, D): the tokens that go into the encoder."""
        check_tensor("images", images)
        if images.shape[2:] != self.config.image_size:
            height, width = self.config.height_width
            raise ValueError(
                f"the model takes images (B, {self.config.in_channels}, {height}, {width}), "
                f"got shape {tuple(images.shape)}"
            )
        z = self.patch_embedding(images)  # (B, N, D)
        z = self.positions(self.class_token(z))  # (B, N, D), or (B, N + 1, D) with a class token; Eq. 1
        return self.dropout(self.registers(z))  # (B, T, D)

    def _initialise(self) -> None:
        # Xavier for the encoder's matrices and zero biases, close to the authors' code (where q, k and v are three
        # matrices and so start larger by the square root of 2). The head starts small, so that the logits are near 0,
        # every class is equally likely, and the first loss is ln(num_classes).
        for module in self.encoder.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if isinstance(self.head, nn.Linear):
            nn.init.normal_(self.head.weight, std=0.1 * self.config.hidden_dim**-0.5)
            nn.init.zeros_(self.head.bias)


class _NoHead(nn.Module):
    """In the place of a head: gives no logits, but a `ValueError` that says what the model gives instead."""

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        raise ValueError(
            "the model has no head and gives no logits: features(images) gives its tokens (B, T, D), and num_classes= "
            "adds a fresh head when the weights are loaded"
        )


def _positions(config: ViTConfig) -> nn.Module:
    if config.position == "learned":
        return LearnedPositions(config.num_positions, config.hidden_dim)
    if config.position == "sincos2d":
        return SinCos2DPositions(config.grid, config.hidden_dim, class_token=config.pool == "cls")
    return nn.Identity()
