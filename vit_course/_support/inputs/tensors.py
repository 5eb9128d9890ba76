"""Checks of input tensors: their axes, and whether their width, dtype and device match the weights.

Most read no values, so that a forward pass loses no time and need not wait for a GPU. `check_finite` and `check_rows`
do, and are called outside forward passes; so does `need_finite`, which checks a model's result after the pass.
"""

import torch
from torch import nn

AUTOCAST_MIXES = {torch.float32, torch.float16, torch.bfloat16}


def check_tensor(name: str, x: torch.Tensor) -> None:
    """Raises a `TypeError` where `x` is not a tensor, a `ValueError` where it is a sparse or a nested one."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")
    check_dense(name, x)


def check_dense(name: str, x: torch.Tensor) -> None:
    """Raises where a tensor is sparse or nested, which most of PyTorch's functions do not take."""
    if x.layout is not torch.strided or x.is_nested:
        kind = "nested" if x.is_nested else _word(x.layout)
        raise ValueError(f"{name} must be a dense tensor, got a {kind} one")


def check_axes(name: str, x: torch.Tensor, axes: str, dtype: torch.dtype | None = None) -> None:
    """Raises where `x` is not a tensor, has another number of axes than `axes` names, such as "(B, T, D)", or is of
    another `dtype`, where one is given."""
    check_tensor(name, x)
    count = len(axes.strip("(,)").split(","))
    if x.ndim != count:
        what = "1 axis" if count == 1 else f"{count} axes"
        raise ValueError(f"{name} must have {what} {axes}, got shape {tuple(x.shape)}")
    if dtype not in (None, x.dtype):
        raise ValueError(f"{name} must be {_word(dtype)}, got {_word(x.dtype)}")


def check_module(name: str, module: nn.Module) -> None:
    """Raises a `TypeError` if `module` is not an instance of `nn.Module`, such as a class."""
    if not isinstance(module, nn.Module):
        given = f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
        raise TypeError(f"{name} must be a torch.nn.Module, got {given}")


def check_tokens(x: torch.Tensor, layer: nn.Module | torch.Tensor) -> None:
    """Raises if `x` is not (B, T, D), is empty, or differs from the layer's weight in width, dtype or device."""
    check_axes("tokens", x, "(B, T, D)")
    if 0 in x.shape:
        raise ValueError(f"tokens must not be empty, got shape {tuple(x.shape)}")
    weight = _weight_of(layer)
    if weight is not None:
        if x.shape[2] != weight.shape[-1]:
            raise ValueError(f"tokens have width {x.shape[2]}, but the layer takes width {weight.shape[-1]}")
        _check_type("tokens", x, weight, "convert them first")


