"""Augmentation on tensors: shifts, mirroring and cutout, with the random draws apart from their application."""

import torch

from vit_course._support.inputs.arguments import check_arguments, height_and_width
from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.tensors import check_axes, check_numbers, check_whole_numbers

IMAGES = "(B, C, H, W)"


def shift_and_flip(
    images: torch.Tensor, padding: int, flip: bool, generator: torch.Generator | None = None
) -> torch.Tensor:
    """(B, C, H, W) -> (B, C, H, W)

    The usual augmentation of small images, on tensors: each image is padded by reflection and cropped back at a random
    place, and mirrored half of the time.

    Args:
        images: a batch on any device, any dtype.
        padding: by how many pixels an image may shift at most; 0 for none.
        flip: whether to mirror left and right. Never for digits.
        generator: on the CPU, for repeatable draws.

    Raises:
        ValueError: where the padding does not fit into the image, or an argument is of another kind.
    """
    check_axes("images", images, IMAGES)
    check_padding(padding, images.shape[2:])
    return shift_images(images, random_shifts(len(images), padding, flip, generator), padding)


def random_shifts(count: int, padding: int, flip: bool, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns (count, 3): for each image the row and column where its crop begins, and whether it is then mirrored.

    Row and column run from -padding to padding; positive ones move the content up and left.

    Raises:
        ValueError: a count or a padding below 0, a count above 10^7, or an argument of another kind.
    """
    check_arguments(count=count, padding=padding, flip=flip)
    _check_generator(generator)
    shifts = torch.randint(0, 2 * padding + 1, (2, count), generator=generator) - padding
    mirror = (torch.rand(count, generator=generator) < 0.5) & flip
    return torch.cat([shifts, mirror[None]]).T  # (count, 3)


def shift_images(images: torch.Tensor, shifts: torch.Tensor, padding: int) -> torch.Tensor:
    """(B, C, H, W), (B, 3) -> (B, C, H, W): `shift_and_flip` by the given `random_shifts` of at most `padding`.

    Raises:
        ValueError: where the padding does not fit into the image, or the shifts fit neither the images nor the padding.
    """
    check_axes("images", images, IMAGES)
    check_padding(padding, images.shape[2:])
    _check_a_row_each("shifts", shifts, len(images), columns=3)
    # Not by abs, which overflows for the smallest int64.
    low, high = (extreme.item() for extreme in shifts[:, :2].aminmax()) if len(shifts) else (0, 0)
    if (furthest := max(-low, high)) > padding:
        raise ValueError(f"the shifts reach {furthest} pixels, but the padding is {padding}")
    batch, _, height, width = images.shape
    top, left, mirror = shifts[:, :, None].unbind(1)  # 3 x (B, 1)
    # Row and column numbers before the crop; a number outside the image is reflected back at its edge.
    rows = _reflect(top + torch.arange(height), height)  # (B, H)
    columns = torch.arange(width).expand(batch, -1)  # (B, W)
    columns = _reflect(left + torch.where(mirror.bool(), columns.flip(1), columns), width)  # (B, W)
    rows, columns = rows.to(images.device), columns.to(images.device)
    picked = torch.arange(batch, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[picked, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)  # (B, C, H, W)


def random_places(count: int, image_size: tuple[int, int], generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns (count, 2): a row and a column for each image, for `cut_out`.

    Raises:
        ValueError: a count below 0 or above 10^7, or an argument of another kind.
    """
    check_arguments(count=count)
    height, width = height_and_width("image_size", image_size)
    _check_generator(generator)
    rows = torch.randint(0, height, (count,), generator=generator)
    return torch.stack([rows, torch.randint(0, width, (count,), generator=generator)], dim=1)  # (count, 2)


def cut_out(images: torch.Tensor, places: torch.Tensor, side: int) -> torch.Tensor:
    """(B, C, H, W), (B, 2) -> (B, C, H, W)

    Sets a square in each image to 0, which in a normalised image is the mean of the training set: the model cannot
    rely on any one part. A square near the edge lies partly outside.

    Args:
        images: a batch, normalised.
        places: the row and column of each square's middle, as `random_places` draws them.
        side: of the square, in pixels; 0 for none.

    Raises:
        ValueError: images of whole numbers, which are not normalised; places outside the images; a side below 0.

    Source: DeVries & Taylor 2017 (arXiv:1708.04552).
    """
    check_axes("images", images, IMAGES)
    if not images.is_floating_point():
        raise ValueError(f"cut_out needs normalised images, which are floats, got {images.dtype}")
    _check_a_row_each("places", places, len(images), columns=2)
    check_arguments(side=side)
    if len(places) and (places.min() < 0 or (places >= torch.tensor(images.shape[2:])).any()):
        raise ValueError(
            f"places must lie inside the images of {images.shape[2]} x {images.shape[3]}, but at least one does not"
        )
    rows, columns = torch.arange(images.shape[2]), torch.arange(images.shape[3])
    top, left = (places - side // 2).unbind(1)  # 2 x (B,)
    inside_rows = (rows >= top[:, None]) & (rows < top[:, None] + side)  # (B, H)
    inside_columns = (columns >= left[:, None]) & (columns < left[:, None] + side)  # (B, W)
    square = inside_rows[:, None, :, None] & inside_columns[:, None, None, :]  # (B, 1, H, W)
    return images.masked_fill(square.to(images.device), 0.0)


def check_padding(padding: int, image_size: tuple[int, int]) -> None:
    """Raises a `ValueError` where images of (H, W) cannot be shifted by so many pixels."""
    check_arguments(padding=padding)
    height, width = image_size
    if padding >= min(height, width):
        raise ValueError(
            f"padding {padding} does not fit an image of {height} x {width}: it must be less than each side"
        )


def _check_a_row_each(name: str, values: torch.Tensor, count: int, columns: int) -> None:
    check_axes(name, values, f"(B, {columns})")
    if values.shape != (count, columns):
        raise ValueError(f"{count} images need {name} of shape {(count, columns)}, got {tuple(values.shape)}")
    check_whole_numbers(name, values)
    check_numbers(name, values)


def _check_generator(generator: torch.Generator | None) -> None:
    # The draws are made on the CPU, so that they are the same whatever device the images are on.
    if generator is not None and not (isinstance(generator, torch.Generator) and generator.device.type == "cpu"):
        raise ValueError(f"generator must be a torch.Generator on the CPU or None, got {shown(generator)}")


def _reflect(index: torch.Tensor, size: int) -> torch.Tensor:
    index = index.abs()
    return torch.where(index < size, index, 2 * (size - 1) - index)
