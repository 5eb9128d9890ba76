"""An intervention, and the layer that is running with it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

from vit_course.maps.models.tokens import Tokens

QUERIES_AND_KEYS = (
    "computes its attention in a way that does not show its queries and keys: each layer must call PyTorch's "
    "scaled_dot_product_attention, or multi_head_attention_forward without extra keys and padding masks, or multiply "
    "queries (B, h, T, d) by keys (B, h, d, T), once"
)
NEEDED = {
    "scores": "computes its attention in a way that does not let keys be hidden: each layer must call PyTorch's "
    "scaled_dot_product_attention, multi_head_attention_forward or softmax, once",
    "weights": "computes its attention in a way that does not let weights be replaced: each layer must call PyTorch's "
    "scaled_dot_product_attention, softmax, or multi_head_attention_forward without extra keys and padding masks, once",
    "heads": "computes its attention in a way that does not show its heads: each layer must call PyTorch's "
    "scaled_dot_product_attention or multi_head_attention_forward, or multiply a softmax by values (B, h, T, d), once",
    "queries": QUERIES_AND_KEYS,
    "keys": QUERIES_AND_KEYS,
    "values": "computes its attention in a way that does not show its values: each layer must call PyTorch's "
    "scaled_dot_product_attention, or multi_head_attention_forward without extra keys and padding masks, or multiply a "
    "softmax by values (B, h, T, d), once",
    "neurons": "does not show the neurons of its MLP: after the attention has been added, exactly one linear layer "
    "must take tokens (B, T, M) back to (B, T, D), with M not equal to D",
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
    weights: list[torch.Tensor] = field(default_factory=list)  # the result of a softmax, and what was made of it
    # What was computed from the output of the attention, until it is added to the tokens.
    attention: WeakIdKeyDictionary = field(default_factory=WeakIdKeyDictionary)
    met: Counter[str] = field(default_factory=Counter)  # how often each place was reached
    given: torch.Tensor | None = None  # the tokens as the model gave them to the layer
    start: torch.Tensor | None = None  # those that are used in their place, wherever the layer uses them
    parts: set[nn.Module] | None = None  # of a layer that is a list of modules: those that have not run yet


@dataclass(frozen=True, eq=False)
class Intervention:
    """A change of what a model computes in some of its layers, made by `without_head` and its like.

    Args:
        name: the call that made it, for messages.
        place: the "tokens" (B, T, D) that enter a layer; its "queries", "keys" and "values" (B, h, T, d); the "scores",
            as a mask (B, 1, T, T) that is True where a key is hidden; the "weights" (B, h, T, T); the outputs of the
            "heads" (B, h, T, d); the "neurons" (B, T, M) that enter the last linear layer of the MLP; what the
            "attention", the "mlp" or the whole "layer" adds to the tokens, (B, T, D); or the "output" (B, T, D).
        layers: an index, several, or a slice.
        change: a function from the present value and the running layer to the new value.
        pictures: other pictures, whose values in the unchanged model become `RunningLayer.other`.
        row: the index of the only image of the batch that is changed; None for all of them.
        only_reads: whether `change` only records the value and returns it unchanged.
    """

    name: str
    place: str
    layers: tuple[int, ...] | slice
    change: Callable[[torch.Tensor, RunningLayer], torch.Tensor]
    pictures: torch.Tensor | None = None
    row: int | None = None
    only_reads: bool = False

    def apply(self, x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        """Returns the changed x, a new tensor of the same shape."""
        if self.row is None:
            return self.change(x, at)
        rows, changed = slice(self.row, self.row + 1), x.clone()
        changed[rows] = self.change(x[rows], at)
        return changed
