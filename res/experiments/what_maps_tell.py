"""Controls of chapter 09 with six models or orders each: random weights, shuffled patches, grey patches, random blocks.

python res/experiments/what_maps_tell.py --seeds 6 takes about two minutes of one core and writes what_maps_tell.csv:

- random_weights: the real ViT with its weights in a random order. Of each head the mean AUC over the photographs, and
  of each photograph the AUC of the head that is best on the others.
- shuffled_patches: the patches of all photographs in a random order. Of each head of the real ViT the mean AUC; of each
  photograph the AUC of the head that is best on the others, for the real ViT and for one with random weights, and that
  of the middle.
- grey: the accuracy of the model of the shapes with patches grey, by several rankings; each seed has 80 test images.
- from_the_top: what is left of rollout and relevance when parts of this model are random.
"""

from collections.abc import Iterator

import torch
from chapter import defined_in, write_table

from vit_course.maps import controls

chapter = defined_in("09_what_maps_tell")
NAMES = [one.name for one in chapter.photos]


def random_net(seed: int):
    return controls.random_weights(chapter.real.model, seed)


def heads(scores: torch.Tensor) -> Iterator[tuple[str, float]]:
    """(n, L, h) -> each head's mean over the photographs."""
    for layer, of_layer in enumerate(scores.mean(dim=0).tolist()):
        for head, value in enumerate(of_layer):
            yield f"layer {layer}, head {head}", value


def random_weights(seed: int) -> Iterator[tuple[str, float]]:
    scores = chapter.score(chapter.class_rows(random_net(seed), chapter.inputs), chapter.masks)  # (n, L, h)
    yield from heads(scores)
    yield from zip(NAMES, chapter.fair(scores).tolist(), strict=True)


def shuffled_patches(seed: int) -> Iterator[tuple[str, float]]:
    moved, masks = chapter.shuffled(seed)
    trained, random = (
        chapter.score(chapter.class_rows(net, moved), masks) for net in (chapter.real.model, random_net(seed))
    )
    yield from heads(trained)
    found = {"trained": chapter.fair(trained), "random": chapter.fair(random)}
    found["middle"] = chapter.score(chapter.middle, masks)
    for name, values in found.items():
        yield from zip([f"{name}, {one}" for one in NAMES], values.tolist(), strict=True)


@torch.no_grad()
def occlusion(some: slice) -> torch.Tensor:
    """-> (b, N), how far the logit of the class named falls when each patch alone is grey."""
    named, falls = chapter.named[some, None], []
    for patch in range(64):
        keep = torch.ones(1, 64)
        keep[0, patch] = 0
        falls.append(-chapter.model(chapter.greyed(some, keep)).gather(1, named))
    return torch.cat(falls, dim=1)


def grey(seed: int) -> Iterator[tuple[str, float]]:
    torch.manual_seed(seed)
    some = slice(80 * seed, 80 * seed + 80)
    for name, ranking in (chapter.rankings(some) | {"occlusion": occlusion(some)}).items():
        for count in (2, 4, 8, 16):
            yield f"{name}, {count}", chapter.accuracy_without(ranking, count, some)


def from_the_top(seed: int) -> Iterator[tuple[str, float]]:
    for part, both in chapter.from_the_top(seed).items():
        yield from zip([f"rollout, {part}", f"relevance, {part}"], both, strict=True)


if __name__ == "__main__":
    write_table(__file__, random_weights, shuffled_patches, grey, from_the_top)
