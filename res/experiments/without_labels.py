"""What small models learn from crops without labels in chapter 11, with five seeds each.

python res/experiments/without_labels.py takes about four minutes of one core and writes without_labels.csv: the errors
of a masked autoencoder on crops that it never saw; and what the answers of a teacher are like with both remedies
against a collapse, without one of them, and before training.
"""

from collections.abc import Iterator

from chapter import defined_in, write_table

chapter = defined_in("11_without_labels")
RANKS = (1, 2, 4, 8, 16, 32, 64)


def masking(seed: int) -> Iterator[tuple[str, float]]:
    for name, epochs in {"untrained": 0, "80 steps": 5, "640 steps": 40}.items():
        model = chapter.masked(seed, epochs)
        yield name, chapter.errors(model, chapter.held_out)[:, 0].mean().item()


def collapse(seed: int) -> Iterator[tuple[str, float]]:
    for name, options in chapter.settings.items():
        pair, history = chapter.distil(seed, **options)
        for what, value in chapter.measured(pair).items():
            yield f"{name}, {what}", value
        for row in history:
            yield f"{name}, epoch {row['epoch']}", row["train_entropy"]
        shares = chapter.answers(pair).mean(dim=0).sort(descending=True).values  # (K,)
        for rank in RANKS:
            yield f"{name}, share {rank}", shares[rank - 1].item()
    chapter.data.seed_everything(seed)
    fresh = chapter.training.SelfDistillation(chapter.ViT(chapter.config), outputs=64)
    for temperature in (0.04, 0.1):
        fresh.options["teacher_temperature"] = temperature
        yield f"untrained, at {temperature}, tells", chapter.told(fresh)


if __name__ == "__main__":
    write_table(__file__, masking, collapse)
