"""Five later ingredients of ViTs, each alone and all together, in one table: the one that chapter 12 shows.

    python res/ablation/parts.py --data data          # two hours of one core; `--only RoPE` runs one variant
    python res/ablation/parts.py --summary            # what the table says so far, without training

Writes parts.csv beside this file, whole after every run, so that it can be stopped and started again: runs that are in
the table are skipped. To begin afresh, delete the table.

Model and recipe are those of tiny-cifar, cut short: 4 epochs on the first 20,000 images, a 56th of the recipe's steps,
with the running average shortened by as much. What such runs say holds for short runs of a small model. Every variant
is trained at the recipe's learning rate and at twice that; the rate with the better mean over the seeds is the one to
compare. A seed rules initialisation, order and augmentation. The accuracy is that of the validation set, which also
chooses the rate, for all variants alike; the test set stays unused.

All variants have as many parameters as the plain ViT, to within 1 %. RoPE takes the place of the learned positions, and
their 3,120 numbers go to the MLPs; SwiGLU has three matrices in place of two, so they are 2/3 as wide; what else an
ingredient adds is less than 0.4 %. Two columns say what it costs: `seconds` is the processor time of a whole training,
which other programs on the machine lengthen, and `step_ratio` is the time of a step over that of the plain ViT, the two
taking turns. Both hold for these few lines of PyTorch in one thread; a fused kernel costs less.
"""

import argparse
import csv
import itertools
import statistics
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from vit_course import data, training
from vit_course._support.files.atomic import write_csv
from vit_course.attention import SelfAttention
from vit_course.config import ViTConfig
from vit_course.training.optimisers import Stepper
from vit_course.training.recipe import RECIPES, TrainingConfig
from vit_course.vit import ViT

TABLE = Path(__file__).with_name("parts.csv")
WHOLE_NUMBERS = ("seed", "parameters", "seconds")
TINY = tomllib.loads((RECIPES / "tiny-cifar.toml").read_text(encoding="utf-8"))
FULL = TrainingConfig(**TINY["training"])
IMAGES, SEEDS, RATES = 20_000, 3, (FULL.learning_rate, 2 * FULL.learning_rate)
RECIPE = replace(FULL, epochs=4, average=0.944)  # an average over 56 times fewer steps


# ---- the five ingredients


