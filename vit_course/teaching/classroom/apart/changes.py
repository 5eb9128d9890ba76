"""In-place changes of arguments, made again on this side."""

import torch


def change(old, new) -> None:
    """Gives `old`, the caller's own object, what the call has made of it."""
    # In-place changes of arguments, which are the caller's own objects.
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old is not new:
        if old.shape == new.shape and old.dtype == new.dtype:
            with torch.no_grad():
                old.copy_(new)
        else:
            old.data = new.detach()
        if old.is_leaf and new.requires_grad != old.requires_grad:
            old.requires_grad_(new.requires_grad)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in [key for key in old if key not in new]:
            del old[key]
        for key, value in new.items():
            change(old[key], value) if key in old and _in_place(old[key], value) else old.__setitem__(key, value)
    elif isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and old is not new:
        if len(old) == len(new):
            for index, value in enumerate(new):
                if _in_place(old[index], value):
                    change(old[index], value)
                elif isinstance(old, list):
                    old[index] = value
        elif isinstance(old, list):
            old[:] = new
    elif hasattr(old, "tobytes") and hasattr(new, "tobytes") and getattr(old, "shape", 0) == new.shape and old.shape:
        old[...] = new


def _in_place(old, new) -> bool:
    return isinstance(old, (torch.Tensor, dict, list, tuple)) and isinstance(new, type(old))
