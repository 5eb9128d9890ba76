"""Tensors, looked at where they enter: their axes, and their width, type and device beside the weights they meet.

Only what is known without reading a number, so that a forward pass loses no time and a GPU need not be waited for;
`check_finite` and `check_rows` are for other places, and `finite` for what leaves: it is looked at there alone, after
the pass.
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
    """Raises a `TypeError` where `module` is no `nn.Module`, as its class is none."""
    if not isinstance(module, nn.Module):
        given = f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
        raise TypeError(f"{name} must be a torch.nn.Module, got {given}")


def check_tokens(x: torch.Tensor, layer: nn.Module | torch.Tensor) -> None:
    """Raises where `x` is not (B, T, D), is empty, or does not go with the layer or the weight that it meets first."""
    check_axes("tokens", x, "(B, T, D)")
    if 0 in x.shape:
        raise ValueError(f"tokens must not be empty, got shape {tuple(x.shape)}")
    weight = _weight_of(layer)
    if weight is not None:
        if x.shape[2] != weight.shape[-1]:
            raise ValueError(f"tokens have width {x.shape[2]}, but the layer takes width {weight.shape[-1]}")
        _check_type("tokens", x, weight, "convert them first")


def position_table(table: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The table (1, T, D) itself; raises where `x` is no (B, T, D) of as many tokens, and else as `check_tokens`."""
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
    """Raises where a tensor is on the device meta, so that its numbers cannot be looked at."""
    if x.is_meta:
        raise ValueError(f"{name} must hold numbers, got a tensor on the device meta, which holds none")


def check_finite(name: str, x: torch.Tensor) -> None:
    """Raises where a number of `x` is NaN or infinite, or where it holds none. It reads them all."""
    check_dense(name, x)
    check_numbers(name, x)
    wrong = int((~x.isfinite()).sum())
    if wrong:
        raise ValueError(f"{name} must be finite, {wrong} of {x.numel()} numbers are NaN or infinite")


def finite(name: str, x: torch.Tensor) -> torch.Tensor:
    """-> what a model gave, itself; raises where a number of it is NaN or infinite. All that leaves goes through here.

    Raises:
        ValueError: as finite weights can be so large that what they make is not.
    """
    wrong = int((~x.isfinite()).sum())
    if wrong:
        raise ValueError(
            f"{name} must be finite, but the model gave {wrong} of {x.numel()} numbers that are NaN or infinite: its "
            f"weights, or the images, are damaged or too large for {_word(x.dtype)}"
        )
    return x


def check_rows(name: str, x: torch.Tensor) -> None:
    """Raises where a row (the last axis) of finite numbers is no attention: negative somewhere, or not summing to 1."""
    # Of 16 bits, a row sums to 1 to two digits or three.
    slack = 1e-3 if x.dtype in (torch.float32, torch.float64) else 2e-2
    sums = x.sum(dim=-1, dtype=torch.promote_types(x.dtype, torch.float32))
    wrong = ((sums - 1).abs() > slack) | (x < 0).any(dim=-1)
    if wrong.any():
        raise ValueError(
            f"each row of {name} must sum to 1 and hold no negative number, {int(wrong.sum())} of {wrong.numel()} rows "
            f"do not: their sums go from {sums.min().item():.3g} to {sums.max().item():.3g}, the smallest number is "
            f"{x.min().item():.3g}"
        )


def check_together(name: str, x: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """Raises where two tensors of floating-point numbers differ in type or device. Autocast may mix types."""
    if x.device != other.device:
        raise ValueError(f"{name} are on {x.device}, {other_name} on {other.device}: move one of them")
    if x.dtype != other.dtype and not _autocast_mixes(x, other):
        raise ValueError(f"{name} are {_word(x.dtype)}, {other_name} are {_word(other.dtype)}: convert one of them")


def broadcast_together(a: torch.Size, b: torch.Size) -> bool:
    """Whether two shapes are equal from the right, or 1 in one of them, or not there."""
    return all(i == j or 1 in (i, j) for i, j in zip(reversed(a), reversed(b), strict=False))


def _check_type(name: str, x: torch.Tensor, weight: torch.Tensor, advice: str) -> None:
    if x.dtype == weight.dtype and x.device == weight.device:
        return
    if not x.is_floating_point():
        raise ValueError(f"{name} are {_word(x.dtype)}: {advice}, the weights are {_word(weight.dtype)}")
    check_together(name, x, "the weights", weight)


def _autocast_mixes(x: torch.Tensor, other: torch.Tensor) -> bool:
    if not {x.dtype, other.dtype} <= AUTOCAST_MIXES or not torch.amp.is_autocast_available(x.device.type):
        return False
    return torch.is_autocast_enabled(x.device.type)


def _weight_of(layer: nn.Module | torch.Tensor) -> torch.Tensor | None:
    # Read where it is stored and not as an attribute: a parametrised weight is computed anew at each reading, and a
    # layer that somebody put in another's place, or a quantised one, may have no weight of this kind.
    weight = layer if isinstance(layer, torch.Tensor) else layer._parameters.get("weight")
    return weight if weight is not None and weight.is_floating_point() else None


def _word(kind: torch.dtype | torch.layout) -> str:
    return str(kind).removeprefix("torch.")
