"""The class token, registers, and three ways to tell a token where its patch was."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import check_floats, check_tokens, position_table


class ClassToken(nn.Module):
    """(B, N, D) -> (B, N + 1, D)

    Puts one learned token, the same for every image, in front of the patch tokens.

    Args:
        hidden_dim: D

    Raises:
        TypeError: in forward, for anything but a tensor.
        ValueError: for an impossible size; in forward, for tokens of another width, type or device.

    Source: Dosovitskiy et al. 2020, Eq. 1, x_class.
    """

    def __init__(self, hidden_dim: int):
        super().__init__()
        check_arguments(hidden_dim=hidden_dim)
        # (1, 1, D) and not (B, 1, D): the token belongs to no image, and the last batch may be shorter.
        self.token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        nn.init.normal_(self.token, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_tokens(x, self.token)
        class_token = self.token.expand(len(x), -1, -1)  # (B, 1, D), a view: no memory is copied
        return torch.cat([class_token, x], dim=1)  # (B, N + 1, D)


class RegisterTokens(nn.Module):
    """(B, T, D) -> (B, T + R, D)

    Puts R learned tokens between the class token, if there is one, and the patch tokens. They have no positions.

    Args:
        num_registers, hidden_dim: R and D.
        class_token: whether the first token is a class token.

    Raises:
        TypeError, ValueError: as `ClassToken`.

    Source: Darcet et al. 2023, "Vision Transformers Need Registers" (arXiv:2309.16588).
    """

    def __init__(self, num_registers: int, hidden_dim: int, class_token: bool):
        super().__init__()
        check_arguments(num_registers=num_registers, hidden_dim=hidden_dim, class_token=class_token)
        self.tokens = nn.Parameter(0.02 * torch.randn(1, num_registers, hidden_dim))
        self.first = int(class_token)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_tokens(x, self.tokens)
        registers = self.tokens.expand(len(x), -1, -1)  # (B, R, D)
        return torch.cat([x[:, : self.first], registers, x[:, self.first :]], dim=1)  # (B, T + R, D)


class LearnedPositions(nn.Module):
    """(B, T, D) -> (B, T, D)

    Adds a learned vector to each token, the same for every image.

    Args:
        num_tokens: T
        hidden_dim: D

    Raises:
        TypeError: in forward, for anything but a tensor.
        ValueError: for an impossible size; in forward, for another number of tokens, or another width, type or device.

    Source: Dosovitskiy et al. 2020, Eq. 1, E_pos; section D.4 compares the kinds.
    """

    def __init__(self, num_tokens: int, hidden_dim: int):
        super().__init__()
        check_arguments(num_tokens=num_tokens, hidden_dim=hidden_dim)
        self.table = nn.Parameter(torch.zeros(1, num_tokens, hidden_dim))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + position_table(self.table, x)


class SinCos2DPositions(nn.Module):
    """(B, T, D) -> (B, T, D)

    Adds the fixed table of `sincos2d`. A class token, if there is one, gets a row of zeros: it has no position.

    Args:
        grid: (rows, columns) of patches.
        hidden_dim: D, a multiple of 4.
        class_token: whether the first token is a class token.

    Raises:
        TypeError, ValueError: as `LearnedPositions`, and for a `hidden_dim` that 4 does not divide.

    Source: Beyer et al. 2022, "Better plain ViT baselines for ImageNet-1k" (arXiv:2205.01580).
    """

    def __init__(self, grid: tuple[int, int], hidden_dim: int, class_token: bool):
        super().__init__()
        check_arguments(class_token=class_token)
        table = F.pad(sincos2d(grid, hidden_dim), (0, 0, int(class_token), 0))  # (T, D)
        self.register_buffer("table", table[None], persistent=False)  # (1, T, D), computed, so not saved

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + position_table(self.get_buffer("table"), x)


def sincos2d(grid: tuple[int, int], hidden_dim: int, temperature: float = 10_000.0) -> torch.Tensor:
    """(rows, columns) -> (N, D)

    A quarter of the D numbers each for sin and cos of the column and sin and cos of the row, at D / 4 frequencies from
    1 to 1 / temperature, as in Beyer et al. 2022; those of Vaswani et al. 2017 (section 3.5) end one step before it.

    Args:
        grid: (rows, columns) of patches.
        hidden_dim: D, a multiple of 4.
        temperature: the ratio of the fastest to the slowest frequency.

    Raises:
        ValueError: for an impossible size or a `hidden_dim` that 4 does not divide.
    """
    check_arguments(grid=grid, hidden_dim=hidden_dim, temperature=temperature)
    if hidden_dim % 4:
        raise ValueError(f"2-D sin-cos positions need a hidden_dim that is a multiple of 4, got {hidden_dim}")
    frequencies = temperature ** -torch.linspace(0, 1, hidden_dim // 4)  # (D/4,)
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    by_row = rows.flatten()[:, None] * frequencies  # (N, D/4)
    by_column = columns.flatten()[:, None] * frequencies  # (N, D/4)
    return torch.cat([by_column.sin(), by_column.cos(), by_row.sin(), by_row.cos()], dim=1)  # (N, D)


def interpolate_positions(
    table: torch.Tensor,
    grid: tuple[int, int],
    new_grid: tuple[int, int],
    class_token: bool = True,
    antialias: bool = False,
) -> torch.Tensor:
    """(1, T, D) -> (1, T', D)

    Resizes a position table to another grid of patches, so that a model can take larger images. The class
    token's row has no place in the grid: it is kept apart and comes back unchanged.

    Args:
        table: learned positions, row by row.
        grid: (rows, columns) that the table was made for.
        new_grid: (rows, columns) wanted.
        class_token: whether the first row belongs to a class token.
        antialias: as timm does: another cubic kernel, which also smooths where the new grid is smaller.

    Raises:
        TypeError: where the table is not a tensor.
        ValueError: where it does not have one row per token of `grid`, or holds no floating-point numbers.

    Source: Dosovitskiy et al. 2020, section 3.2 ("2D interpolation of the pre-trained position embeddings").
    """
    check_arguments(grid=grid, new_grid=new_grid, class_token=class_token, antialias=antialias)
    check_floats("table", table)
    prefix = int(class_token)
    needed = prefix + grid[0] * grid[1]
    if table.ndim != 3 or table.shape[:2] != (1, needed) or table.shape[2] == 0:
        raise ValueError(
            f"a grid of {grid[0]} x {grid[1]} {'with' if class_token else 'without'} a class token needs a table "
            f"(1, {needed}, D), got shape {tuple(table.shape)}"
        )
    class_row, patch_rows = table[:, :prefix], table[:, prefix:]  # (1, 0 or 1, D), (1, N, D)
    picture = patch_rows.unflatten(1, grid).permute(0, 3, 1, 2)  # (1, D, rows, columns)
    picture = picture.to(torch.promote_types(table.dtype, torch.float32))  # half precision is not always supported
    picture = F.interpolate(picture, size=new_grid, mode="bicubic", antialias=antialias)  # (1, D, rows', columns')
    return torch.cat([class_row, picture.flatten(2).transpose(1, 2).to(table.dtype)], dim=1)  # (1, T', D)
