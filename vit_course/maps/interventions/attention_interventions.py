"""Changes what PyTorch computes in the attention of a layer: queries, keys, values, weights and outputs of heads."""

import inspect
import re
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from vit_course.maps.attention_calls import PRODUCTS, SPECIAL, flat, given, project_inputs, project_output, weights_of
from vit_course.maps.interventions.intervention import Intervention, RunningLayer

MATMULS = {"matmul", "__matmul__"}  # products of two operands (..., n, m) and (..., m, k), in this order
# The forms of products, with the letters b, h, i, j, d in the order in which they come.
EINSUMS = {"bhij,bhdj->bhid": "scores", "bhij,bhjd->bhid": "heads"}


class AttentionInterventions(TorchFunctionMode):
    """Changes attention, however it is computed: by a fused call, by `nn.MultiheadAttention` or step by step."""

    def __init__(self, learned: dict[tuple[Intervention, int], torch.Tensor]) -> None:
        super().__init__()
        self.running: RunningLayer | None = None
        self.learning = False  # nothing is changed; the values at the places are stored
        self.learned = learned

    def changed(self, place: str, x: torch.Tensor) -> torch.Tensor:
        """Returns what the interventions at this place of the running layer make of x."""
        now = self.running
        assert now is not None
        now.met[place] += 1
        for one in now.changes:
            if one.place == place and self.learning:
                self.learned[one, now.index] = x.detach().clone()  # later code may change it in place
            elif one.place == place:
                now.other = other = self.learned.get((one, now.index))
                if other is not None and (len(other) not in (1, len(x)) or other.shape[1:] != x.shape[1:]):
                    raise ValueError(
                        f"{one.name}: the other picture gives shape {tuple(other.shape)} in layer {now.index}, but "
                        f"{tuple(x.shape)} is needed, or the same with 1 instead of {len(x)}"
                    )
                x = one.apply(x, now)
        return x

    def asked(self, *places: str) -> bool:
        """Whether an intervention changes one of these places of the running layer."""
        return any(one.place in places for one in self.running.changes)

    def fused(self, func: Callable, args: tuple, kwargs: dict) -> torch.Tensor:
        """Calls `F.scaled_dot_product_attention` with what is changed."""
        now = self.running
        call = inspect.signature(weights_of).bind(*args, **kwargs).arguments
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
        return self._attended(call)[0]

    def projected(self, func: Callable, args: tuple, kwargs: dict) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Calls `F.multi_head_attention_forward` with what is changed.

        Its tokens are (T, B, D), and its mask is True where a key is hidden.
        """
        now = self.running
        call = inspect.signature(func).bind(*args, **kwargs).arguments
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
        if self.asked("queries", "keys", "values", "weights") and not given(call, SPECIAL):
            return self._unpacked(call)
        if not self.asked("heads"):
            return func(**call)
        # With the identity as the output projection, the result is the outputs of the heads side by side.
        weight, bias = call["out_proj_weight"], call["out_proj_bias"]
        call |= {"out_proj_weight": torch.eye(len(weight)).to(weight), "out_proj_bias": None}
        out, weights = func(**call)  # (T, B, D)
        out = out.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)  # (B, h, T, d)
        out = self.changed("heads", out).permute(2, 0, 1, 3).flatten(2)  # (T, B, D)
        return F.linear(out, weight, bias), weights

    def softmax(self, func: Callable, args: tuple, kwargs: dict, scores: torch.Tensor) -> torch.Tensor:
        """Calls a softmax over scores (B, h, T, T), and returns the weights, with what is changed."""
        now = self.running
        if now.hidden is not None:
            now.met["scores"] += 1
            args, kwargs = swap(args, kwargs, scores, scores.masked_fill(now.hidden, -torch.inf))
        now.weights.append(self._reweighed(func(*args, **kwargs)))
        return now.weights[-1]

    def are_scores(self, scores: torch.Tensor, args: tuple, kwargs: dict) -> bool:
        """Whether these are scores (B, h, T, T), and the softmax is over the last axis."""
        batch, length = self.running.tokens.shape[:2]
        axis = args[1] if len(args) > 1 else kwargs.get("dim")
        return axis in (-1, 3) and scores.ndim == 4 and scores[:, 0].shape == (batch, length, length)

    def open(self, func: Callable, name: str, args: tuple, kwargs: dict, inputs: list[torch.Tensor]):
        """Calls a function that may be a step of attention that is computed step_by_step, with what is changed."""
        now = self.running
        if len(inputs) == 2 and (kind := _kind_of_product(name, args)):
            args, kwargs = self._multiplied(args, kwargs, *inputs, kind)
        result = func(*args, **kwargs)
        weights = next((one for one in inputs if is_among(one, now.weights)), None)
        if weights is None:
            return result
        # A product with a learned matrix, as where heads are mixed, still gives weights.
        if name in PRODUCTS and not any(one.ndim < 3 or isinstance(one, nn.Parameter) for one in inputs):
            recognised = weights.ndim == 4 and result.ndim == 4 and result.shape[:3] == weights.shape[:3]
            return self.changed("heads", result) if recognised else result
        now.weights += [one for one in flat((result,)) if isinstance(one, torch.Tensor) and one.ndim > 2]
        return result

    def _multiplied(
        self, args: tuple, kwargs: dict, left: torch.Tensor, right: torch.Tensor, kind: str
    ) -> tuple[tuple, dict]:
        # The arguments of a product of queries and keys, or of weights and values, with what is changed.
        now = self.running
        if left is right or any(one.ndim != 4 or isinstance(one, nn.Parameter) for one in (left, right)):
            return args, kwargs
        if is_among(left, now.weights):
            recognised = kind != "scores" and left.shape[:3] == right.shape[:3]
            return swap(args, kwargs, right, self.changed("values", right)) if recognised else (args, kwargs)
        batch, length = now.tokens.shape[:2]
        keys = right.mT if kind == "matmul" else right
        recognised = kind != "heads" and not is_among(right, now.weights) and left.shape == keys.shape
        if not recognised or (len(left), left.shape[2]) != (batch, length):
            return args, kwargs
        args, kwargs = swap(args, kwargs, left, self.changed("queries", left))
        changed = self.changed("keys", keys)
        new = right if changed is keys else changed.mT if kind == "matmul" else changed
        return swap(args, kwargs, right, new)

    def _reweighed(self, weights: torch.Tensor) -> torch.Tensor:
        weights = self.changed("weights", weights)
        if self._changes_weights():
            self.running.replaced = weights
        return weights

    def _changes_weights(self) -> bool:
        # Whether the weights are not those that the layer's own queries and keys give.
        return any(one.place in ("queries", "keys", "weights") and not one.only_reads for one in self.running.changes)

    def _attended(self, call: dict, step_by_step: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
        # From the arguments of a fused call to its result (B, h, T, d), and its weights if they are computed.
        for name, place in (("query", "queries"), ("key", "keys"), ("value", "values")):
            call[name] = self.changed(place, call[name])
        if not (step_by_step or self.asked("weights") or self._changes_weights()):
            return self.changed("heads", F.scaled_dot_product_attention(**call)), None
        weights, value = self._reweighed(weights_of(**call)), call["value"]
        used = F.dropout(weights, call["dropout_p"]) if call.get("dropout_p") else weights
        if call.get("enable_gqa"):
            value = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
        return self.changed("heads", used @ value), weights

    def _unpacked(self, call: dict) -> tuple[torch.Tensor, torch.Tensor | None]:
        # `F.multi_head_attention_forward` step by step, so that its parts can be replaced.
        wanted = call.get("need_weights", True)
        out, weights = self._attended(project_inputs(call), step_by_step=wanted)
        out = project_output(call, out)
        if weights is None or not wanted:
            return out, None
        return out, weights.mean(dim=1) if call.get("average_attn_weights", True) else weights


def _kind_of_product(name: str, args: tuple) -> str | None:
    # "matmul"; or of an einsum, whether it makes "scores" of queries and keys, or "heads" of weights and values.
    if name in MATMULS:
        return "matmul"
    if name != "einsum" or not isinstance(args[0], str):
        return None
    written = args[0].replace(" ", "").replace("...", "BH")
    letters = dict(zip(dict.fromkeys(re.sub(r"\W", "", written)), "bhijdxyz", strict=False))
    return EINSUMS.get("".join(letters.get(one, one) for one in written))


def is_among(x: torch.Tensor, several: list[torch.Tensor]) -> bool:
    """Whether x is one of these tensors itself."""
    return any(x is one for one in several)


def swap(args: tuple, kwargs: dict, old: torch.Tensor, new: torch.Tensor) -> tuple[tuple, dict]:
    """Returns the arguments of a call with the tensor `old` replaced by `new`, also in a list or tuple of tensors."""

    def other(given: object) -> object:
        if isinstance(given, (list, tuple)) and any(one is old for one in given):
            return type(given)(new if one is old else one for one in given)
        return new if given is old else given

    return tuple(other(one) for one in args), {name: other(one) for name, one in kwargs.items()}
