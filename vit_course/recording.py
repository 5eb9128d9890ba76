"""Attention maps from a model that was not written to give them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from vit_course.attention import SelfAttention


class RecordedMaps:
    """What `record_attention` saw: `by_layer[l]` is a list with one (B, h, T, T) tensor a forward pass."""

    def __init__(self, num_layers: int):
        self.by_layer: list[list[torch.Tensor]] = [[] for _ in range(num_layers)]

    def stacked(self) -> torch.Tensor:
        """-> (B, L, h, T, T), the batches of several forward passes one after the other.

        Raises:
            ValueError: where nothing was recorded, or where layers or passes have different shapes.
        """
        counts = [len(maps) for maps in self.by_layer]
        if 0 in counts:
            raise ValueError(
                f"{counts.count(0)} of {len(counts)} attention layers recorded nothing: "
                "run the model inside the with block"
            )
        shapes = {tuple(m.shape[1:]) for maps in self.by_layer for m in maps}
        if len(shapes) > 1 or len(set(counts)) > 1:
            raise ValueError(f"maps of different shapes (h, T, T) cannot be stacked: {sorted(shapes)}")
        return torch.stack([torch.cat(maps) for maps in self.by_layer], dim=1)  # (B, L, h, T, T)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[RecordedMaps]:
    """Records the attention weights of every `SelfAttention` in `model` while the with block runs.

    The forward pass itself is untouched, so its output is the same with and without recording, whichever
    path the attention takes: a hook computes the weights from the layer's input, softmax(q k^T / sqrt(d)), before
    dropout, so each row sums to 1. No hook is left behind, also after an exception. Nested recordings see the same.

    Args:
        model: any module that holds our `SelfAttention`.

    Yields:
        `RecordedMaps`; `maps.stacked()` gives (B, L, h, T, T) on the model's device.

    Raises:
        ValueError: where the model holds no `SelfAttention`.
    """
    layers = [module for module in model.modules() if isinstance(module, SelfAttention)]
    if not layers:
        raise ValueError(f"{type(model).__name__} holds no vit_course SelfAttention, so there is nothing to record")
    maps = RecordedMaps(len(layers))

    def recorder(store: list[torch.Tensor]):
        @torch.no_grad()
        def hook(layer, inputs, output):
            store.append(layer.weights(inputs[0]))

        return hook

    hooks = [layer.register_forward_hook(recorder(store)) for layer, store in zip(layers, maps.by_layer, strict=True)]
    try:
        yield maps
    finally:
        for hook in hooks:
            hook.remove()
