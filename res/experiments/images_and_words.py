"""What small models learn from captions, in chapter 15: nine models of images and words, three kinds of captions.

python res/experiments/images_and_words.py --seeds 3 takes about fifteen minutes of one core (with bfloat16) and writes
images_and_words.csv: for each kind of captions and each change of a caption, how often an image of the test set is
nearer to its caption than to the changed one; and how often a caption is true of the image found for it.
"""

import random
from collections.abc import Iterator
from dataclasses import replace

from chapter import defined_in, write_table

from vit_course import data
from vit_course.training.contrastive import retrieval_accuracy

chapter = defined_in("15_images_and_words")


def captions_of(kind: str, seed: int) -> data.Dataset:
    dataset = data.scenes(20_000, 500, 1_000, permuted=kind == "permuted")
    if kind != "shuffled":
        return dataset
    draw = random.Random(seed)
    words = (caption.split() for caption in dataset.train.captions)
    shuffled = tuple(" ".join(draw.sample(one, len(one))) for one in words)
    return replace(dataset, train=replace(dataset.train, captions=shuffled))


def understood(seed: int) -> Iterator[tuple[str, float]]:
    for kind in ("right", "permuted", "shuffled"):
        dataset = captions_of(kind, seed)
        sizes = dict(hidden_dim=96, num_layers=4, patch_size=6)
        model, _ = chapter.train_clip(dataset, seed, epochs=3, precision="bfloat16", **sizes)
        vectors = chapter.embed(model, dataset.test)
        for change in chapter.CHANGES:
            found = chapter.prefers(model, dataset.test, vectors, change)
            yield f"{kind}: {change}", found.double().mean().item()
        yield f"{kind}: the best image fits", retrieval_accuracy(model, dataset.test, dataset)[0]


if __name__ == "__main__":
    write_table(__file__, understood)
