"""Chapter 04: queries, keys and values of four tokens in the plane, to drag."""

import math
from collections.abc import Callable

import torch
from matplotlib.figure import Figure

from vit_course.attention import attention_weights
from vit_course.explorables.explorable import Explorable

PARTS = ("queries", "keys", "values")
COLOURS = ("#0072b2", "#c2410c", "#00795a", "#a2386f")  # as --play-0 to --play-3 of play.css


def attention_by_hand(weights: Callable | None = None, **state) -> Explorable:
    """Four tokens whose queries, keys and values can be dragged; scores, softmax and the mixed values follow.

    Args:
        weights: a function of your own, (B, h, T, d), (B, h, T, d) -> (B, h, T, T), from queries and keys to attention
            weights, such as the chapter's `attention_weights`. While a kernel runs, the figure shows its results. Any
            division by the square root of d is up to this function.
        state: `queries`, `keys` and `values`, four pairs of numbers from -3 to 3 each; `asking`, the token whose
            query is dragged; `heads`, 1 or 2; `divided`, whether scores are divided by the square root of d;
            `temperature`, a further divisor of the scores.

    Raises:
        ValueError: an invalid state, or `weights` that cannot be called.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), Eq. 1.
    """
    if weights is not None and not callable(weights):
        raise ValueError(f"weights must be a function of queries and keys, got {weights!r:.60}")
    answer = None if weights is None else lambda state: computed(state, weights, torch.float32)["weights"]
    return Explorable("attention_by_hand", {}, still, computed, answer=answer, **state)


def computed(state: dict, weights: Callable = attention_weights, dtype: torch.dtype = torch.float64) -> dict:
    """Returns the attention weights (h, T, T) and the outputs (T, 2) of a state."""
    heads = state["heads"]
    q, k, v = (torch.tensor(state[name], dtype=dtype).unflatten(1, (heads, -1)).transpose(0, 1)[None] for name in PARTS)
    by = state["temperature"] * (1 if state["divided"] else 1 / math.sqrt(q.shape[-1]))
    found = torch.as_tensor(weights(q / by, k))  # (1, h, T, T)
    if found.shape != (1, heads, 4, 4):
        raise ValueError(f"weights must be (1, {heads}, 4, 4), got {tuple(found.shape)}")
    outputs = (found @ v)[0].transpose(0, 1).flatten(1)
    return {"weights": found[0].tolist(), "outputs": outputs.tolist()}


def still(state: dict) -> tuple[Figure, str]:
    """Draws the two planes of a state, and describes them in words."""
    weights, outputs = (torch.tensor(values) for values in computed(state).values())
    asking = state["asking"]
    fig = Figure(figsize=(8.2, 3.9), layout="constrained")
    match, mix = fig.subplots(1, 2)
    for token, (key, value) in enumerate(zip(state["keys"], state["values"], strict=True)):
        style = dict(color=COLOURS[token], width=0.03, head_width=0.2, length_includes_head=True)
        match.arrow(0, 0, *key, linestyle="--", **style)
        match.text(*(1.12 * torch.tensor(key)), f"k{token}", ha="center", va="center")
        share = weights[:, asking, token].mean().item()
        mix.plot(
            *zip(value, outputs[asking].tolist(), strict=True), color=COLOURS[token], linewidth=12 * share, alpha=0.55
        )
        mix.plot(*value, "s", color=COLOURS[token], markersize=9)
        mix.text(value[0], value[1] + 0.3, f"v{token}  {share:.0%}", ha="center")
    query = state["queries"][asking]
    match.arrow(0, 0, *query, color="black", width=0.06, head_width=0.25, length_includes_head=True)
    match.text(*(1.15 * torch.tensor(query)), f"q{asking}", ha="center", va="center", fontweight="bold")
    mix.plot(*outputs[asking].tolist(), "o", color="white", markeredgecolor="black", markeredgewidth=2, markersize=12)
    titles = (f"match: token {asking}'s query and all keys", "mix: the output between the values")
    for ax, title in zip((match, mix), titles, strict=True):
        ax.set(xlim=(-3.3, 3.3), ylim=(-3.3, 3.3), aspect="equal", title=title)
        ax.grid(color="0.9")
    shares = ", ".join(f"{w:.0%} for v{t}" for t, w in enumerate(weights[:, asking].mean(dim=0).tolist()))
    left = f"the query of token {asking} and four keys as arrows"
    return fig, f"Left, {left}. Right, its output between four values, with weights {shares}"
