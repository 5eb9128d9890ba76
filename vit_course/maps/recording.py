"""Records attention maps in models that do not return them."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import overload

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_module, need_finite
from vit_course.attention import SelfAttention
from vit_course.maps.active_interventions import changes_in, is_recorded, paused_interventions
from vit_course.maps.anatomy import Anatomy
from vit_course.maps.attention_tracer import weights_of
from vit_course.maps.foreign_recording import ForeignRecording
from vit_course.maps.hooks import Registered, hooked
from vit_course.maps.module_calls import sizes_in
from vit_course.maps.module_paths import few
from vit_course.maps.probe_layers import are_tested, check_layers
from vit_course.maps.probe_tokens import find_probed_tokens
from vit_course.maps.recorded_attention import (
    Pair,
    RecordedAttention,
    full,
    in_full_precision,
    of_pair,
    of_weights,
)
from vit_course.maps.tokens import Tokens, check_whole


class ByLayer(Sequence[list[torch.Tensor]]):
    """One list for each layer, with the weights (B, h, T, T) of each forward pass, computed on access."""

    def __init__(self, kept: list[list[RecordedAttention]]):
        self._kept = kept

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> list[torch.Tensor]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[torch.Tensor]]: ...

    def __getitem__(self, index: int | slice) -> list:
        if isinstance(index, slice):
            return [self[each] for each in range(len(self))[index]]
        return [each.weights() for each in self._kept[index]]


class RecordedMaps:
    """The result of `record_attention`: `by_layer[l]` is a list with one (B, h, T, T) tensor per forward pass.

    Queries and keys are kept where possible, so that recording costs next to nothing; maps are computed from them on
    request.
    """

    def __init__(
        self,
        anatomy: Anatomy,
        kept: list[list[RecordedAttention]],
        sizes: list,
        watched: ForeignRecording | None = None,
    ):
        self.by_layer = ByLayer(kept)
        self._kept = kept
        self._anatomy = anatomy
        self._sizes = sizes  # (H, W) of the images of each pass
        self._watched = watched

    def __repr__(self) -> str:
        """What was recorded, and whether the order of the tokens was tested; or why there are no maps."""
        try:
            count = self._num_tokens()
        except ValueError as error:
            return f"RecordedMaps: no maps, because {error}"
        images, heads = sum(kept.shape[0] for kept in self._kept[0]), self._kept[0][0].shape[1]
        recorded = f"RecordedMaps: {len(self._kept)} layers of {heads} heads over {count} tokens of {images} images"
        if self._watched and not are_tested(self._watched, self._size()):
            recorded += ", not tested to be layers"
        try:
            return f"{recorded}; {self.tokens()}"
        except ValueError as error:
            return f"{recorded}; which of them are patches is not known: {error}"

    def stacked(self) -> torch.Tensor:
        """Returns the maps of all layers, (B, L, h, T, T); the batches of several forward passes are concatenated.

        Raises:
            ValueError: nothing was recorded, or NaN; there is not one map over all tokens for each layer and image,
                because shapes differ between layers or passes, a layer attends in windows, to other tokens, over
                channels or in a way that was not seen, or patches are left out; or the recorded tensors have since
                been changed in place.
        """
        self._num_tokens()
        stacked = torch.empty(0)
        for index, maps in enumerate(self.by_layer):
            layer = maps[0] if len(maps) == 1 else torch.cat(maps)  # (B, h, T, T)
            if index == 0:  # filled layer by layer: torch.stack would hold all maps twice
                stacked = layer.new_empty(len(layer), len(self.by_layer), *layer.shape[1:])
            stacked[:, index] = need_finite(f"the maps of layer {index}", layer)
        return stacked

    def queries_and_keys(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns queries and keys, each (B, L, h, T, d), such that softmax(q k^T / sqrt(d)) is `stacked()`.

        If a model scales its scores in another way, the queries include its scale.

        Raises:
            ValueError: as `stacked`; or only weights were seen, as with eager attention or a mask.
        """
        self._num_tokens()
        pairs: list[list[Pair]] = [[] for _ in self._kept]
        for index, layer in enumerate(self._kept):
            for kept in layer:
                pair = kept.queries_and_keys()
                if pair is None:
                    raise ValueError(
                        f"queries and keys of layer {index} were not seen, only its weights, because it {kept.why}: "
                        "use stacked(), which gives the maps"
                    )
                pairs[index].append(pair)
        widths = sorted({q.shape[-1] for of_layer in pairs for q, _ in of_layer})
        if len(widths) > 1:
            raise ValueError(f"heads must have one width, so that their queries can be stacked, got widths {widths}")
        q, k = (torch.stack([torch.cat([pair[i] for pair in of_layer]) for of_layer in pairs], dim=1) for i in (0, 1))
        return need_finite("queries", q), need_finite("keys", k)

    def tokens(self, grid: tuple[int, int] | None = None, prefix: int | Sequence[str] | None = None) -> Tokens:
        """Which of the T tokens are patches, where they lie, and what the others are called.

        On a model that is not ours this is tested (`find_probed_tokens`).

        Args:
            grid, prefix: as `find_probed_tokens` takes them; by default what the model says.

        Raises:
            ValueError: as `stacked` and `find_probed_tokens`.
        """
        return find_probed_tokens(self._num_tokens(), self._size(), self._anatomy, grid, prefix)

    def _num_tokens(self) -> int:
        # Returns T, or raises if the maps are not whole.
        counts = [len(layer) for layer in self._kept]
        if not counts:
            unseen = self._watched.unseen() if self._watched else []
            if any(isinstance(module, torch.jit.ScriptModule) for module in self._anatomy.paths):
                raise ValueError(
                    f"nothing was recorded: {self._anatomy.name} was traced or scripted by torch.jit, so its calls are "
                    "not seen: record the model from which it was made"
                )
            ran = f"{few(unseen)} ran, and" if unseen else "run the model inside the with block; if it ran,"
            raise ValueError(
                f"nothing was recorded: {ran} its attention is computed in a way that PyTorch's functions do not show, "
                "such as a compiled or a custom kernel, or one without a softmax (try the model's eager attention)"
            )
        if 0 in counts:
            raise ValueError(
                f"{counts.count(0)} of {len(counts)} attention layers recorded nothing: "
                "run the model inside the with block, and in the thread that opened it"
            )
        if self._watched and (reason := self._watched.reason()):
            raise ValueError(reason)
        shapes = {tuple(kept.shape[1:]) for layer in self._kept for kept in layer}
        if len(shapes) > 1 or len(set(counts)) > 1:
            raise ValueError(f"maps of different shapes (h, T, T) cannot be stacked: {sorted(shapes)}")
        num_tokens = shapes.pop()[-1]
        if self._watched:
            check_whole(self._anatomy, num_tokens, self._size())
            calls = self._watched.calls
            if calls.shape is not None:  # the model is tested as it was run
                self._anatomy.channels, self._anatomy.keyword = calls.shape[0], calls.keyword
            if not self._anatomy.attention:  # layers whose names say nothing, or which are quantized
                modules = {path: module for module, path in self._anatomy.paths.items()}
                self._anatomy.attention = {path: modules[path] for path in self._watched.places if path in modules}
            check_layers(self._watched, self._size())
        return num_tokens

    def _size(self) -> tuple[int, int] | None:
        # None if no image was seen, or images of several sizes.
        config = self._anatomy.config
        sizes = set(self._sizes) or ({config.height_width} if config else set())
        return sizes.pop() if len(sizes) == 1 else None


