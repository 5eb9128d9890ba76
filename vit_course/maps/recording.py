"""Records attention maps in models that do not return them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import overload

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_module, need_finite
from vit_course.attention import SelfAttention
from vit_course.maps.call_recording import CallRecording
from vit_course.maps.hook_recording import HookRecording
from vit_course.maps.models.description import Description, find_description
from vit_course.maps.models.token_order import find_tested_tokens
from vit_course.maps.models.tokens import Tokens
from vit_course.maps.recorded_attention import (
    Pair,
    RecordedAttention,
)
from vit_course.vit import ViT


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
    request. Reading a result runs no model and changes none.
    """

    def __init__(
        self,
        model: nn.Module,
        description: Description | None,
        recorded: CallRecording | HookRecording,
        problem: str = "",
    ):
        self._model, self._description, self._recorded = model, description, recorded
        self._problem = problem  # why there are no maps, if that was clear before the model ran

    @property
    def by_layer(self) -> ByLayer:
        """The weights of each layer in each pass, computed on access."""
        return ByLayer(self._recorded.by_layer())

    def __repr__(self) -> str:
        """What was recorded, or why there are no maps."""
        try:
            count = self._num_tokens()
        except ValueError as error:
            return f"RecordedMaps: no maps, because {error}"
        kept = self._recorded.by_layer()
        images, heads = sum(one.shape[0] for one in kept[0]), kept[0][0].shape[1]
        recorded = f"RecordedMaps: {len(kept)} layers of {heads} heads over {count} tokens of {images} images"
        if self._description is None or not self._description.family.is_tested:
            return f"{recorded}; ask tokens() which of them are patches"
        try:
            return f"{recorded}; {self.tokens()}"
        except ValueError as error:
            return f"{recorded}; which of them are patches is not known: {error}"

    def stacked(self) -> torch.Tensor:
        """Returns the maps of all layers, (B, L, h, T, T); the batches of several forward passes are concatenated.

        Raises:
            ValueError: nothing was recorded, or NaN; there is not one map over all tokens for each layer and image,
                because shapes differ between layers or passes, a layer attends in windows, to other tokens, over
                channels or in a way that was not seen; nothing says which calls are layers (then `describe` does); or
                the recorded tensors have since been changed in place.
        """
        self._num_tokens()
        by_layer = self.by_layer
        stacked = torch.empty(0)
        for index, maps in enumerate(by_layer):
            layer = maps[0] if len(maps) == 1 else torch.cat(maps)  # (B, h, T, T)
            if index == 0:  # filled layer by layer: torch.stack would hold all maps twice
                stacked = layer.new_empty(len(layer), len(by_layer), *layer.shape[1:])
            stacked[:, index] = need_finite(f"the maps of layer {index}", layer)
        return stacked

    def queries_and_keys(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns queries and keys, each (B, L, h, T, d), such that softmax(q k^T / sqrt(d)) is `stacked()`.

        If a model scales its scores in another way, the queries include its scale.

        Raises:
            ValueError: as `stacked`; or only weights were seen, as with eager attention or a mask.
        """
        self._num_tokens()
        pairs: list[list[Pair]] = []
        for index, layer in enumerate(self._recorded.by_layer()):
            pairs.append([])
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

        For the models of known families the tests of this package have shown it. What you say of any other, by
        `describe` or here, is tested on a copy of the model, with random images.

        Args:
            grid: (rows, columns) of patches; by default as the model's description says.
            prefix: the names of the tokens before the patches, or their number; by default as the description says.

        Raises:
            ValueError: as `stacked` and `find_tested_tokens`.
        """
        count = self._num_tokens()
        images = self._image_shape()
        return find_tested_tokens(self._model, self._description, self._recorded.first(), count, images, grid, prefix)

    def _num_tokens(self) -> int:
        # Returns T, or raises if the maps are not whole.
        if self._problem:
            raise ValueError(self._problem)
        if reason := self._recorded.reason():
            raise ValueError(reason)
        shapes = {tuple(one.shape[1:]) for layer in self._recorded.by_layer() for one in layer}
        return shapes.pop()[-1]

    def _image_shape(self) -> torch.Size | None:
        # None if no image was seen, or images of several sizes.
        shapes = {None if one is None else one[1:] for one in self._recorded.images}
        inside = self._model if self._description is None else self._description.inside
        if not shapes and isinstance(inside, ViT):  # only `features` or its parts ran
            return torch.Size((1, inside.config.in_channels, *inside.config.height_width))
        shape = shapes.pop() if len(shapes) == 1 else None
        return None if shape is None or len(shape) != 3 else torch.Size((1, *shape))


@contextmanager
def record_attention(model: nn.Module) -> Iterator[RecordedMaps]:
    """Records the attention weights of `model` while the with block runs.

    Where the attention is all ours, hooks keep the queries and keys of every `SelfAttention`. The forward pass itself
    is untouched, so its output is the same with and without recording, whether the attention is computed explicitly or
    fused. The weights, softmax(q k^T / sqrt(d)), are computed on request, before dropout, so each row sums to 1. In
    other models, such as those of torchvision, timm and Hugging Face, every call by which PyTorch computes attention,
    fused or not, is intercepted, and what determines its weights is kept, in float32 if the model has 16 bits. All
    hooks are removed at the end, even after an exception. Recordings of our models can be nested, and all of them
    record the same. Only this model is recorded, whatever else runs inside the block, and only in the thread that
    opened it: several threads may each record it at the same time.

    Args:
        model: of a family that is known by name or that `describe` has made known; or any whose calls of attention say
            everything: weights (B, h, T, T) over the same tokens, in numbered modules, one call in each.

    Yields:
        `RecordedMaps`; `recorded.stacked()` gives (B, L, h, T, T) on the model's device, or says why it cannot.
        `recorded.tokens()` says which tokens are patches and where they lie.

    Raises:
        TypeError: not a module.
    """
    check_module("model", model)
    try:
        description, problem = find_description(model), ""
    except ValueError as error:
        description, problem = None, str(error)
    inside = model if description is None else description.inside
    layers = {path: module for path, module in model.named_modules() if isinstance(module, SelfAttention)}
    if description is not None:
        inner = {path for layer in description.attention for path in layer}
        layers = {path: module for path, module in layers.items() if path in inner}
    recorded: HookRecording | CallRecording
    recorded = HookRecording(inside, layers) if layers and _is_ours(inside) else CallRecording(model, description)
    with recorded.watching():
        yield RecordedMaps(model, description, recorded, problem)


def _is_ours(model: nn.Module) -> bool:
    # Whether nothing but `SelfAttention` can attend in a model: its other modules are ours or plain ones of PyTorch.
    return all(
        (isinstance(module, SelfAttention) and not _has_own_attention(type(module)))
        or (
            type(module).__module__.startswith(("vit_course.", "torch.nn"))
            and not isinstance(module, nn.MultiheadAttention)
        )
        for module in model.modules()
    )


def _has_own_attention(kind: type[SelfAttention]) -> bool:
    names = ("forward", "split_heads", "weights")
    return any(getattr(kind, name) is not getattr(SelfAttention, name) for name in names)