class Rotary(nn.Module):
    """(B, h, T, d) -> (B, h, T, d)

    Turns each pair of numbers of a query or a key by an angle: the first d / 4 pairs by the row of the patch times a
    rate of their own, the others by its column. The tokens before the patches have no place and are not turned.

    Source: Su et al. 2021 (arXiv:2104.09864), Eq. 14 and 15; Heo et al. 2024 (arXiv:2403.13298), the axial form.
    """

    def __init__(self, grid: tuple[int, int], head_dim: int, prefix: int):
        super().__init__()
        rates = 100.0 ** (-torch.arange(head_dim // 4) / (head_dim // 4))  # (d / 4,)
        places = torch.cartesian_prod(*(torch.arange(length) for length in grid))  # (N, 2)
        angles = (places[:, :, None] * rates).flatten(1)  # (N, d / 2)
        angles = F.pad(angles, (0, 0, prefix, 0))  # (T, d / 2)
        # As complex numbers: to multiply by a number of length 1 is to turn.
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())  # (B, h, T, d / 2)
        return torch.view_as_real(pairs * self.turns).flatten(-2)  # (B, h, T, d)


class ChangedAttention(SelfAttention):
    """(B, T, D) -> (B, T, D)

    Self-attention that changes queries and keys, once they are cut into heads, by the modules of `changes` in turn.
    """

    def __init__(self, hidden_dim: int, num_heads: int, changes: Callable[[], list[nn.Module]]):
        super().__init__(hidden_dim, num_heads)
        self.change_queries, self.change_keys = nn.Sequential(*changes()), nn.Sequential(*changes())

    def split_heads(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q, k, v = super().split_heads(x)  # each (B, h, T, d)
        return self.change_queries(q), self.change_keys(k), v


class QKNorm(nn.LayerNorm):
    """(B, h, T, d) -> (B, h, T, d): a norm of each query, or key, so that no score leaves a known range.

    Source: Dehghani et al. 2023 (arXiv:2302.05442), section 2; a learned scale and no shift, as there.
    """

    def __init__(self, head_dim: int):
        super().__init__(head_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # Heads are cut out of longer rows; copied into one piece first, they take a third of the time.
        return super().forward(x.float().contiguous())


class SwiGLU(nn.Module):
    """(B, T, D) -> (B, T, D): an MLP in which one linear layer says how much of each number of another goes through.

    Source: Shazeer 2020 (arXiv:2002.05202), section 2; with biases, as the MLP that it replaces has them.
    """

    def __init__(self, hidden_dim: int, mlp_dim: int):
        super().__init__()
        self.gate = nn.Linear(hidden_dim, mlp_dim)
        self.expand = nn.Linear(hidden_dim, mlp_dim)
        self.contract = nn.Linear(mlp_dim, hidden_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.contract(F.silu(self.gate(x)) * self.expand(x))


class LayerScale(nn.Module):
    """(B, T, D) -> (B, T, D): what a branch adds to the residual stream, times a small learned number per channel.

    Source: Touvron et al. 2021 (arXiv:2103.17239), Eq. 4; 0.1 is their start for up to 18 layers.
    """

    def __init__(self, hidden_dim: int, start: float = 0.1):
        super().__init__()
        self.scale = nn.Parameter(torch.full((hidden_dim,), start))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale * x


# ---- the variants: which ingredients, and the MLP's width that makes the number of parameters equal


@dataclass(frozen=True)
class Variant:
    parts: tuple[str, ...]
    mlp_dim: int


VARIANTS = {
    "plain": Variant((), 192),
    "RoPE": Variant(("RoPE",), 200),
    "QK-norm": Variant(("QK-norm",), 192),
    "registers": Variant(("registers",), 192),
    "SwiGLU": Variant(("SwiGLU",), 128),
    "LayerScale": Variant(("LayerScale",), 192),
    "all five": Variant(("RoPE", "QK-norm", "registers", "SwiGLU", "LayerScale"), 132),
}


class Changed(ViT):
    """(B, C, H, W) -> (B, num_classes): the course's ViT with some of the five ingredients.

    Registers (Darcet et al. 2023, arXiv:2309.16588) are in the course's ViT already, and here there are four.
    """

    def __init__(self, variant: Variant):
        parts = variant.parts
        sizes = dict(image_size=32, num_classes=10, **TINY["model"]) | dict(mlp_dim=variant.mlp_dim)
        position, registers = "none" if "RoPE" in parts else "learned", 4 if "registers" in parts else 0
        config = ViTConfig(**sizes, position=position, num_registers=registers)
        super().__init__(config)

        def changes() -> list[nn.Module]:
            norms = [QKNorm(config.head_dim)] if "QK-norm" in parts else []
            return norms + ([Rotary(config.grid, config.head_dim, config.num_prefix)] if "RoPE" in parts else [])

        for block in self.encoder.blocks:
            block.attention = ChangedAttention(config.hidden_dim, config.num_heads, changes)
            if "SwiGLU" in parts:
                block.mlp = SwiGLU(config.hidden_dim, config.mlp_dim)
            if "LayerScale" in parts:
                block.attention = nn.Sequential(block.attention, LayerScale(config.hidden_dim))
                block.mlp = nn.Sequential(block.mlp, LayerScale(config.hidden_dim))
        self._initialise()  # the new matrices as the old ones


# ---- the runs


def step_seconds(model: nn.Module) -> Callable[[], float]:
    """-> a function that takes one training step on random images and says what processor time it took"""
    stepper, images = Stepper(model.train(), RECIPE), torch.randn(RECIPE.batch_size, 3, 32, 32)
    labels = torch.arange(RECIPE.batch_size) % 10

    def step() -> float:
        started = time.process_time()
        stepper.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, RECIPE.precision == "bfloat16"):
            loss = F.cross_entropy(model(images).float(), labels)
        loss.backward()
        stepper.clip(model)
        stepper.step(1e-4)
        return time.process_time() - started

    return step


def step_ratio(variant: str, pairs: int = 25) -> float:
    """-> the shortest time of a step over the plain ViT's shortest, the two taking turns"""
    steps = [step_seconds(Changed(VARIANTS[name])) for name in (variant, "plain")]
    times = [[step() for step in steps] for _ in range(pairs)]
    mine, plain = (min(column) for column in zip(*times, strict=True))  # what else runs only lengthens a step
    return mine / plain


def run(dataset: data.Dataset, variant: str, seed: int, rate: float) -> dict:
    """-> a row of the table"""
    ratio = step_ratio(variant)
    data.seed_everything(seed)
    model = Changed(VARIANTS[variant])
    started = time.process_time()
    history = training.train(model, dataset, replace(RECIPE, seed=seed, learning_rate=rate), progress=False)
    seconds = time.process_time() - started
    return {
        "variant": variant,
        "seed": seed,
        "learning_rate": rate,
        "parameters": sum(p.numel() for p in model.parameters()),
        **{name: round(history[-1][name], 4) for name in ("train_loss", "validation_loss", "validation_accuracy")},
        "seconds": round(seconds),
        "step_ratio": round(ratio, 3),
    }


def read() -> list[dict]:
    """-> the rows of the table, numbers as numbers"""
    rows = csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()) if TABLE.exists() else []
    kinds = {"variant": str, **dict.fromkeys(WHOLE_NUMBERS, int)}
    return [{name: kinds.get(name, float)(x) for name, x in row.items()} for row in rows]


def place(row: dict) -> tuple:
    """-> by what the rows are sorted"""
    return list(VARIANTS).index(row["variant"]), row["learning_rate"], row["seed"]


def better_rate(rows: list[dict], variant: str) -> list[dict]:
    """-> the runs of a variant at the rate whose mean validation accuracy is higher, of the rates with all seeds"""
    by_rate = {rate: [r for r in rows if (r["variant"], r["learning_rate"]) == (variant, rate)] for rate in RATES}
    whole = [runs for runs in by_rate.values() if len(runs) == SEEDS]
    return max(whole, key=lambda runs: sum(r["validation_accuracy"] for r in runs), default=[])


def summary(rows: list[dict]) -> None:
    """Prints a line per variant, at the better of its rates."""
    for variant in VARIANTS:
        if runs := better_rate(rows, variant):
            found = [100 * r["validation_accuracy"] for r in runs]
            print(
                f"{variant:10} {runs[0]['parameters']} parameters, rate {runs[0]['learning_rate']}: "
                f"{statistics.mean(found):.1f} % ({min(found):.1f} to {max(found):.1f}), "
                f"a step {statistics.median(r['step_ratio'] for r in runs):.2f} times plain's"
            )


def train_missing(folder: Path, names: list[str]) -> None:
    """Adds to the table what it lacks of these variants: all at one rate, and then at the other."""
    whole = data.cifar10(folder)
    dataset = replace(whole, train=whole.train[:IMAGES])
    for rate, seed, variant in itertools.product(RATES, range(SEEDS), names):
        if (variant, seed, rate) not in {(row["variant"], row["seed"], row["learning_rate"]) for row in read()}:
            row = run(dataset, variant, seed, rate)
            write_csv(TABLE, sorted([*read(), row], key=place))  # read again: another process may have added to it
            print(", ".join(f"{name} {x}" for name, x in row.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    parser.add_argument("--only", choices=VARIANTS, help="one variant")
    parser.add_argument("--summary", action="store_true", help="train nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.summary:
        train_missing(options.data, [options.only] if options.only else list(VARIANTS))
    summary(read())


if __name__ == "__main__":
    main()
