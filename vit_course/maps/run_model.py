"""Runs a model of any library: its tokens if it has no head, in eval mode for a while, uncompiled."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.maps.hooks import HOOK_LOCK


class _Uncompiled:
    """Runs compiled models uncompiled inside the with block, until the last of all threads has left it."""

    def __init__(self) -> None:
        self.inside: int = 0
        self.stance: Any = None

    def __enter__(self) -> None:
        with HOOK_LOCK:
            # PyTorch's compiler takes seconds to import; unless it is loaded, or FlexAttention, nothing is compiled.
            if self.stance is None and {"torch._dynamo", "torch.nn.attention.flex_attention"} & sys.modules.keys():
                self.stance = torch.compiler.set_stance("force_eager")
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with HOOK_LOCK:
            self.inside -= 1
            if not self.inside and self.stance is not None:
                self.stance.__exit__(None, None, None)
                self.stance = None


UNCOMPILED = _Uncompiled()


def run(model: nn.Module, images: torch.Tensor) -> Any:
    """Runs the model and returns its output, or its tokens if it is ours and has no head."""
    config = getattr(model, "config", None)
    return model.features(images) if isinstance(config, ViTConfig) and not config.num_classes else model(images)


def first_tensor(output: object) -> torch.Tensor:
    """Returns the tokens from the output of a block or an attention, which may be a tuple or a list."""
    return output[0] if isinstance(output, (tuple, list)) else output


def logits_of(out: object) -> torch.Tensor:
    """Returns the logits (B, num_classes) from the output of a model of any library.

    Raises:
        ValueError: the output has no logits.
    """
    logits = out if isinstance(out, torch.Tensor) else getattr(out, "logits", None)
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2:
        found = f"shape {tuple(logits.shape)}" if isinstance(logits, torch.Tensor) else type(out).__name__
        raise ValueError(f"the model must give logits (B, num_classes), but it gives {found}")
    return logits


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """Context manager that puts a model into eval mode, and restores the mode of each module afterwards."""
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in training.items():
            module.training = mode


def check_evaluated(model: nn.Module) -> None:
    """Raises a `ValueError` for a model in training mode."""
    if model.training:
        raise ValueError("the model is in training mode, in which dropout changes it too: call model.eval() first")


def check_not_checkpointed(model: nn.Module) -> None:
    """Raises a `ValueError` for a model with activation checkpointing, whose layers run again in the backward pass."""
    names = ("grad_checkpointing", "gradient_checkpointing")  # timm's and Hugging Face's
    for path, module in model.named_modules():
        if any(getattr(module, name, False) is True for name in names):
            raise ValueError(
                f"activation checkpointing is on in {path or type(module).__name__}: the layers run once more in the "
                "backward pass. Switch it off, by model.set_grad_checkpointing(False) in timm or "
                "model.gradient_checkpointing_disable() in transformers"
            )


def pictures_in(values: tuple | list) -> list[torch.Tensor]:
    """Returns a list with the first tensor (B, C, H, W) among the arguments of a call, or an empty list."""
    return [x for x in values if isinstance(x, torch.Tensor) and x.ndim == 4][:1]
