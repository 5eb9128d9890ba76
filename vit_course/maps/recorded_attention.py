"""One recorded attention: its queries and keys, from which the weights are computed on request, or the weights."""

import contextlib
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from vit_course.attention import attention_weights

Pair = tuple[torch.Tensor, torch.Tensor]


class RecordedAttention:
    """The attention of one layer in one forward pass; `shape` is that of its weights, (B, h, T, S).

    Args:
        shape: of the weights.
        pair: a function that returns queries (B, h, T, d) and keys (B, h, S, d) such that softmax(q k^T / sqrt(d)) are
            the weights; or None.
        weights: the weights, if there is no pair.
        lent: tensors that belong to the model, which may change them in place.
        why: if there is no pair, the reason, worded to follow "because it".
    """

    def __init__(
        self,
        shape: torch.Size,
        pair: Callable[[], Pair] | None = None,
        weights: torch.Tensor | None = None,
        lent: tuple[torch.Tensor, ...] = (),
        why: str = "",
    ):
        self.shape = torch.Size(shape)
        self.why = why
        self._pair, self._weights = pair, weights
        self._lent = lent
        self._versions = [None if tensor.is_inference() else tensor._version for tensor in lent]

    def weights(self) -> torch.Tensor:
        """Returns the weights (B, h, T, S), in float32 if the model has 16 bits.

        Raises:
            ValueError: the recorded tensors have been changed in place since.
        """
        if self._weights is not None:
            self._check_unchanged()
            return self._weights if self._weights.shape == self.shape else self._weights.unsqueeze(1)
        q, k = self.queries_and_keys()
        with in_full_precision(q):  # also if they are requested under autocast
            return attention_weights(q, k)

    def computed(self) -> torch.Tensor:
        """Returns the weights as the model computed them, whose gradients autograd knows; (B, T, S) of a single head.

        Raises:
            ValueError: as `weights`.
        """
        self._check_unchanged()
        return self.weights() if self._weights is None else self._weights

    def queries_and_keys(self) -> Pair | None:
        """Returns queries and keys, in float32 if the model has 16 bits, or None if only weights were seen.

        Raises:
            ValueError: as `weights`.
        """
        if self._pair is None:
            return None
        self._check_unchanged()
        with torch.no_grad():
            q, k = self._pair()
            leading = self.shape[:-2]
            return q.expand(*leading, -1, -1), k.expand(*leading, -1, -1)

    def one_head(self) -> "RecordedAttention":
        """Returns the same attention with an axis for one head: weights (B, T, S) become (B, 1, T, S)."""
        batch, *square = self.shape
        pair = self._pair
        heads = None if pair is None else lambda: tuple(each.unsqueeze(1) for each in pair())
        return RecordedAttention(torch.Size((batch, 1, *square)), heads, self._weights, self._lent, self.why)

    @property
    def parts(self) -> Sequence["RecordedAttention"]:
        """The attention that was seen at once: this one, or several that are the heads of one layer."""
        return (self,)

    def _check_unchanged(self) -> None:
        lent = zip(self._lent, self._versions, strict=True)
        if any(version is not None and tensor._version != version for tensor, version in lent):
            raise ValueError(
                "the recorded tensors have been changed in place since, by the model or by a training step: ask for "
                "the maps before that"
            )


class JoinedHeads(RecordedAttention):
    """Several attentions (B, h, T, S) of one layer, such as one module for each head, joined in the order of the calls.

    Args:
        parts: of the same B, T and S.
    """

    def __init__(self, parts: Sequence[RecordedAttention]):
        batch, _, *square = parts[0].shape
        super().__init__(torch.Size((batch, sum(part.shape[1] for part in parts), *square)))
        self._parts = parts

    @property
    def parts(self) -> Sequence[RecordedAttention]:
        return self._parts

    def weights(self) -> torch.Tensor:
        return torch.cat([part.weights() for part in self._parts], dim=1)

    def queries_and_keys(self) -> Pair | None:
        pairs = [part.queries_and_keys() for part in self._parts]
        if not all(pairs) or len({q.shape[-1] for q, _ in pairs}) > 1:
            self.why = next((part.why for part in self._parts if part.why), "has heads of different widths")
            return None
        q, k = (torch.cat(each, dim=1) for each in zip(*pairs, strict=True))
        return q, k


def of_weights(weights: torch.Tensor, why: str) -> RecordedAttention:
    """Keeps the weights themselves, or a copy of inference tensors, whose in-place changes PyTorch does not count."""
    weights = weights.clone() if weights.is_inference() else weights
    return RecordedAttention(weights.shape, weights=weights, lent=(weights,), why=why)


def of_pair(q: torch.Tensor, k: torch.Tensor, scale: float | None = None) -> RecordedAttention:
    """(..., T, d), (..., S, d): keeps copies of queries and keys, which cost little compared with computing them.

    Args:
        q, k: before scaling.
        scale: the factor of the scores, if it is not 1 / sqrt(d).
    """
    leading = q.shape[:-2]
    if leading != k.shape[:-2]:  # compared first: the first call of broadcast_shapes imports half of PyTorch
        leading = torch.broadcast_shapes(leading, k.shape[:-2])
    shape = torch.Size((*leading, q.shape[-2], k.shape[-2]))
    factor = 1.0 if scale is None else scale * q.shape[-1] ** 0.5
    q, k = q.detach().clone(), k.detach().clone()

    def pair() -> Pair:
        with in_full_precision(q):
            return full(q) * factor if factor != 1 else full(q), full(k)

    return RecordedAttention(shape, pair)


def of_projection(
    asking: torch.Tensor, asked: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, num_heads: int
) -> RecordedAttention:
    """(T, B, D), (S, B, D): keeps the tokens, from which queries and keys are computed on request.

    Args:
        asking, asked: the tokens that give queries and those that give keys.
        weight, bias: (3 D, D) and (3 D,) or None, of queries, keys and values one after the other.
        num_heads: h
    """
    width = asking.shape[-1]
    shape = torch.Size((asking.shape[1], num_heads, len(asking), len(asked)))
    lent = (weight,) if bias is None else (weight, bias)
    kept = asking.detach().clone()
    other = kept if asked is asking else asked.detach().clone()

    def pair() -> Pair:
        with in_full_precision(kept):
            made = []
            for place, tokens in enumerate((kept, other)):
                part = slice(place * width, (place + 1) * width)
                x = F.linear(full(tokens), full(weight)[part], None if bias is None else full(bias)[part])
                made.append(x.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3))  # (B, h, T, d)
            return tuple(made)

    return RecordedAttention(shape, pair, lent=lent)


def in_full_precision(like: torch.Tensor) -> contextlib.AbstractContextManager:
    """Switches autocast off on the device of `like`, inside the with block."""
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else contextlib.nullcontext()


def full(value):
    """Returns a 16-bit tensor as float32, and anything else as it is.

    In 16 bits, the rows of attention weights sum to 1 only to two or three digits.
    """
    is_half = isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)
    return value.float() if is_half else value