@contextmanager
def record_attention(model: nn.Module) -> Iterator[RecordedMaps]:
    """Records the attention weights of `model` while the with block runs.

    In a model whose attention is all ours, hooks keep the queries and keys of every `SelfAttention`. The forward pass
    itself is untouched, so its output is the same with and without recording, whether the attention is computed
    explicitly or fused. The weights, softmax(q k^T / sqrt(d)), are computed on request, before dropout, so each row
    sums to 1. In other models, such as those of torchvision, timm and Hugging Face, every call by which PyTorch
    computes attention, fused or not, is intercepted, and what determines its weights is kept, in float32 if the model
    has 16 bits. All hooks are removed at the end, even after an exception. Recordings of our models can be nested, and
    all of them record the same. Only this model is recorded, whatever else runs inside the block, and only in the
    thread that opened it: several threads may each record it at the same time.

    Args:
        model: any module whose attention goes through our `SelfAttention`, `nn.MultiheadAttention`,
            `F.scaled_dot_product_attention`, or a product of values and weights whose rows sum to 1.

    Yields:
        `RecordedMaps`; `maps.stacked()` gives (B, L, h, T, T) on the model's device, or says why it cannot.
        `maps.tokens()` says which tokens are patches and where they lie.

    Raises:
        TypeError: not a module.
    """
    check_module("model", model)
    anatomy = Anatomy(model)
    layers = {path: module for module, path in anatomy.paths.items() if isinstance(module, SelfAttention)}
    if not layers or anatomy.attention.keys() - layers.keys():
        watched = ForeignRecording(anatomy)
        with watched.watching():
            yield RecordedMaps(anatomy, watched.by_layer, watched.calls.sizes, watched)
        return
    kept: list[list[RecordedAttention]] = [[] for _ in layers]
    maps = RecordedMaps(anatomy, kept, sizes := [])
    hooks = [hook for layer, store in zip(layers.values(), kept, strict=True) for hook in _listen(layer, store)]
    hooks.append((model.register_forward_pre_hook, _here(lambda _, args: sizes.extend(sizes_in(args))), {}))
    with hooked(hooks):
        yield maps


