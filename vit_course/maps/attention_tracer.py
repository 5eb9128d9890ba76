"""Finds attention in any model: every call of PyTorch's functions in which attention weights multiply values."""

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from vit_course.maps.recorded_attention import (
    RecordedAttention,
    full,
    in_full_precision,
    of_pair,
    of_projection,
    of_weights,
)

SOFTMAXES = {"softmax", "_softmax", "softmax_", "log_softmax"}
PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "einsum"}
# Functions that may stand between the softmax and the values without changing the weights, apart from dropout.
HARMLESS = {
    "dropout", "dropout_", "feature_dropout", "alpha_dropout", "to", "type", "type_as", "float", "half", "bfloat16",
    "double", "contiguous", "clone", "detach", "view", "reshape", "permute", "transpose", "transpose_", "swapaxes",
    "swapdims", "movedim", "__get__", "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "chunk", "unbind",
    "requires_grad_", "retain_grad", "cpu", "cuda",
}  # fmt: skip
# Functions whose outputs are tokens again and no attention scores.
TOKENS_AGAIN = {"linear", "conv1d", "conv2d", "conv3d", "layer_norm", "batch_norm", "group_norm", "rms_norm"}
# Functions behind which autograd follows nothing.
CUTS = {"detach", "detach_", "_set_grad_enabled"}

# Arguments of `F.multi_head_attention_forward` that the fused `F.scaled_dot_product_attention` does not have.
SPECIAL = (
    "bias_k", "bias_v", "add_zero_attn", "key_padding_mask", "use_separate_proj_weight", "static_k", "static_v",
)  # fmt: skip


@dataclass(eq=False)
class Scores:
    """The origin of a tensor: a product of queries and keys, and its softmax once that has been computed."""

    weights: torch.Tensor | None = None  # after the softmax, (B, h, T, S)
    changed: str = ""  # the function that changed them since


