"""Chapter 12: a query and a key to drag along a row of patches; their pairs are rotated by their positions (RoPE)."""

import torch
from matplotlib.figure import Figure

from vit_course.explorables.explorable import Explorable

PLACES = 16
COLOUR = "#c2410c"  # of the key: --play-1 of play.css


def rope(**state) -> Explorable:
    """A query and a key of d = 8 numbers in a row of 16 patches: their positions rotate their four pairs of numbers.

    Before the rotation, each pair of the key is (1, 0), and each pair of the query has length 1. So a pair adds at most
    1 to the score, the dot product, which is not divided by √d here.

    Args:
        state: `query` and `key`, their places from 0; `hands`, the angles of the query's four pairs before the
            rotation, in degrees.

    Raises:
        ValueError: an invalid state.

    Source: Su et al. 2021 (arXiv:2104.09864), Eq. 14 and 15, with the rates of chapter 12.
    """
    return Explorable("rope", {}, still, computed, **state)


def turn(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """(..., T, d), (T,) -> (..., T, d): pair i rotated by position / 100^(2 i / d), as by the `turn` of chapter 12."""
    d = x.shape[-1]
    angles = positions[:, None] * 100.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, d)


def computed(state: dict) -> dict:
    """Returns the rotated query and key (4, 2), and the scores.

    `parts` (4,) are the contributions of the pairs to `score`; `scores` (16,) are those with the key at every place.
    """
    angles = torch.tensor(state["hands"], dtype=torch.float64).deg2rad()
    q = turn(torch.stack([angles.cos(), angles.sin()], dim=1).view(1, -1), torch.tensor([state["query"]]))  # (1, d)
    keys = turn(torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(PLACES, 4), torch.arange(PLACES))  # (T, d)
    scores = (q @ keys.T)[0]
    query, key = q.view(-1, 2), keys[state["key"]].view(-1, 2)
    return {
        "query": query.tolist(),
        "key": key.tolist(),
        "parts": (query * key).sum(dim=1).tolist(),
        "score": scores[state["key"]].item(),
        "scores": scores.tolist(),
    }


def still(state: dict) -> tuple[Figure, str]:
    """Draws the scores at all places and the four pairs of a state, and describes them in words."""
    found, query, key = computed(state), state["query"], state["key"]
    fig = Figure(figsize=(8.2, 4.2), layout="constrained")
    rows = fig.add_gridspec(2, 4, height_ratios=(3, 2))
    ax = fig.add_subplot(rows[0, :])
    ax.plot(found["scores"], "o-", color="0.5", markersize=4)
    ax.plot(key, found["score"], "o", color=COLOUR, markersize=9)
    ax.axvline(query, color="black")
    ax.annotate("query", (query, 4.1), (4, 0), textcoords="offset points")
    ax.annotate("key", (key, found["score"]), (8, 6), textcoords="offset points", color=COLOUR)
    ax.set(ylim=(-4.6, 4.9), xticks=range(PLACES), xlabel="place of the key", ylabel="score")
    for pair, part in enumerate(found["parts"]):
        ax = fig.add_subplot(rows[1, pair])
        for (a, b), look in ((found["key"][pair], {"color": COLOUR, "linestyle": "--"}), (found["query"][pair], {})):
            # As on a clock: (1, 0) points up, and positive angles turn clockwise.
            ax.plot([0, b], [0, a], linewidth=3, **({"color": "black"} | look))
        ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", title=f"pair {pair}: {part:+.2f}")
        ax.set(xticks=[], yticks=[])
    return fig, (
        f"The scores of a query at place {query} with one key at 16 places; with the key at place {key} it is "
        f"{found['score']:.2f}. Below, the turned pairs of both as the hands of four clocks"
    )