def _here(hook: Callable) -> Callable:
    # The hook, but only for calls in this thread: others may run the same model.
    thread = threading.get_ident()
    return lambda *args: hook(*args) if is_recorded(thread) else None


def _listen(layer: SelfAttention, store: list[RecordedAttention]) -> list[Registered]:
    # Keeps the output of the layer's own projection: projecting once more would cost a sixth of the layer's time.
    last: list[torch.Tensor] = []
    ours = type(layer).split_heads is SelfAttention.split_heads and type(layer).weights is SelfAttention.weights

    @torch.no_grad()
    def attended(_: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        if ours and last:
            q, k = last.pop().unflatten(2, (-1, layer.num_heads, output.shape[2] // layer.num_heads)).unbind(2)
            store.append(_used(layer, q.transpose(1, 2), k.transpose(1, 2)))  # each (B, h, T, d)
        elif type(layer).weights is SelfAttention.weights:
            store.append(_used(layer, *layer.split_heads(inputs[0])[:2]))
        else:  # a subclass with its own `weights`
            store.append(of_weights(layer.weights(inputs[0]), "computes them in its own way"))

    def projected(_: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        last[:] = [output.detach().narrow(2, 0, 2 * output.shape[2] // 3)]

    hooks: list[Registered] = [(layer.register_forward_hook, _here(attended), {})]
    if ours:  # calls outside forward leave something behind
        hooks.append((layer.register_forward_pre_hook, _here(lambda *_: last.clear()), {}))
        hooks.append((layer.qkv.register_forward_hook, _here(projected), {}))
    return hooks


def _used(layer: nn.Module, q: torch.Tensor, k: torch.Tensor) -> RecordedAttention:
    # q and k are (B, h, T, d). If `intervene` hides keys or replaces weights, they do not determine the weights.
    hidden, replaced = changes_in(layer)
    if replaced is not None:
        return of_weights(replaced.detach(), "has its weights replaced")
    if hidden is None:
        return of_pair(q, k)
    with paused_interventions(), in_full_precision(q):
        weights = weights_of(full(q), full(k), None, attn_mask=~hidden)
    return of_weights(weights, "has keys hidden")
