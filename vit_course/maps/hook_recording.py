"""Records our own attention by hooks on its layers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from vit_course.attention import SelfAttention
from vit_course.maps.active_interventions import changes_in, is_recorded
from vit_course.maps.attention_calls import weights_of
from vit_course.maps.hooks import HookSpec, hooked
from vit_course.maps.recorded_attention import RecordedAttention, full, in_full_precision, of_pair, of_weights
from vit_course.maps.run_model import pictures_in


class HookRecording:
    """Records our own attention by hooks on its layers, which leave the forward pass untouched.

    Args:
        model: with nothing else that attends.
        layers: its `SelfAttention`, by path.

    `images` has the shape (B, C, H, W) of the images of each pass.
    """

    def __init__(self, model: nn.Module, layers: dict[str, SelfAttention]):
        self.images: list[torch.Size | None] = []
        self._model, self._layers = model, layers
        self._kept: dict[str, list[RecordedAttention]] = {path: [] for path in layers}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Records what the model computes inside the with block; afterwards no hook is left."""
        hooks = [hook for path, layer in self._layers.items() for hook in _listen(layer, self._kept[path])]
        hooks.append((self._model.register_forward_pre_hook, _here(lambda _, args: self._see_images(args)), {}))
        with hooked(hooks):
            yield

    def _see_images(self, args: tuple) -> None:
        pictures = pictures_in(args)
        self.images.append(pictures[0].shape if pictures else None)

    def by_layer(self) -> list[list[RecordedAttention]]:
        """Returns a list for each layer, with its attention in each pass."""
        return list(self._kept.values())

    def first(self) -> str:
        """Returns the path of the first layer."""
        return next(iter(self._layers))

    def reason(self) -> str | None:
        """Returns why the maps are not whole, or None if they are."""
        counts = [len(layer) for layer in self._kept.values()]
        if 0 in counts:
            return (
                f"{counts.count(0)} of {len(counts)} attention layers recorded nothing: "
                "run the model inside the with block, and in the thread that opened it"
            )
        shapes = {tuple(one.shape[1:]) for layer in self._kept.values() for one in layer}
        if len(shapes) > 1 or len(set(counts)) > 1:
            return f"maps of different shapes (h, T, T) cannot be stacked: {sorted(shapes)}"
        return None


def _here(hook: Callable) -> Callable:
    # The hook, but only for calls in this thread: others may run the same model.
    thread = threading.get_ident()
    return lambda *args: hook(*args) if is_recorded(thread) else None


def _listen(layer: SelfAttention, store: list[RecordedAttention]) -> list[HookSpec]:
    # Keeps the output of the layer's own projection: projecting once more would cost a sixth of the layer's time.
    last: list[torch.Tensor] = []

    def project(_: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        last[:] = [output.detach().narrow(2, 0, 2 * output.shape[2] // 3)]

    @torch.no_grad()
    def attend(_: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        q, k = last.pop().unflatten(2, (-1, layer.num_heads, output.shape[2] // layer.num_heads)).unbind(2)
        store.append(_used(layer, q.transpose(1, 2), k.transpose(1, 2)))  # each (B, h, T, d)

    return [(layer.qkv.register_forward_hook, _here(project), {}), (layer.register_forward_hook, _here(attend), {})]


def _used(layer: nn.Module, q: torch.Tensor, k: torch.Tensor) -> RecordedAttention:
    # q and k are (B, h, T, d). If `intervene` hides keys or replaces weights, they do not determine the weights.
    hidden, replaced = changes_in(layer)
    if replaced is not None:
        return of_weights(replaced.detach(), "has its weights replaced")
    if hidden is None:
        return of_pair(q, k)
    with torch._C.DisableTorchFunction(), in_full_precision(q):  # not to be changed once more
        weights = weights_of(full(q), full(k), None, attn_mask=~hidden)
    return of_weights(weights, "has keys hidden")
