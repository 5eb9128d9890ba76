"""Changes what PyTorch computes in a layer: hides keys, replaces weights and the outputs of heads and branches."""

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from vit_course.maps.attention_tracer import PRODUCTS, SOFTMAXES, SPECIAL, flat, given, weights_of
from vit_course.maps.tokens import Tokens

ADDITIONS = {"add", "add_", "__add__", "__radd__", "__iadd__"}
NEEDED = {
    "scores": "computes its attention in a way in which no key can be hidden: PyTorch's scaled_dot_product_attention, "
    "multi_head_attention_forward or softmax is needed, once a layer",
    "weights": "computes its attention in a way in which no weights can be replaced: the same is needed as for "
    "hidden keys, and none of the extra keys and padding masks of nn.MultiheadAttention",
    "heads": "computes its attention in a way in which no head can be told: PyTorch's scaled_dot_product_attention, "
    "multi_head_attention_forward, or a softmax times values (B, h, T, d) is needed, once a layer",
    "attention": "does not add its attention to its tokens once, as tokens + attention(norm(tokens))",
    "mlp": "does not add its MLP to its tokens once, after its attention, as tokens + mlp(norm(tokens))",
}


@dataclass(eq=False)
class RunningLayer:
    """The layer that is running, and the state that interventions use."""

    index: int
    path: str
    block: nn.Module
    tokens: torch.Tensor  # (B, T, D): the residual stream, to which the branches add
    changes: list["Intervention"]
    find_tokens: Callable[[int], Tokens]  # T -> which of them are patches
    image_size: tuple[int, int] | None = None  # (H, W) of the pictures; None where only a part of the model runs
    other: torch.Tensor | None = None  # the value for another picture at the present place
    entered: torch.Tensor | None = None
    hidden: torch.Tensor | None = None  # (1 or B, 1, T, T)
    replaced: torch.Tensor | None = None  # (B, h, T, T): the weights that are used instead of the layer's own
    weights: list[torch.Tensor] = field(default_factory=list)  # from an explicit softmax, not yet multiplied by values
    attended: bool = False  # whether attention ran since the last addition
    met: Counter[str] = field(default_factory=Counter)  # how often each place was reached


