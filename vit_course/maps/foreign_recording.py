"""Recording of models that are not ours: which layers computed attention, and whether the maps are complete."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vit_course.maps.active_interventions import is_recorded, outside_interventions, paused_interventions
from vit_course.maps.anatomy import Anatomy
from vit_course.maps.attention_tracer import AttentionTracer
from vit_course.maps.encoder_blocks import is_plain
from vit_course.maps.hooks import HOOKS, Registered, hooked
from vit_course.maps.module_calls import Call, CallStack
from vit_course.maps.module_paths import few, is_inside
from vit_course.maps.recorded_attention import JoinedHeads, RecordedAttention

OVER_CHANNELS, POOLS = r"xca|crosscov|cross_cov|channel", r"pool"
# No attention is computed in these layers, and no image is cut.
PLAIN_LAYERS = (nn.Linear, nn.LayerNorm, nn.Dropout, nn.Identity, nn.GELU, nn.ReLU, nn.SiLU, nn.Softmax)
TOWERS = r"vision_model|vision_tower|visual"  # the names of the part for pictures in models of pictures and text


class _Eager:
    """Runs compiled models uncompiled inside the with block, until the last of all threads has left it."""

    def __init__(self) -> None:
        self.inside: int = 0
        self.stance: Any = None

    def __enter__(self) -> None:
        with HOOKS:
            # PyTorch's compiler takes seconds to import; unless it is loaded, or FlexAttention, nothing is compiled.
            if self.stance is None and {"torch._dynamo", "torch.nn.attention.flex_attention"} & sys.modules.keys():
                self.stance = torch.compiler.set_stance("force_eager")
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with HOOKS:
            self.inside -= 1
            if not self.inside and self.stance is not None:
                self.stance.__exit__(None, None, None)
                self.stance = None


EAGER = _Eager()


class ForeignRecording:
    """Records the attention of a model's layers in the order of the calls, and why the maps may be incomplete.

    A layer is known by its path, so that several passes in one recording add to the same layers. Modules that are given
    the same tokens side by side, such as one module for each head, are the heads of one layer.

    Args:
        anatomy: of a model that is not ours.
        openly: as in `AttentionTracer`.

    `by_layer[l]` is a list with the attention of each forward pass, `calls.sizes` the (H, W) of the images of each.
    """

    def __init__(self, anatomy: Anatomy, openly: bool = False):
        self.anatomy = anatomy
        self.tracer = AttentionTracer(self._seen, openly)
        self.tracer.idle = True  # until the model runs: other models may run inside the block
        self.thread = threading.get_ident()
        self.calls = CallStack(anatomy.model)
        self.kinds: set[type] = set()  # of the modules that computed attention
        self.ran: set[str] = set()
        self.answered: set[str] = set()
        self.numbers: dict[tuple[str, int], int] = {}  # of the layers, by path and by occurrence in a pass
        self.by_layer: list[list[RecordedAttention]] = []
        self.places: list[str] = []
        self.sequences: list[tuple[int, int | None]] = []
        self.odd: list[str] = []
        self.shorter: list[str] = []
        self.doubtful: dict[nn.Module, RecordedAttention] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Records what the model computes inside the with block, compiled or not; afterwards no hook is left."""
        hooks: list[Registered] = []
        for module, path in self.anatomy.paths.items():
            scripted = isinstance(module, torch.jit.ScriptModule)  # which takes no hooks
            if not scripted and (not path or type(module) not in PLAIN_LAYERS):
                hooks.append((module.register_forward_pre_hook, self._enter, {"with_kwargs": True}))
                hooks.append((module.register_forward_hook, self._leave, {"with_kwargs": True, "always_call": True}))
        with hooked(hooks), EAGER, self.tracer, outside_interventions():
            yield

    # While another thread registers or removes these hooks, PyTorch may call them without the kwargs.
    def _enter(self, module: nn.Module, args: tuple, kwargs: dict | None = None) -> None:
        if not self._hears():
            return
        self.calls.enter(module, args, kwargs or {})
        self.tracer.idle = False
        self.ran.add(self._path(module))

    def _leave(self, module: nn.Module, args: tuple, *rest: Any) -> None:
        if not self._hears():
            return
        kwargs = rest[0] if len(rest) > 1 else {}
        kept = self.doubtful.pop(module, None)
        if kept is not None and self._over_channels(module, kept.weights(), args, kwargs):
            self.odd.append(f"{self._path(module)} attends over channels and not over tokens")
        self.calls.leave(module, rest[-1])
        self.tracer.idle = not self.calls.running

    def _seen(self, kept: RecordedAttention, changed: str, values: torch.Tensor | None) -> None:
        owner = self._owner()
        path = self._path(owner.module)
        self.kinds.add(type(owner.module))
        self.answered |= {self._path(call.module) for call in self.calls.running}
        if len(kept.shape) == 3 and kept.shape[0] == self.calls.batch:
            kept = kept.one_head()
        shape = kept.shape
        kinds = [type(call.module).__name__ for call in self.calls.running[1:]]  # not the name of the whole model
        near = " ".join(kinds[-3:] + path.split(".")[-2:])
        if shape[-1] != shape[-2] and re.search(POOLS, near, re.IGNORECASE):
            return  # attention pooling, as at the end of SigLIP, is not a layer of the encoder
        if len(shape) == 2 and shape[0] != shape[1]:
            return  # a mixture of class vectors
        owner.own += 1
        if re.search(OVER_CHANNELS, " ".join((*kinds, path)), re.IGNORECASE):
            self.odd.append(f"{path} attends over channels and not over tokens")
        elif changed:
            self.odd.append(
                f"{path} changes its weights between the softmax and the values ({changed}), for example to mix heads"
            )
        elif len(shape) == 2 or (owner.own > 1 and (len(shape) == 3 or shape[1] == 1)):
            self.odd.append(
                f"{path} attends in a loop, with weights {tuple(shape)} in each step, and nothing says whether the "
                "steps are heads, images or layers: it must multiply weights (B, h, T, T) and values in one step"
            )
        elif len(shape) != 4:
            self.odd.append(
                f"{path} attends with weights of shape {tuple(shape)}, where (B, h, T, T) is needed: in "
                "windows, or with heads that cannot be distinguished from images"
            )
        elif shape[2] != shape[3]:
            self.odd.append(
                f"{path} attends from {shape[2]} to {shape[3]} tokens: a class token alone, a decoder "
                "or pooled keys have no map of all tokens to all"
            )
        elif shape[2] not in _lengths(owner.given, shape, self.calls.shape):
            self.shorter.append(
                f"{path} attends over {shape[2]} parts, but its input is {_shape(owner.given)}: it attends over "
                "channels, windows or pooled tokens"
            )
        elif values is not None and values.shape.count(shape[2]) > 1:  # as many tokens as channels: `_leave` decides
            self.doubtful[owner.module] = kept
        self._add(path, kept)

    def _add(self, path: str, kept: RecordedAttention) -> None:
        # Adds an attention to its layer: that of the module beside it, if it is one of several heads.
        calls = self.calls
        pair = calls.siblings() if len(kept.shape) == 4 else None
        stands = pair[1].stands(pair[0]) if pair else "behind"
        if pair and stands != "behind":
            before, now = pair
            square = self.by_layer[min(before.layers)][-1].shape[-2:]
            if stands == "unclear" or len(before.layers) > 1 or now.layers or kept.shape[-2:] != square:
                there, here = (self._path(call.module) for call in pair)
                self.odd.append(
                    f"{there} and {here} attend to equal tokens, and nothing says whether they are heads, layers or "
                    "two models: record only one of them"
                )
                stands = "behind"
        if any(call.is_second_part for call in calls.running):
            part = next(call.module for call in calls.running if call.is_second_part)
            self.odd.append(f"{self._path(part)} looks at the images after another part: record only one of the two")
        if pair and stands == "beside":
            number = min(pair[0].layers)
            layer = self.by_layer[number]
            layer[-1] = JoinedHeads([*layer[-1].parts, kept])
        else:
            number = self.numbers.setdefault((path, calls.occurrence(path)), len(self.by_layer))
            if number == len(self.by_layer):
                self.by_layer.append([])
                self.places.append(path)
            self.by_layer[number].append(kept)
        calls.orders[-1].append(number)
        for call in calls.running:
            call.layers.add(number)
        self.sequences.append((kept.shape[0], calls.batch))

    def _hears(self) -> bool:
        return is_recorded(self.thread)

    def _path(self, module: nn.Module) -> str:
        # A replica of a module, such as one per GPU, has no path: its class stands for it.
        return self.anatomy.paths.get(module) or type(module).__name__

    def _owner(self) -> Call:
        # The innermost call of a module that is not a plain layer, such as a softmax or a dropout.
        running = self.calls.running
        return next((call for call in reversed(running) if not is_plain(call.module)), running[0])

    def _over_channels(self, owner: nn.Module, weights: torch.Tensor, args: tuple, kwargs: dict) -> bool:
        # Reversing the order of the tokens reverses a map over tokens, but not a map over channels.
        if not args or not isinstance(args[0], torch.Tensor) or args[0].ndim != 3:
            return False
        turned: list[torch.Tensor] = []
        with HOOKS:  # or two threads would overwrite each other's modes
            modes = [(module, module.training) for module in owner.modules()]
            owner.eval()  # no random numbers are drawn, no running averages updated
            self.tracer.paused = True
            try:
                with (
                    torch.no_grad(),
                    paused_interventions(),
                    AttentionTracer(lambda seen, *_: turned.append(seen.weights())),
                ):
                    owner.forward(args[0].flip(1), *args[1:], **kwargs)
            finally:
                self.tracer.paused = False
                for module, mode in modes:
                    module.training = mode
        same = [one.shape == weights.shape and torch.allclose(one, weights, atol=1e-5) for one in turned]
        return any(same) and not torch.allclose(weights, weights.flip(2, 3), atol=1e-5)

    def unseen(self) -> list[str]:
        """Returns the attention layers, by name or by the class of recorded ones, whose weights were not seen."""
        alike = {path for module, path in self.anatomy.paths.items() if path and type(module) in self.kinds}
        return sorted(((self.anatomy.attention.keys() | alike) & self.ran) - self.answered)

    def reason(self) -> str | None:
        """Returns why the maps do not cover the whole encoder and the whole image, or None if they do."""
        tower = next((path for path in self.anatomy.paths.values() if re.search(rf"(^|\.)({TOWERS})$", path)), None)
        if tower is not None and any(not is_inside(path, tower) for path in self.places):
            return (
                f"{self.anatomy.name} has two towers, one for pictures and one for text, with attention over other "
                f"tokens: take the one for pictures, model.{tower}"
            )
        if self.odd:
            return self.odd[0]
        if unseen := self.unseen():
            return (
                f"the attention of {few(unseen)} could not be seen, for example because it runs in a custom kernel, "
                "has no softmax or mixes heads, so the maps would not be of all layers"
            )
        patterns = {_pattern(path) for path in self.answered}
        left = sorted(path for path in self.anatomy.attention.keys() - self.ran if _pattern(path) in patterns)
        if left:
            return f"{few(left)} did not run, or ran in a custom kernel, so the maps would not be of all layers"
        if any(images not in (None, count) for count, images in self.sequences):
            counts = sorted({count for count, _ in self.sequences})
            images = " or ".join(str(n) for n in sorted({images for _, images in self.sequences if images}))
            return (
                f"layers saw {' or '.join(map(str, counts))} sequences, but there were {images} images: a model of "
                "windows, frames or several resolutions, such as Swin, or of heads before images, has no such maps"
            )
        if self.shorter:
            return self.shorter[0]
        times = [len(layer) for layer in self.by_layer]
        if len(set(times)) > 1:
            often, seldom = (times.index(pick(times)) for pick in (max, min))
            return (
                f"{self.places[often]} attended {times[often]} times, but {self.places[seldom]} {times[seldom]}: "
                "record passes through the whole model, or through the same part of it"
            )
        shapes = sorted({tuple(kept.shape[1:]) for layer in self.by_layer for kept in layer})
        if len(shapes) > 1:
            return (
                f"maps of different shapes (h, T, T) cannot be stacked: {shapes}; a model of several stages or parts "
                "has no maps over the same tokens in all layers"
            )
        parts = sorted({_pattern(path) for path in self.places})
        if len(parts) > 1:
            return f"attention runs in several parts of the model, {', '.join(parts)}: record one of them"
        return None


def _shape(given: torch.Tensor | None) -> tuple[int, ...]:
    return () if given is None else tuple(given.shape)


def _lengths(given: torch.Tensor | None, weights: torch.Size, images: torch.Size | None) -> set[int]:
    # The possible numbers of tokens in (B, T, D) or (T, B, D), in heads (B, h, T, d), or in a feature map with channels
    # first or last. A module that is given the images themselves may make any number of them.
    shape = _shape(given)
    if len(shape) == 3:
        return set(shape[:2])
    if len(shape) != 4 or shape[1:] == images:
        return {weights[2]}
    heads = {shape[2]} if shape[1] == weights[1] else set()
    return heads | {shape[1] * shape[2], shape[2] * shape[3]}


def _pattern(path: str) -> str:
    return re.sub(r"\d+", "*", path)