class AttentionTracer(TorchFunctionMode):
    """Intercepts every call of PyTorch's functions, and calls `seen` for each attention that it finds.

    Where queries and keys alone determine the weights, as in most fused calls and in `nn.MultiheadAttention`, they are
    kept, otherwise the weights. A tensor counts as attention weights if it is the softmax of a product and is then
    multiplied by values, which the softmax of a classifier is not. If its rows sum to 1 when it meets the values, it
    counts however it was made.

    Args:
        seen: called with the attention, whose weights are (B, h, T, S) or have other axes; the name of the function
            that changed the weights between the softmax and the values, or ""; and the values, if they were seen.
        openly: compute fused calls step by step, so that autograd can reach their weights.
    """

    def __init__(self, seen: Callable[[RecordedAttention, str, torch.Tensor | None], None], openly: bool = False):
        super().__init__()
        self.seen = seen
        self.openly = openly
        self.paused = False
        self.idle = False  # no part of the model is running; set by `ForeignRecording`
        self.result = None  # of the last call
        self.cuts = False  # whether the model cut the graph of autograd
        self.origins = WeakIdKeyDictionary()
        self.told = WeakIdKeyDictionary()
        self.mixtures = WeakIdKeyDictionary()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.paused or self.idle:
            return func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return self._fused(func, args, kwargs)
        self.result = result = func(*args, **kwargs)  # calls inside this one are not intercepted
        name = getattr(func, "__name__", "")
        self.cuts = self.cuts or name in CUTS
        if func is F.multi_head_attention_forward:
            self.seen(_projected(func, args, kwargs), "", None)
        elif name == "flex_attention":
            return self._flexible(func, args, kwargs, result)
        elif isinstance(result, (torch.Tensor, tuple, list)):
            self._follow(name, args, kwargs, result)
        return result

    def _fused(self, func, args, kwargs):
        call = inspect.signature(weights_of).bind(*args, **kwargs).arguments
        if self.openly:
            weights, value = weights_of(**call), call["value"]
            self.seen(RecordedAttention(weights.shape, weights=weights), "", value)
            return weights @ value.repeat_interleave(weights.shape[-3] // value.shape[-3], dim=-3)
        self.result = result = func(*args, **kwargs)
        if call.get("attn_mask") is None and not call.get("is_causal"):
            q, k = call["query"], call["key"]
            if call.get("enable_gqa"):  # several heads of queries share one of keys
                k = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
            self.seen(of_pair(q, k, call.get("scale")), "", call["value"])
            return result
        with torch.no_grad(), in_full_precision(result):
            weights = weights_of(**{name: full(value) for name, value in call.items()})
        self.seen(of_weights(weights, "has a mask or a bias"), "", call["value"])
        return result

    def _flexible(self, func, args: tuple, kwargs: dict, result):
        # FlexAttention (arXiv:2412.05496) shows its weights where the values are the identity.
        query, key, value, change, mask, scale = args[:6]
        heads = query.shape[-3] // key.shape[-3]  # of queries, that share one of keys
        if change.__name__ == "_identity" and mask[-1].__name__ == "noop_mask" and not self.openly:
            self.seen(of_pair(query, key.repeat_interleave(heads, dim=-3), scale), "", value)
            return result
        eye = torch.eye(key.shape[-2], dtype=query.dtype, device=query.device).expand(*key.shape[:-2], -1, -1)
        with contextlib.nullcontext() if self.openly else torch.no_grad():
            weights = func(query, key, eye, *args[3:], **kwargs)[0]
        self.seen(of_weights(weights, "changes or masks its scores, as FlexAttention may"), "", value)
        return (weights @ value.repeat_interleave(heads, dim=-3), *result[1:]) if self.openly else result

    def _follow(self, name: str, args: tuple, kwargs: dict, result) -> None:
        inputs = [one for one in flat((*args, *kwargs.values())) if isinstance(one, torch.Tensor)]
        if name in PRODUCTS and len(inputs) == 2:
            self._product(name, inputs, result)
            return
        origin = next((self.origins[one] for one in inputs if one in self.origins), None)
        if origin is None or (name in TOKENS_AGAIN and origin.weights is None):
            return
        if name in SOFTMAXES and origin.weights is None:
            # A softmax over another axis than the last does not give the rows of a map.
            axis = args[1] if len(args) > 1 else kwargs.get("dim")
            last = axis in (-1, result.ndim - 1) and name != "log_softmax"
            origin = Scores(
                self._exact(inputs[0], result), "" if last else "a softmax over an axis other than the keys"
            )
        elif origin.weights is not None and name not in HARMLESS:
            origin = Scores(origin.weights, origin.changed or name)
        for one in flat((result,)):
            if isinstance(one, torch.Tensor) and one.is_floating_point() and one.ndim > 1:
                self.origins[one] = origin

    def _product(self, name: str, inputs: list[torch.Tensor], result: torch.Tensor) -> None:
        origins = [self.origins[one] for one in inputs if one in self.origins]
        weighing = [origin for origin in origins if origin.weights is not None]
        learned = any(isinstance(each, torch.nn.Parameter) for one in inputs for each in (one, one._base))
        flat_ones = any(one.ndim < 3 for one in inputs) and not all(one.ndim == 2 for one in inputs)
        if learned or flat_ones or len(weighing) > 1:
            # The other factor is not values, but a learned matrix, as where heads are mixed, or weights as well.
            if origins:
                origin = (weighing or origins)[0]
                self.origins[result] = Scores(origin.weights, origin.changed or name) if weighing else origin
        elif weighing:
            place = next(place for place, one in enumerate(inputs) if self.origins.get(one) is weighing[0])
            self._met_values(weighing[0], inputs[place], inputs[1 - place])
        elif inputs[1] not in self.origins and sums_to_one(inputs[0]):
            # Linear attention (arXiv:1812.01243) multiplies its queries by a mixture of values.
            self.seen(self._copied(inputs[0]), "linear attention" if inputs[1] in self.mixtures else "", inputs[1])
            self.mixtures[result] = True
        else:
            self.origins[result] = Scores()

    def _met_values(self, origin: Scores, operand: torch.Tensor, values: torch.Tensor) -> None:
        if origin.weights in self.told:  # the same weights were multiplied by other values before
            return
        self.told[origin.weights] = True
        if origin.changed and sums_to_one(operand):  # changed, then normalised again: these multiply the values
            self.seen(self._copied(operand), "", values)
        else:
            self.seen(self._of(origin.weights), origin.changed, values)

    def _copied(self, weights: torch.Tensor) -> RecordedAttention:
        return self._of(weights if self.openly else weights.detach().clone())

    def _of(self, weights: torch.Tensor) -> RecordedAttention:
        why = "computes its weights step by step, as eager attention does"
        return RecordedAttention(weights.shape, weights=weights, why=why) if self.openly else of_weights(weights, why)

    def _exact(self, scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        # A 16-bit softmax is repeated in float32: its rows sum to 1 only to two or three digits.
        if self.openly:
            return weights
        if weights.dtype in (torch.float32, torch.float64):
            return weights.detach()
        with torch.no_grad():
            return scores.detach().float().softmax(dim=-1)


def sums_to_one(x: torch.Tensor) -> bool:
    """Whether x can be attention weights: 3 axes or more, and rows of 2 or more non-negative numbers that sum to 1."""
    if x.ndim < 3 or x.shape[-1] < 2 or not x.is_floating_point() or x.is_meta or isinstance(x, torch.nn.Parameter):
        return False
    slack = 1e-4 if x.dtype in (torch.float32, torch.float64) else 2e-2
    with torch.no_grad():
        return bool((x >= 0).all()) and bool(((x.float().sum(dim=-1) - 1).abs() < slack).all())


def weights_of(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
) -> torch.Tensor:
    """(B, h, T, d), (B, h, S, d) -> (B, h, T, S): the weights that the fused kernel never stores.

    Its arguments are those of `F.scaled_dot_product_attention`.
    """
    if enable_gqa:  # several heads of queries share one of keys
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)  # (B, h, T, S)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return scores.softmax(dim=-1)


def _projected(func, args: tuple, kwargs: dict) -> RecordedAttention:
    # The attention of a call of `F.multi_head_attention_forward`.
    call = inspect.signature(func).bind(*args, **kwargs).arguments
    if call["query"].ndim == 3 and not given(call, (*SPECIAL, "attn_mask", "is_causal")):
        names = ("query", "key", "in_proj_weight", "in_proj_bias", "num_heads")
        return of_projection(*(call[name] for name in names))
    asked = {"need_weights": True, "average_attn_weights": False, "training": False}
    with torch.no_grad(), in_full_precision(call["query"]):
        weights = func(**{name: full(value) for name, value in call.items()} | asked)[1]
    return of_weights(weights, "has a mask, a bias or projections of its own")


def given(call: dict, names: tuple[str, ...]) -> bool:
    """Whether a call has one of these arguments, with a value other than None or False."""
    return any(call.get(name) is not None and call[name] is not False for name in names)


def flat(values) -> list:
    """Returns the arguments of a call as a flat list; tuples and lists among them are replaced by their elements."""
    return [one for value in values for one in (value if isinstance(value, (tuple, list)) else (value,))]
