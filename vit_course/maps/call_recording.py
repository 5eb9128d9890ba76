"""Records the attention of models that are not ours: which calls belong to which layer, and whether they are all."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vit_course.maps.active_interventions import interventions_first, is_recorded
from vit_course.maps.attention_calls import AttentionCalls
from vit_course.maps.hooks import HookSpec, hooked
from vit_course.maps.models.description import Description, how_to_describe
from vit_course.maps.models.module_paths import few
from vit_course.maps.recorded_attention import JoinedHeads, RecordedAttention
from vit_course.maps.run_model import UNCOMPILED


class CallRecording:
    """Records the attention that the modules of a model compute, by the paths of these modules.

    In a model with a description, the attention modules of its layers are watched, and each pass begins with the
    outermost module that takes the images. In any other model all modules are watched, an attention belongs to the
    innermost of them that runs, and each pass is a call of the model. There, the recording is whole only if the calls
    say everything: weights (B, h, T, T) over the same T tokens, once in each of several numbered modules.

    Args:
        model: that runs.
        description: of the model; None if it has none.
        step_by_step: as in `AttentionCalls`.

    `images` has an entry for each pass, the shape (B, C, H, W) of its images, or None if none were seen.
    """

    def __init__(self, model: nn.Module, description: Description | None, step_by_step: bool = False):
        self.model, self.description = model, description
        self.images: list[torch.Size | None] = []
        self._calls = AttentionCalls(self._see, step_by_step)
        self._thread = threading.get_ident()
        self._paths = {module: path for path, module in model.named_modules()}
        self._running: list[tuple[nn.Module, tuple]] = []  # the watched modules that run, outermost first; their inputs
        self._taking: list[nn.Module] = []  # those that run and take images
        self._kept: dict[str, list[RecordedAttention]] = {}  # by path
        self._last_pass: dict[str, int] = {}  # of each path
        self._odd = ""  # why there are no maps, the first reason

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Records what the model computes inside the with block, compiled or not; afterwards no hook is left."""
        if self.description is None:
            watched = [module for module in self._paths if module is self.model or not _is_plain(module)]
            takers = [self.model]
        else:
            watched = [module for layer in self.description.attention for module in layer.values()]
            takers = self.description.image_takers
        hooks: list[HookSpec] = []
        for modules, enter, leave in (
            (takers, self._enter_taker, self._leave_taker),
            (watched, self._enter, self._leave),
        ):
            for module in modules:
                if not isinstance(module, torch.jit.ScriptModule):  # which takes no hooks
                    hooks.append((module.register_forward_pre_hook, enter, {"with_kwargs": True}))
                    hooks.append((module.register_forward_hook, leave, {"always_call": True}))
        with hooked(hooks), UNCOMPILED, self._calls, interventions_first():
            yield

    @property
    def _is_tested(self) -> bool:
        return self.description is not None and self.description.family.is_tested

    def by_layer(self) -> list[list[RecordedAttention]]:
        """Returns a list for each layer, with its attention in each pass, as far as it was recorded."""
        if self.description is None:
            return [list(layer) for layer in self._kept.values()]
        layers = []
        for modules in self.description.attention:
            heads = [self._kept.get(path, []) for path in modules]
            several = list(zip(*heads, strict=False))
            layers.append([one[0] if len(one) == 1 else JoinedHeads(one) for one in several])
        return layers

    def first(self) -> str:
        """Returns the path of the module whose attention came first."""
        return next(iter(self._kept))

    def reason(self) -> str | None:
        """Returns why the maps do not cover all layers, all tokens and all images, or None if they do."""
        if any(_is_traced(module) for module in self._paths):
            return (
                f"{type(self.model).__name__} was traced or scripted, so the calls of its modules are not seen: record "
                "the model from which it was made"
            )
        if self._calls.error is not None:
            return f"its attention could not be recorded: {type(self._calls.error).__name__}: {self._calls.error}"
        expected = list(self._kept)
        if self.description is not None:
            expected = [path for layer in self.description.attention for path in layer]
        if not self._kept:
            return (
                "nothing was recorded: run the model inside the with block, and in the thread that opened it; if it "
                "ran, it called none of PyTorch's attention functions, and multiplied no values by weights whose rows "
                "sum to 1, as where it has no attention, no softmax, changes the weights after it, or has a kernel of "
                "its own (try the model's eager attention)"
            )
        if unseen := [path for path in expected if path not in self._kept]:
            return (
                f"no attention was seen in {few(unseen)}: it did not run, has a kernel of its own, or multiplies "
                "values by weights whose rows do not sum to 1"
            )
        if self._odd:
            return self._odd
        times = {path: len(self._kept[path]) for path in expected}
        if len(set(times.values())) > 1:
            often, seldom = max(times, key=times.__getitem__), min(times, key=times.__getitem__)
            return (
                f"{often} attended {times[often]} times, but {seldom} {times[seldom]}: record passes through the whole "
                "model, or through the same part of it"
            )
        shapes = sorted({tuple(kept.shape[1:]) for layer in self.by_layer() for kept in layer})
        if len(shapes) > 1:
            return f"maps of different shapes (h, T, T) cannot be stacked: {shapes}"
        if self.description is None and (why := self._why_unclear(shapes[0][0])):
            return why
        if not self._is_tested:
            return self._why_axes_unclear(shapes[0][0])
        return None

    def _why_axes_unclear(self, heads: int) -> str | None:
        # Why the first axis may be that of the heads, in a model whose layers nobody has tested.
        if heads > 1 and any(images is not None and images[0] == heads for images in self.images):
            return f"there are as many images as heads, {heads}, so either may come first: run another number of images"
        return None

    def _why_unclear(self, heads: int) -> str | None:
        # Why the modules that attended may not be the layers of a model that has no description.
        attended, layers = list(self._kept), [_layer_of(path) for path in self._kept]
        rests = {path.removeprefix(layer) for path, layer in zip(attended, layers, strict=True)}
        lists = {layer.rpartition(".")[0] for layer in layers}
        idle = [
            path
            for module, path in self._paths.items()
            if path == _layer_of(path) != "" and path.rpartition(".")[0] in lists
            if path not in layers and path[-1].isdigit() and not _is_plain(module)
        ]
        if len(set(layers)) < len(layers) or len(rests) > 1 or len(lists) > 1:
            why = f"attention runs in {few(sorted(attended))}, which may be heads, branches or several models"
        elif idle:
            why = f"no attention was seen in {few(idle)}, beside layers in which it was"
        elif len(layers) > 1 and heads == 1:
            why = f"each of {few(attended)} attends with one head, so they may be heads of one layer"
        else:
            return None
        return f"{why}; {how_to_describe(self.model)}"

    def _enter_taker(self, module: nn.Module, args: tuple, kwargs: dict | None = None) -> None:
        if is_recorded(self._thread):
            if not self._taking:  # the outermost module that is given the images
                self._begin_pass(args, kwargs)
            self._taking.append(module)

    def _leave_taker(self, module: nn.Module, *_: Any) -> None:
        if is_recorded(self._thread) and module in self._taking:
            del self._taking[self._taking.index(module) :]

    # While another thread registers or removes these hooks, PyTorch may call them without the kwargs.
    def _enter(self, module: nn.Module, args: tuple, kwargs: dict | None = None) -> None:
        if is_recorded(self._thread):
            self._running.append((module, (*args, *(kwargs or {}).values())))
            self._calls.listen(True)

    def _leave(self, module: nn.Module, *_: Any) -> None:
        if is_recorded(self._thread):
            while self._running and self._running.pop()[0] is not module:
                pass  # one inside, which ended with an exception
            self._calls.listen(bool(self._running))

    def _begin_pass(self, args: tuple, kwargs: dict | None) -> None:
        tensors = (x for x in (*args, *(kwargs or {}).values()) if isinstance(x, torch.Tensor) and x.ndim > 3)
        self.images.append(next((x.shape for x in tensors), None))  # a video has one axis more

    def _see(self, kept: RecordedAttention, values: torch.Tensor | None) -> None:
        module, inputs = self._running[-1]
        path, images = self._paths[module], self.images[-1] if self.images else None
        if len(kept.shape) == 3 and images is not None and kept.shape[0] == images[0]:
            kept = kept.one_head()
        name = path or type(module).__name__
        odd = self._why_odd(name, self._last_pass.get(path), kept.shape, images)
        if odd is None and self.description is None and (odd := _why_no_tokens(name, kept.shape, inputs, values)):
            odd = f"{odd}; {how_to_describe(self.model)}"
        self._odd = self._odd or odd or ""
        self._last_pass[path] = len(self.images)
        self._kept.setdefault(path, []).append(kept)

    def _why_odd(self, path: str, last: int | None, shape: torch.Size, images: torch.Size | None) -> str | None:
        # Why weights of this shape are no map of all tokens to all, or None.
        if not self._taking and not (self.description and self.description.patches):
            return (
                f"{path} ran outside of a call of {type(self.model).__name__}, so nothing says for which images: call "
                "the model itself, or describe it with patches="
            )
        if last == len(self.images):
            return f"{path} attends more than once in a pass, and nothing says whether to heads, layers or images"
        if len(shape) != 4:
            return (
                f"{path} attends with weights of shape {tuple(shape)}, where (B, h, T, T) is needed: in windows, in a "
                "loop, or with heads that cannot be told from images"
            )
        if shape[2] != shape[3]:
            return f"{path} attends from {shape[2]} to {shape[3]} tokens, so it has no map of all tokens to all"
        if images is not None and shape[0] != images[0]:
            return (
                f"{path} attends in {shape[0]} sequences, but there are {images[0]} images: windows, frames, several "
                "resolutions, or heads before images, so there is no map of all tokens to all"
            )
        return None