@dataclass(frozen=True, eq=False)
class Intervention:
    """A change of what a model computes in some of its layers, made by `without_head` and its like.

    Args:
        name: the call that made it, for messages.
        place: the "tokens" (B, T, D) that enter a layer; the "scores", as a mask (B, 1, T, T) that is True where a key
            is hidden; the "weights" (B, h, T, T); the outputs of the "heads" (B, h, T, d); or what the "attention",
            the "mlp" or the whole "layer" adds to the tokens, (B, T, D).
        layers: an index, several, or a slice.
        change: a function from the present value and the running layer to the new value.
        pictures: other pictures, whose values in the unchanged model become `RunningLayer.other`.
        row: the index of the only image of the batch that is changed; None for all of them.
    """

    name: str
    place: str
    layers: tuple[int, ...] | slice
    change: Callable[[torch.Tensor, RunningLayer], torch.Tensor]
    pictures: torch.Tensor | None = None
    row: int | None = None

    def apply(self, x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        """Returns the changed x, a new tensor of the same shape."""
        if self.row is None:
            return self.change(x, at)
        rows, changed = slice(self.row, self.row + 1), x.clone()
        changed[rows] = self.change(x[rows], at)
        return changed


class InterventionMode(TorchFunctionMode):
    """Changes what PyTorch's functions compute in the running layer, which `InterventionHooks` sets."""

    def __init__(self):
        super().__init__()
        self.running: RunningLayer | None = None
        self.busy = False  # inside one of our own calls, or interventions are paused
        self.learning = False  # nothing is changed; the values at the places are stored
        self.learned: dict[tuple[Intervention, int], torch.Tensor] = {}

    def enter(self, running: RunningLayer) -> torch.Tensor:
        """Starts a layer and returns its input tokens (B, T, D), changed if asked for."""
        self.running = running
        running.tokens = running.entered = self._changed("tokens", running.tokens)
        if any(one.place == "layer" for one in running.changes):
            running.entered = running.tokens.clone()  # a layer may add to its tokens in place
        scores = [one for one in running.changes if one.place == "scores"]
        if scores:
            batch, length = running.tokens.shape[:2]
            alike = all(one.row is None for one in scores)
            hidden = running.tokens.new_zeros(1 if alike else batch, 1, length, length, dtype=torch.bool)
            running.hidden = self._changed("scores", hidden)
            running.met.clear()
            if (blind := running.hidden.all(dim=-1)).any():
                query = int(blind.nonzero()[0, -1])
                raise ValueError(f"{scores[-1].name} leaves token {query} no key in layer {running.index}")
        return running.tokens

    def leave(self, output: torch.Tensor) -> torch.Tensor:
        """Ends a layer and returns its output (B, T, D), changed if asked for; raises if a change could not be made."""
        running, self.running = self.running, None
        for one in running.changes:
            if one.place in NEEDED and running.met[one.place] != 1:
                raise ValueError(f"{one.name}: layer {running.index} ({running.path}) {NEEDED[one.place]}")
        if all(one.place != "layer" for one in running.changes):
            return output
        self.running = running
        added = self._changed("layer", output - running.entered)
        self.running = None
        return running.entered + added

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.running is None or self.busy:
            return func(*args, **kwargs)
        self.busy = True
        try:
            return self._call(func, getattr(func, "__name__", ""), args, kwargs)
        finally:
            self.busy = False

    def _call(self, func, name: str, args: tuple, kwargs: dict):
        now = self.running
        if func is F.scaled_dot_product_attention:
            return self._fused(func, args, kwargs)
        if func is F.multi_head_attention_forward:
            return self._projected(func, args, kwargs)
        if name in ADDITIONS and any(one is now.tokens for one in args):
            return self._added(func, args, kwargs)
        inputs = [one for one in flat((*args, *kwargs.values())) if isinstance(one, torch.Tensor)]
        if name in SOFTMAXES and inputs and self._are_scores(inputs[0], args, kwargs):
            now.attended = True
            if now.hidden is not None:
                now.met["scores"] += 1
                args, kwargs = swapped(args, kwargs, inputs[0], inputs[0].masked_fill(now.hidden, -torch.inf))
            now.weights.append(self._reweighed(func(*args, **kwargs)))
            return now.weights[-1]
        result = func(*args, **kwargs)
        weights = next((one for one in inputs if any(one is each for each in now.weights)), None)
        if weights is None:
            return result
        # A product with a learned matrix, as where heads are mixed, still gives weights.
        if name in PRODUCTS and not any(one.ndim < 3 or isinstance(one, nn.Parameter) for one in inputs):
            told = weights.ndim == 4 and result.ndim == 4 and result.shape[:3] == weights.shape[:3]
            return self._changed("heads", result) if told else result
        now.weights += [one for one in flat((result,)) if isinstance(one, torch.Tensor) and one.ndim > 2]
        return result

    def _changed(self, place: str, x: torch.Tensor) -> torch.Tensor:
        now = self.running
        now.met[place] += 1
        for one in now.changes:
            if one.place == place and self.learning:
                self.learned[one, now.index] = x.detach().clone()  # later code may change it in place
            elif one.place == place:
                now.other = other = self.learned.get((one, now.index))
                if other is not None and (len(other) not in (1, len(x)) or other.shape[1:] != x.shape[1:]):
                    raise ValueError(
                        f"{one.name}: another picture gives {tuple(other.shape)} in layer {now.index}, where "
                        f"{tuple(x.shape)} is needed, or 1 in place of {len(x)}"
                    )
                x = one.apply(x, now)
        return x

    def _are_scores(self, scores: torch.Tensor, args: tuple, kwargs: dict) -> bool:
        # Whether these are scores (B, h, T, T), and the softmax is over the last axis.
        batch, length = self.running.tokens.shape[:2]
        axis = args[1] if len(args) > 1 else kwargs.get("dim")
        return axis in (-1, 3) and scores.ndim == 4 and scores[:, 0].shape == (batch, length, length)

    def _fused(self, func, args: tuple, kwargs: dict):
        now = self.running
        call = inspect.signature(weights_of).bind(*args, **kwargs).arguments
        now.attended = True
        batch, length = now.tokens.shape[:2]
        q, k = call["query"], call["key"]
        if q.ndim != 4 or len(q) != batch or q.shape[2] != length or k.shape[2] != length:
            return func(*args, **kwargs)
        if now.hidden is not None:
            now.met["scores"] += 1
            mask = call.get("attn_mask")
            if call.get("is_causal"):
                mask = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
            if mask is None or mask.dtype == torch.bool:  # True where a score counts
                mask = ~now.hidden if mask is None else mask & ~now.hidden
            else:
                mask = mask.masked_fill(now.hidden, -torch.inf)
            call |= {"attn_mask": mask, "is_causal": False}
        return self._attended(call)

    def _asked(self, place: str) -> bool:
        return any(one.place == place for one in self.running.changes)

    def _reweighed(self, weights: torch.Tensor) -> torch.Tensor:
        if self._asked("weights"):
            self.running.replaced = weights = self._changed("weights", weights)
        return weights

    def _attended(self, call: dict) -> torch.Tensor:
        # From the arguments of a fused call to its result (B, h, T, d).
        if not self._asked("weights"):
            return self._changed("heads", F.scaled_dot_product_attention(**call))
        weights, value = self._reweighed(weights_of(**call)), call["value"]
        if call.get("dropout_p"):
            weights = F.dropout(weights, call["dropout_p"])
        if call.get("enable_gqa"):
            value = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
        return self._changed("heads", weights @ value)

    def _projected(self, func, args: tuple, kwargs: dict):
        # The call of `nn.MultiheadAttention`: tokens are (T, B, D), and a mask is True where a key is hidden.
        now = self.running
        call = inspect.signature(func).bind(*args, **kwargs).arguments
        now.attended = True
        batch, length = now.tokens.shape[:2]
        if call["query"].shape[:2] != (length, batch) or len(call["key"]) != length:
            return func(*args, **kwargs)
        heads = call["num_heads"]
        if now.hidden is not None:
            now.met["scores"] += 1
            hidden, mask = now.hidden[0, 0], call.get("attn_mask")
            if len(now.hidden) > 1:
                hidden = now.hidden.expand(-1, heads, -1, -1).flatten(0, 1)  # (B h, T, T)
            if mask is not None:
                hidden = mask | hidden if mask.dtype == torch.bool else mask.masked_fill(hidden, -torch.inf)
            call |= {"attn_mask": hidden, "is_causal": False}
        if self._asked("weights") and not given(call, SPECIAL):
            return self._unpacked(call)
        if not self._asked("heads"):
            return func(**call)
        # With the identity as the output projection, the result is the outputs of the heads side by side.
        weight, bias = call["out_proj_weight"], call["out_proj_bias"]
        call |= {"out_proj_weight": torch.eye(len(weight)).to(weight), "out_proj_bias": None}
        out, weights = func(**call)  # (T, B, D)
        out = out.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)  # (B, h, T, d)
        out = self._changed("heads", out).permute(2, 0, 1, 3).flatten(2)  # (T, B, D)
        return F.linear(out, weight, bias), weights

    def _unpacked(self, call: dict) -> tuple[torch.Tensor, torch.Tensor | None]:
        # `F.multi_head_attention_forward` step by step, so that its weights can be replaced.
        bias, mask, heads = call["in_proj_bias"], call.get("attn_mask"), call["num_heads"]
        learned = zip(call["in_proj_weight"].chunk(3), (None,) * 3 if bias is None else bias.chunk(3), strict=True)
        q, k, v = (
            F.linear(call[name], *one).unflatten(2, (heads, -1)).permute(1, 2, 0, 3)  # (B, h, T, d)
            for name, one in zip(("query", "key", "value"), learned, strict=True)
        )
        if mask is not None:
            mask = mask.unflatten(0, (-1, heads)) if mask.ndim == 3 else mask  # (B h, T, T) or (T, T)
            mask = ~mask if mask.dtype == torch.bool else mask
        dropout = call["dropout_p"] if call.get("training", True) else 0.0
        out = self._attended({"query": q, "key": k, "value": v, "attn_mask": mask, "dropout_p": dropout})
        out = F.linear(out.permute(2, 0, 1, 3).flatten(2), call["out_proj_weight"], call["out_proj_bias"])  # (T, B, D)
        weights = self.running.replaced if call.get("need_weights", True) else None
        return out, weights.mean(dim=1) if weights is not None and call.get("average_attn_weights", True) else weights

    def _added(self, func, args: tuple, kwargs: dict):
        now = self.running
        branch = next((one for one in args if one is not now.tokens), None)
        if isinstance(branch, torch.Tensor) and branch.shape == now.tokens.shape:
            changed = self._changed("attention" if now.attended else "mlp", branch)
            args, kwargs = swapped(args, kwargs, branch, changed)
            now.attended = False
        now.tokens = func(*args, **kwargs)
        return now.tokens


def swapped(args: tuple, kwargs: dict, old: torch.Tensor, new: torch.Tensor) -> tuple[tuple, dict]:
    """Returns the arguments of a call with the tensor `old` replaced by `new`."""
    return (
        tuple(new if one is old else one for one in args),
        {name: new if one is old else one for name, one in kwargs.items()},
    )