def position_table(table: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns the table (1, T, D); raises if `x` (B, T, D) has another number of tokens, or as `check_tokens` does."""
    check_tokens(x, table)
    # Broadcasting would accept a sequence of one token and repeat it; that is never meant.
    if x.shape[1] != table.shape[1]:
        raise ValueError(f"the position table has {table.shape[1]} rows, but the sequence has {x.shape[1]} tokens")
    return table


def check_images(images: torch.Tensor, in_channels: int, layer: nn.Module) -> None:
    """(B, C, H, W): raises for another number of channels, or a type or device other than the layer's."""
    if images.shape[1] != in_channels:
        raise ValueError(f"images have {images.shape[1]} channels, but the model takes {in_channels}")
    weight = _weight_of(layer)
    if weight is not None:
        _check_type("images", images, weight, "normalise them first, as `Dataset.normalise` does")


def check_floats(name: str, x: torch.Tensor) -> None:
    """Raises where `x` is not a tensor, or one of whole numbers, booleans or complex numbers."""
    check_tensor(name, x)
    if not x.is_floating_point():
        raise ValueError(f"{name} must be floating-point numbers, got {_word(x.dtype)}")


def check_whole_numbers(name: str, x: torch.Tensor) -> None:
    """Raises where `x` is not a tensor, or one of floating-point numbers, booleans or complex numbers."""
    check_tensor(name, x)
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise ValueError(f"{name} must be whole numbers, got {_word(x.dtype)}")


def check_numbers(name: str, x: torch.Tensor) -> None:
    """Raises if a tensor is on the device meta, and so holds no values."""
    if x.is_meta:
        raise ValueError(f"{name} must hold numbers, got a tensor on the device meta, which holds none")


def check_finite(name: str, x: torch.Tensor) -> None:
    """Raises if a number of `x` is NaN or infinite, or if `x` holds no values. Reads all values."""
    check_dense(name, x)
    check_numbers(name, x)
    wrong = int((~x.isfinite()).sum())
    if wrong:
        raise ValueError(f"{name} must be finite, but {wrong} of {x.numel()} numbers are NaN or infinite")


def need_finite(name: str, x: torch.Tensor) -> torch.Tensor:
    """Returns a model's result unchanged, after checking that it is finite; called on results before they are returned.

    Raises:
        ValueError: a number is NaN or infinite: even finite weights can be so large that the result overflows.
    """
    wrong = int((~x.isfinite()).sum())
    if wrong:
        raise ValueError(
            f"{name} must be finite, but the model gave {wrong} of {x.numel()} numbers that are NaN or infinite: its "
            f"weights, or the images, are damaged or too large for {_word(x.dtype)}"
        )
    return x


def check_rows(name: str, x: torch.Tensor) -> None:
    """Raises if a row (the last axis) of finite numbers has a negative one or does not sum to 1, as attention must."""
    # In 16 bits a row sums to 1 only to two or three digits.
    slack = 1e-3 if x.dtype in (torch.float32, torch.float64) else 2e-2
    sums = x.sum(dim=-1, dtype=torch.promote_types(x.dtype, torch.float32))
    wrong = ((sums - 1).abs() > slack) | (x < 0).any(dim=-1)
    if wrong.any():
        raise ValueError(
            f"each row of {name} must sum to 1 and hold no negative number, but {int(wrong.sum())} of {wrong.numel()} "
            f"rows do not: the sums go from {sums.min().item():.3g} to {sums.max().item():.3g}, and the smallest "
            f"number is {x.min().item():.3g}"
        )


def check_together(name: str, x: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """Raises where two tensors of floating-point numbers differ in type or device. Autocast may mix types."""
    if x.device != other.device:
        raise ValueError(f"{name} are on {x.device}, but {other_name} on {other.device}: move one of them")
    if x.dtype != other.dtype and not _autocast_mixes(x, other):
        raise ValueError(f"{name} are {_word(x.dtype)}, but {other_name} are {_word(other.dtype)}: convert one of them")


def broadcast_together(a: torch.Size, b: torch.Size) -> bool:
    """Returns whether two shapes broadcast: from the right, sizes are equal, or 1 or missing in one of them."""
    return all(i == j or 1 in (i, j) for i, j in zip(reversed(a), reversed(b), strict=False))


def _check_type(name: str, x: torch.Tensor, weight: torch.Tensor, advice: str) -> None:
    if x.dtype == weight.dtype and x.device == weight.device:
        return
    if not x.is_floating_point():
        raise ValueError(f"{name} are {_word(x.dtype)}, but the weights are {_word(weight.dtype)}: {advice}")
    check_together(name, x, "the weights", weight)


def _autocast_mixes(x: torch.Tensor, other: torch.Tensor) -> bool:
    if not {x.dtype, other.dtype} <= AUTOCAST_MIXES or not torch.amp.is_autocast_available(x.device.type):
        return False
    return torch.is_autocast_enabled(x.device.type)


def _weight_of(layer: nn.Module | torch.Tensor) -> torch.Tensor | None:
    # Read from `_parameters`, as the attribute of a parametrised weight is computed anew at each access. A quantised
    # layer, or one that was put in the place of another, may have no such weight.
    weight = layer if isinstance(layer, torch.Tensor) else layer._parameters.get("weight")
    return weight if weight is not None and weight.is_floating_point() else None


def _word(kind: torch.dtype | torch.layout) -> str:
    return str(kind).removeprefix("torch.")
