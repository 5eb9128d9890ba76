"""The five learning curves of exercise 7.4: python res/ablation/five_runs.py (a minute or two on two cores).

Prints for each run ten points of the training and the validation loss, the epochs between them, and the share of
validation images read right at the end. Chapter 07 holds these numbers; the letters hide which run is which.
"""

from dataclasses import replace

from torch import nn

from vit_course import data, training
from vit_course.config import ViTConfig
from vit_course.training.recipe import TrainingConfig
from vit_course.vit import ViT

SIZES = dict(image_size=8, patch_size=4, in_channels=1, num_classes=10, hidden_dim=48, num_layers=3, num_heads=4,
             mlp_dim=96)  # fmt: skip
PLAIN = TrainingConfig(epochs=10, batch_size=64, learning_rate=2e-3)


def model(**changes) -> ViT:
    """A small ViT, the same at each call but for the changes."""
    data.seed_everything(0)
    return ViT(ViTConfig(**SIZES | changes))


def main() -> None:
    """Trains the five and prints their points."""
    digits = data.digits()
    small = replace(digits, train=digits.train[:60])
    tiny = dict(hidden_dim=4, num_layers=1, num_heads=1, mlp_dim=4)
    runs = {
        "A, softmax twice": (nn.Sequential(model(), nn.Softmax(dim=1)), digits, PLAIN),
        "B, divergence": (model(), digits, replace(PLAIN, learning_rate=1.0, warmup=0.0, clip_norm=0.0)),
        "C, healthy": (model(dropout=0.1), digits, replace(PLAIN, padding=1, epochs=30)),
        "D, over-fitting": (model(), small, replace(PLAIN, epochs=100, batch_size=10)),
        "E, under-fitting": (model(**tiny), digits, replace(PLAIN, learning_rate=1e-3)),
    }
    for name, (network, dataset, recipe) in runs.items():
        history = training.train(network, dataset, recipe, progress=False)
        apart = len(history) // 10
        points = history[apart - 1 :: apart]
        for part in ("train_loss", "validation_loss"):
            print(name, part, [round(row[part], 2) for row in points], flush=True)
        print(name, f"epochs apart {apart}, right {history[-1]['validation_accuracy']:.0%}")


if __name__ == "__main__":
    main()