def _why_no_tokens(path: str, shape: torch.Size, inputs: tuple, values: torch.Tensor | None) -> str | None:
    # Why T may not be the number of tokens, in a module that nobody has described; or None.
    given = next((tuple(x.shape) for x in inputs if isinstance(x, torch.Tensor)), ())
    has_tokens = len(given) == 3 and {shape[0], shape[2]} == {*given[:2]}  # (B, T, D) or (T, B, D)
    has_queries = len(given) == 4 and given[:3] == shape[:3]  # (B, h, T, d)
    if not (has_tokens or has_queries):
        return f"{path} attends over {shape[2]} parts of {given}, where tokens (B, T, D) are needed"
    if values is not None and list(values.shape).count(shape[2]) > 1:
        return f"{path} attends to as many tokens as there are numbers in a head, so it may attend over channels"
    return None


def _layer_of(path: str) -> str:
    # "encoder.layers.10.attn" -> "encoder.layers.10", "block_3.attn" -> "block_3"; without a number, the path itself
    found = re.match(r"(.*?\.)??\d+(?=\.|$)", path) or re.match(r"(.*?\.)??[^.]*\d(?=\.|$)", path)
    return found[0] if found else path


def _is_traced(module: nn.Module) -> bool:
    # By torch.jit or, as timm's feature extractors, by torch.fx, which is not imported for this.
    kinds = [kind.__name__ for kind in type(module).__mro__]
    return isinstance(module, torch.jit.ScriptModule) or "GraphModule" in kinds


def _is_plain(module: nn.Module) -> bool:
    # Whether a module is one of PyTorch's own layers, other than `nn.MultiheadAttention`.
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, nn.MultiheadAttention)
