"""The three stored runs of the explorable `film`: python res/explorables/make_film.py (two minutes on one core).

Each trains the small ViT of chapter 07 on digits that can be anywhere, with the seeds below, and keeps at every epoch
what the figure shows. They differ in what their names say and in nothing else, but that few images come in smaller
batches, to make more steps of them. Writes film.npz beside this file; film.py of the package reads it.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from vit_course import data
from vit_course.config import ViTConfig
from vit_course.maps import record_attention
from vit_course.training import TrainingConfig, evaluate, train
from vit_course.training.supervised import Supervised
from vit_course.vit import ViT

SIZES = ViTConfig(
    image_size=16, patch_size=4, in_channels=1, num_classes=10, hidden_dim=48, num_layers=3, num_heads=4, mlp_dim=96
)
RECIPE = TrainingConfig(epochs=30, batch_size=128, learning_rate=4e-3, warmup=0.1)
COPIES = 4  # places of each training digit
RUNS = {  # name: number of training digits, recipe
    "recipe": (1197, RECIPE),
    "high": (1197, replace(RECIPE, learning_rate=0.4, warmup=0.0)),
    "few": (120, replace(RECIPE, batch_size=32)),
}
PICTURES, FILTERS = 8, 16  # of the validation digits, and of the 48 of the embedding: the first
LOG = ("train_loss", "validation_loss", "learning_rate", "train_accuracy", "validation_accuracy")


def place(part: data.ImageSet, copies: int, seed: int) -> data.ImageSet:
    """Each digit `copies` times on a dark field of 16 x 16, anywhere: as chapter 07 does it."""
    images, labels = part.images.repeat(copies, 1, 1, 1), part.labels.repeat(copies)
    corners = torch.randint(0, 9, (len(images), 2), generator=torch.Generator().manual_seed(seed))
    field = torch.zeros(len(images), 1, 16, 16, dtype=torch.uint8)  # (n, C, H, W)
    for i, (top, left) in enumerate(corners.tolist()):
        field[i, :, top : top + 8, left : left + 8] = images[i]
    return data.ImageSet(field, labels)


def in_field(count: int) -> data.Dataset:
    """The first `count` training digits at four places each, and all others, at five for a smoother validation loss."""
    digits = data.digits()
    train = place(digits.train[:count], COPIES, seed=0)
    pixels = train.images / 255
    rest = (place(part, 5, seed) for seed, part in ((1, digits.validation), (2, digits.test)))
    return data.Dataset("field", train, *rest, digits.class_names, (pixels.mean().item(),), (pixels.std().item(),))


class Filmed(Supervised):
    """`Supervised` that keeps a frame before the first step and after the last one of each epoch."""

    def __init__(self, model: ViT, dataset: data.Dataset, config: TrainingConfig):
        super().__init__(model, dataset)
        self.shown = dataset.normalise(dataset.validation.images[:PICTURES])  # (8, 1, 16, 16)
        self.every, self.made = -(-len(dataset.train) // config.batch_size), 0
        self.frames = [self.frame()]

    def after_step(self, share, engine):
        self.made += 1
        if self.made % self.every == 0:
            self.frames.append(self.frame())

    @torch.no_grad()
    def frame(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """-> probabilities (8, K), the class token's map in the last layer, mean of heads (8, N), filters (16, P²)."""
        self.eval()
        with record_attention(self.model) as recorded:
            answers = self.model(self.shown).softmax(dim=-1)
        self.train()
        maps = recorded.stacked()[:, -1, :, 0, 1:].mean(dim=1)
        return answers, maps, self.model.patch_embedding.projection.weight[:FILTERS].flatten(1).clone()


def run(name: str) -> dict[str, np.ndarray]:
    """-> of one run log (E + 1, 5), shares (E + 1, 8, K), maps (E + 1, 8, N) and filters (E + 1, 16, P * P)."""
    count, config = RUNS[name]
    dataset = in_field(count)
    data.seed_everything(0)
    model = ViT(SIZES)
    losses, rights = zip(*(evaluate(model, part, dataset) for part in (dataset.train, dataset.validation)), strict=True)
    first = [*losses, 0.0, *rights]  # before the first step there is no rate
    objective = Filmed(model, dataset, config)
    rows = [[row[key] for key in LOG] for row in train(objective, dataset, config, progress=False)]
    print(name, *(f"{value:.3f}" for value in rows[-1]), flush=True)
    shares, maps, filters = (torch.stack(kept).numpy() for kept in zip(*objective.frames, strict=True))
    return {"log": np.array([first, *rows]), "shares": shares, "maps": maps, "filters": filters}


def main() -> None:
    """Trains the three and stores them: shares and maps in bytes of equal steps from 0, losses in 32 bits, and of the
    filters how far they have moved since the beginning, in steps of their run's, 128 for not at all."""
    torch.set_num_threads(1)
    runs = [run(name) for name in RUNS]
    log, shares, maps, filters = (np.stack([one[key] for one in runs]).astype(np.float32) for key in runs[0])
    moved = filters - filters[:, :1]  # (3, E + 1, 16, P * P)
    steps = np.abs(moved).max(axis=(1, 2, 3), keepdims=True) / 127
    validation = in_field(1).validation
    np.savez_compressed(
        Path(__file__).with_name("film.npz"),
        log=log,
        answers=shares.argmax(axis=-1).astype(np.uint8),
        shares=np.rint(255 * shares).astype(np.uint8),
        maps=np.rint(255 * maps / maps.max()).astype(np.uint8),
        moved=np.rint(moved / steps + 128).astype(np.uint8),
        map_step=maps.max() / 255,
        moved_steps=steps.flatten(),
        start=np.sqrt((filters[:, 0] ** 2).mean()),
        images=validation.images[:PICTURES, 0].numpy(),
        labels=validation.labels[:PICTURES].numpy().astype(np.uint8),
    )


if __name__ == "__main__":
    main()
