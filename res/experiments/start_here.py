"""The clock reader of chapter 00: how many clocks it reads, beside a linear layer, and what it reads without a part.

python res/experiments/start_here.py takes about six minutes of one core and writes start_here.csv: the shares of the
1,000 test clocks that five small ViTs and five linear layers, at three learning rates, read after 400 steps; and those
that five ViTs read after 1000 steps, whole and with positions, attention or MLP taken out, as exercise 0.3 asks.
"""

from collections.abc import Iterator

import torch
from chapter import defined_in, write_table
from torch import nn

chapter = defined_in("00_start_here")


class Nothing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x)


def trained(model: nn.Module, rate: float, seed: int, steps: int = 400) -> float:
    chapter.fit(model, rate, steps, seed)
    return chapter.share_right(model)


def share_right(seed: int) -> Iterator[tuple[str, float]]:
    torch.manual_seed(seed)
    yield "the 40 lines", trained(chapter.SmallViT(), 0.005, seed)
    for rate in (0.0025, 0.0005, 0.0001):
        torch.manual_seed(seed)
        linear = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 24))
        name = "linear layer" if rate == 0.0025 else f"linear layer, rate {rate}"
        yield name, trained(linear, rate, seed)


def parts(seed: int) -> Iterator[tuple[str, float]]:
    for part in ("nothing", "positions", "attention", "mlp"):
        torch.manual_seed(seed)
        model = chapter.SmallViT()
        if part == "positions":
            model.positions.requires_grad_(False).zero_()
        for block in model.blocks if part in ("attention", "mlp") else ():
            setattr(block, part, Nothing())
        yield f"without {part}", trained(model, 0.005, seed, steps=1000)


if __name__ == "__main__":
    write_table(__file__, share_right, parts)
