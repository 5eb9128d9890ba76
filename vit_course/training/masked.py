"""Hide most of the patches, and guess them from the rest: a masked autoencoder."""

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course.embeddings import SinCos2DPositions
from vit_course.encoder import Encoder
from vit_course.patches import patchify
from vit_course.training.checking import need_kind
from vit_course.training.objective import Objective, full_precision
from vit_course.vit import ViT

HEAD_DIM = 32


class MaskedAutoencoder(Objective):
    """(B, C, H, W), labels, (B, N) -> ()

    From images and a random number for each patch to the mean loss over the hidden patches.

    Args:
        vit: the encoder; it sees the visible patches alone, and is what is kept. It needs no head,
            and in several processes must have none.
        mask_ratio: the share of the patches that is hidden.
        decoder_dim: the width of the decoder, a multiple of 32.
        decoder_layers: its blocks.
        normalise_patches: whether each patch is guessed with its own mean and contrast taken out, which makes better
            features; without, the guesses can be looked at.

    Raises:
        TypeError, ValueError: not a `ViT`, an impossible size, or a ratio that hides no patch or all of them.

    Source: He et al. 2021, "Masked Autoencoders Are Scalable Vision Learners" (arXiv:2111.06377), section 3.
    """

    name = "masked"
    unused = ("head.", "pre_logits.")

    def __init__(
        self,
        vit: ViT,
        mask_ratio: float = 0.75,
        decoder_dim: int = 64,
        decoder_layers: int = 2,
        normalise_patches: bool = True,
    ):
        need_kind("vit", vit, ViT)
        options = dict(mask_ratio=mask_ratio, decoder_dim=decoder_dim, decoder_layers=decoder_layers)
        options["normalise_patches"] = normalise_patches
        check_arguments(**options)
        if decoder_dim % HEAD_DIM:
            raise ValueError(f"decoder_dim must be a multiple of {HEAD_DIM}, got {decoder_dim}")
        super().__init__(vit, **options)
        config = vit.config
        self.num_visible = config.num_patches - round(mask_ratio * config.num_patches)
        if not 0 < self.num_visible < config.num_patches:
            raise ValueError(
                f"mask_ratio {mask_ratio} leaves {self.num_visible} of {config.num_patches} patches visible: at least "
                "one must be hidden, and one visible"
            )
        self.narrow = nn.Linear(config.hidden_dim, decoder_dim)
        self.mask_token = nn.Parameter(0.02 * torch.randn(1, 1, decoder_dim))
        self.positions = SinCos2DPositions(config.grid, decoder_dim, class_token=False)
        self.decoder = Encoder(decoder_layers, decoder_dim, decoder_dim // HEAD_DIM, 4 * decoder_dim)
        self.to_pixels = nn.Linear(decoder_dim, config.patch_size**2 * config.in_channels)

    def forward(self, images, labels, draws, count):
        visible, restore = random_masking(draws, self.num_visible)
        predicted = self.decode(self.encode(images, visible), restore)
        target = patchify(images, self.model.config.patch_size)  # (B, N, P*P*C)
        if self.options["normalise_patches"]:
            target = normalised(target)
        return masked_loss(full_precision(predicted), target, hidden=restore >= self.num_visible), {}

    def encode(self, images: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W), (B, V) -> (B, R + V, D): only what is visible goes through the blocks, with its position."""
        z = self.model.embed(images)  # (B, R + N, D), positions added before any patch is left out
        prefix, patches = z[:, : self.model.config.num_prefix], z[:, self.model.config.num_prefix :]
        return self.model.encoder(torch.cat([prefix, pick(patches, visible)], dim=1))

    def decode(self, z: torch.Tensor, restore: torch.Tensor) -> torch.Tensor:
        """(B, R + V, D), (B, N) -> (B, N, P*P*C): a guess for every patch."""
        z = self.narrow(z)
        prefix, patches = z[:, : self.model.config.num_prefix], z[:, self.model.config.num_prefix :]
        masks = self.mask_token.expand(len(z), restore.shape[1] - patches.shape[1], -1).to(z.dtype)
        patches = self.positions(pick(torch.cat([patches, masks], dim=1), restore))  # (B, N, decoder_dim)
        z = self.decoder(torch.cat([prefix, patches], dim=1))
        return self.to_pixels(z[:, self.model.config.num_prefix :])

    def draws(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """-> (count, N): a number for each patch; those with the smallest stay visible."""
        return torch.rand(count, self.model.config.num_patches, generator=generator)


def random_masking(noise: torch.Tensor, num_visible: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, N) -> (B, V), (B, N)

    Which patches stay visible, and where each patch is to be found in the sequence of visible patches, then hidden
    ones: the order of the noise, and the inverse of that order.
    """
    order = noise.argsort(dim=1)
    return order[:, :num_visible], order.argsort(dim=1)


def pick(tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """(B, N, D), (B, M) -> (B, M, D): the tokens at these places, another choice for each image."""
    return tokens.gather(1, places[:, :, None].expand(-1, -1, tokens.shape[2]))


def masked_loss(predicted: torch.Tensor, target: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """(B, N, P*P*C), (B, N, P*P*C), (B, N) -> (): the mean squared error over the hidden patches alone."""
    error = (predicted - target).square().mean(dim=2)  # (B, N)
    return (error * hidden).sum() / hidden.sum()


def normalised(patches: torch.Tensor) -> torch.Tensor:
    """(B, N, P*P*C) -> (B, N, P*P*C): each patch with mean 0 and variance 1, by its own numbers.

    What is to be guessed is then the pattern, not how bright or strong it is.
    """
    variance, mean = torch.var_mean(patches, dim=2, keepdim=True)
    return (patches - mean) / (variance + 1e-6).sqrt()
