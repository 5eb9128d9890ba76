"""Sees attention in calls of PyTorch's functions: fused calls, `nn.MultiheadAttention`, products of weights."""

import inspect
from collections.abc import Callable

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

PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm", "einsum"}
# Arguments of `F.multi_head_attention_forward` that the fused `F.scaled_dot_product_attention` does not have.
SPECIAL = (
    "bias_k", "bias_v", "add_zero_attn", "key_padding_mask", "use_separate_proj_weight", "static_k", "static_v",
)  # fmt: skip
STEP_BY_STEP = "computes its weights step by step, as eager attention does"


class AttentionCalls(TorchFunctionMode):
    """Calls `seen` with each attention that PyTorch's functions compute while it listens.

    An attention is a call of `F.scaled_dot_product_attention`, of `F.multi_head_attention_forward` or of
    `flex_attention`; or a product whose left factor can be attention weights, because each of its rows sums to 1. Where
    queries and keys alone determine the weights, they are kept, otherwise the weights.

    Args:
        seen: called with the attention, and with the values (..., T, d) if they were seen. Its errors are kept in
            `error`, and do not end the call.
        step_by_step: compute fused calls in steps, so that autograd can reach their weights; then errors are raised.
    """

    def __init__(self, seen: Callable[[RecordedAttention, torch.Tensor | None], None], step_by_step: bool = False):
        super().__init__()
        self.seen, self.step_by_step = seen, step_by_step
        self._listening = False
        self.error: Exception | None = None
        self.before_dropout = WeakIdKeyDictionary()  # what dropout gave -> what it was given

    def listen(self, listening: bool) -> None:
        """Sees what is computed from now on, or no longer."""
        self._listening = listening

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self._listening:
            return func(*args, **kwargs)
        if self.step_by_step and func is F.scaled_dot_product_attention:
            return self._attend_openly(inspect.signature(weights_of).bind(*args, **kwargs).arguments)
        if self.step_by_step and func is F.multi_head_attention_forward:
            call = inspect.signature(func).bind(*args, **kwargs).arguments
            if not given(call, SPECIAL):
                return project_output(call, self._attend_openly(project_inputs(call))), None
        result = func(*args, **kwargs)  # calls inside this one are not seen
        try:
            self._see(func, args, kwargs, result)
        except Exception as error:
            if self.step_by_step:
                raise
            self.error = error
        return result

    def _see(self, func: Callable, args: tuple, kwargs: dict, result) -> None:
        name = getattr(func, "__name__", "")
        if func is F.scaled_dot_product_attention:
            call = inspect.signature(weights_of).bind(*args, **kwargs).arguments
            if torch._C._functorch.is_functorch_wrapped_tensor(call["query"]):
                raise ValueError("it runs inside a transformation of torch.func, such as vmap, where nothing is kept")
            self.seen(_of_fused(call), call["value"])
        elif func is F.multi_head_attention_forward:
            self.seen(_of_module(func, args, kwargs), None)
        elif name == "flex_attention":
            self.seen(_of_flexible(func, args, kwargs), args[2])
        elif name == "dropout" and isinstance(args[0], torch.Tensor):
            self.before_dropout[result] = args[0]
        elif name in PRODUCTS:
            self._see_product(args, kwargs)

    def _see_product(self, args: tuple, kwargs: dict) -> None:
        factors = [one for one in flat((*args, *kwargs.values())) if isinstance(one, torch.Tensor)]
        if len(factors) != 2:
            return
        used, values = factors
        weights = self.before_dropout.get(used, used)
        are_values = values.ndim == used.ndim and not isinstance(values, torch.nn.Parameter)
        if not are_values or not sums_to_one(weights):  # a learned matrix may mix heads
            return
        if self.step_by_step:
            self.seen(RecordedAttention(weights.shape, weights=weights, why=STEP_BY_STEP), values)
            return
        exact = weights.detach()
        if exact.dtype in (torch.float16, torch.bfloat16):  # whose rows sum to 1 only to two or three digits
            exact = exact.float() / exact.float().sum(dim=-1, keepdim=True)
        self.seen(of_weights(exact, STEP_BY_STEP), values)

    def _attend_openly(self, call: dict) -> torch.Tensor:
        weights, value = weights_of(**call), call["value"]
        self.seen(RecordedAttention(weights.shape, weights=weights), value)
        used = F.dropout(weights, call.get("dropout_p", 0.0))
        return used @ value.repeat_interleave(weights.shape[-3] // value.shape[-3], dim=-3)


def sums_to_one(x: torch.Tensor) -> bool:
    """Whether x can be attention weights: 2 axes or more, and rows of 2 or more non-negative numbers that sum to 1."""
    if x.ndim < 2 or x.shape[-1] < 2 or not x.is_floating_point() or x.is_meta or isinstance(x, torch.nn.Parameter):
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


def _of_fused(call: dict) -> RecordedAttention:
    # The attention of a call of `F.scaled_dot_product_attention`.
    if call.get("attn_mask") is None and not call.get("is_causal"):
        q, k = call["query"], call["key"]
        if call.get("enable_gqa"):  # several heads of queries share one of keys
            k = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
        return of_pair(q, k, call.get("scale"))
    with torch.no_grad(), in_full_precision(call["query"]):
        weights = weights_of(**{name: full(value) for name, value in call.items()})
    return of_weights(weights, "has a mask or a bias")


def _of_module(func: Callable, args: tuple, kwargs: dict) -> RecordedAttention:
    # The attention of a call of `F.multi_head_attention_forward`.
    call = inspect.signature(func).bind(*args, **kwargs).arguments
    if call["query"].ndim == 3 and not given(call, (*SPECIAL, "attn_mask", "is_causal")):
        names = ("query", "key", "in_proj_weight", "in_proj_bias", "num_heads")
        return of_projection(*(call[name] for name in names))
    asked = {"need_weights": True, "average_attn_weights": False, "training": False}
    with torch.no_grad(), in_full_precision(call["query"]):
        weights = func(**{name: full(value) for name, value in call.items()} | asked)[1]
    return of_weights(weights, "has a mask, a bias or projections of its own")


def _of_flexible(func: Callable, args: tuple, kwargs: dict) -> RecordedAttention:
    # The attention of a call of `flex_attention`: what it gives where the values are the identity.
    query, key = args[:2]
    eye = torch.eye(key.shape[-2], dtype=query.dtype, device=query.device).expand(*key.shape[:-2], -1, -1)
    with torch.no_grad():
        return of_weights(func(query, key, eye, *args[3:], **kwargs)[0], "may change its scores, as FlexAttention does")


def project_inputs(call: dict) -> dict:
    """The arguments of `F.multi_head_attention_forward`, without `SPECIAL` ones -> those of the fused call."""
    bias, mask, heads = call["in_proj_bias"], call.get("attn_mask"), call["num_heads"]
    learned = zip(call["in_proj_weight"].chunk(3), (None,) * 3 if bias is None else bias.chunk(3), strict=True)
    q, k, v = (
        F.linear(call[name], *one).unflatten(2, (heads, -1)).permute(1, 2, 0, 3)  # (T, B, D) -> (B, h, T, d)
        for name, one in zip(("query", "key", "value"), learned, strict=True)
    )
    if mask is not None:
        mask = mask.unflatten(0, (-1, heads)) if mask.ndim == 3 else mask  # (B h, T, T) or (T, T)
        mask = ~mask if mask.dtype == torch.bool else mask  # there, True is for a key that is hidden
    dropout = call["dropout_p"] if call.get("training", True) else 0.0
    return {"query": q, "key": k, "value": v, "attn_mask": mask, "dropout_p": dropout}


def project_output(call: dict, out: torch.Tensor) -> torch.Tensor:
    """(B, h, T, d) -> (T, B, D), as `F.multi_head_attention_forward` with these arguments ends."""
    return F.linear(out.permute(2, 0, 1, 3).flatten(2), call["out_proj_weight"], call["out_proj_bias"])


def given(call: dict, names: tuple[str, ...]) -> bool:
    """Whether a call has one of these arguments, with a value other than None or False."""
    return any(call.get(name) is not None and call[name] is not False for name in names)


def flat(values) -> list:
    """Returns the arguments of a call as a flat list; tuples and lists among them are replaced by their elements."""
    return [one for value in values for one in (value if isinstance(value, (tuple, list)) else (value,))]
