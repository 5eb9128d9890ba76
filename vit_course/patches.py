"""An image becomes a sequence of patches, and the patches become tokens."""

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import check_axes, check_images


def patchify(images: torch.Tensor, patch_size: int) -> torch.Tensor:
    """(B, C, H, W) -> (B, N, P*P*C)

    Cuts each image into patches, row by row from the top left; inside a patch the numbers run by
    row, then column, then channel.

    Args:
        images: a batch; one image needs a batch axis of 1 in front, `image[None]`.
        patch_size: P, in pixels.

    Raises:
        TypeError: not a tensor.
        ValueError: not four axes, an empty batch, no channels, or a height or width that is not a multiple of P.

    Source: Dosovitskiy et al. 2020, section 3.1 ("we reshape the image x into a sequence of flattened 2D patches").
    """
    rows, columns = patch_grid_of(images, patch_size)
    batch, channels = images.shape[:2]
    x = images.reshape(batch, channels, rows, patch_size, columns, patch_size)  # (B, C, H/P, P, W/P, P)
    x = x.permute(0, 2, 4, 3, 5, 1)  # (B, H/P, W/P, P, P, C)
    return x.reshape(batch, rows * columns, patch_size * patch_size * channels)  # (B, N, P*P*C)


def unpatchify(patches: torch.Tensor, patch_size: int, image_size: tuple[int, int]) -> torch.Tensor:
    """(B, N, P*P*C) -> (B, C, H, W)

    The exact inverse of `patchify`.

    Args:
        patches: as `patchify` gives them.
        patch_size: P, in pixels.
        image_size: (H, W). N alone does not say it: 6 patches may be 2 x 3 or 3 x 2.

    Raises:
        TypeError: not a tensor.
        ValueError: sizes that do not fit together.
    """
    check_axes("patches", patches, "(B, N, P*P*C)")
    check_arguments(patch_size=patch_size, image_size=image_size)
    height, width = image_size
    _check_divides(height, width, patch_size)
    rows, columns = height // patch_size, width // patch_size
    batch, count, length = patches.shape
    if count != rows * columns:
        raise ValueError(
            f"an image of {height} x {width} has {rows * columns} patches of side {patch_size}, got {count}"
        )
    if length % patch_size**2 or length == 0:
        raise ValueError(f"a patch of side {patch_size} has a multiple of {patch_size**2} numbers, got {length}")
    channels = length // patch_size**2
    x = patches.reshape(batch, rows, columns, patch_size, patch_size, channels)  # (B, H/P, W/P, P, P, C)
    x = x.permute(0, 5, 1, 3, 2, 4)  # (B, C, H/P, P, W/P, P)
    return x.reshape(batch, channels, height, width)  # (B, C, H, W)


class PatchEmbedding(nn.Module):
    """(B, C, H, W) -> (B, N, D)

    Each patch, flattened, times one matrix: a convolution whose kernel and stride are both P does just that.

    Args:
        patch_size: P, in pixels.
        in_channels: C
        hidden_dim: D

    Raises:
        TypeError: in forward, for anything but a tensor.
        ValueError: for an impossible size; in forward, for another number of channels, a size that P does not divide,
            or images of another type or device than the weights.

    Source: Dosovitskiy et al. 2020, Eq. 1, the products x_p E.
    """

    def __init__(self, patch_size: int, in_channels: int, hidden_dim: int):
        super().__init__()
        check_arguments(patch_size=patch_size, in_channels=in_channels, hidden_dim=hidden_dim)
        self.patch_size = patch_size
        self.projection = nn.Conv2d(in_channels, hidden_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patch_grid_of(images, self.patch_size)
        check_images(images, self.projection.in_channels, self.projection)
        x = self.projection(images)  # (B, D, H/P, W/P)
        return x.flatten(2).transpose(1, 2)  # (B, N, D)


class NormedPatchEmbedding(nn.Module):
    """(B, C, H, W) -> (B, N, D)

    As `PatchEmbedding`, with a norm before and after: of the patch's numbers, and of the token's.

    Args:
        patch_size, in_channels, hidden_dim: as in `PatchEmbedding`.

    Raises:
        TypeError, ValueError: as `PatchEmbedding`.

    Source: the code of vit-pytorch; Kumar et al. 2023, "Dual PatchNorm" (arXiv:2302.01327).
    """

    def __init__(self, patch_size: int, in_channels: int, hidden_dim: int):
        super().__init__()
        check_arguments(patch_size=patch_size, in_channels=in_channels, hidden_dim=hidden_dim)
        self.patch_size = patch_size
        self.in_channels = in_channels
        self.norm1 = nn.LayerNorm(patch_size**2 * in_channels)
        self.projection = nn.Linear(patch_size**2 * in_channels, hidden_dim)
        self.norm2 = nn.LayerNorm(hidden_dim)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = patchify(images, self.patch_size)  # (B, N, P*P*C)
        check_images(images, self.in_channels, self.norm1)
        return self.norm2(self.projection(self.norm1(x)))  # (B, N, D)


def patch_grid_of(images: torch.Tensor, patch_size: int) -> tuple[int, int]:
    """(B, C, H, W) -> (rows, columns) of the patch grid; a `ValueError` where the images cannot be cut."""
    check_axes("images", images, "(B, C, H, W)")
    check_arguments(patch_size=patch_size)
    batch, channels, height, width = images.shape
    if batch == 0:
        raise ValueError(f"the batch is empty: shape {tuple(images.shape)}, but at least 1 image is needed")
    if channels == 0:
        raise ValueError(f"the images have no channels: shape {tuple(images.shape)}, but at least 1 is needed")
    _check_divides(height, width, patch_size)
    return height // patch_size, width // patch_size


def _check_divides(height: int, width: int, patch_size: int) -> None:
    for name, size in (("height", height), ("width", width)):
        if size % patch_size or size == 0:
            raise ValueError(f"image {name} {size} is not a multiple of patch size {patch_size}")
