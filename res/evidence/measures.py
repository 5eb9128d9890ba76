"""The tests of chapter 09, each a function of a model and pictures; compare.py says what they are."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from pasted import CORNERS, FILLINGS, pictures
from scores import (
    SMALL,
    best_on_others,
    class_rows,
    colour,
    features,
    logits,
    middle,
    occlusion,
    of_heads,
    outlined,
    recorded,
    score,
    seen,
)
from torch import nn

from vit_course import data
from vit_course.data.pictures import normalise
from vit_course.maps import Tokens, attention_gradients, controls, interpret
from vit_course.pretrained.bundled import AsTrained
from vit_course.pretrained.pretrained_model import Preprocess

SEEDS, ORDERS = 6, 3
COUNTS = {True: (500, 100), False: (60, 12)}  # of shapes, and of those occluded: for a small model, for a large one
MAPS = ("best head", "mean of the last layer", "rollout")
NO_CLASSES = "the model names no classes"
Values = torch.Tensor | str  # (n,) of the objects, (seeds, n) of random models, or why there are none


class Case(NamedTuple):
    """A model, what is to be known of it, and pictures as it takes them."""

    net: nn.Module
    preprocess: Preprocess
    classes: bool  # whether it names them
    tokens: Tokens
    images: torch.Tensor  # (n, C, H, W)
    masks: torch.Tensor  # (n, H, W)
    occluded: int  # how many of the images


def on_photographs(model: nn.Module, preprocess: Preprocess, classes: bool) -> Case:
    """The photographs with an outline."""
    _, images, masks = outlined(preprocess)
    return Case(model, preprocess, classes, next(recorded(model, images[:1]))[1], images, masks, len(images))


def on_shapes(model: nn.Module, preprocess: Preprocess, classes: bool) -> Case:
    """The first test images of the five shapes."""
    size = preprocess.image_size
    count, occluded = COUNTS[max(size) <= SMALL]
    test = data.shapes(num_train=1, num_validation=1).test[:count]
    images = F.interpolate(test.images.float(), size, mode="bicubic", antialias=True).clamp(0, 255)
    masks = F.interpolate(test.masks[:, None].float(), size, mode="nearest-exact")[:, 0] > 0.5
    images = normalise(images, preprocess.mean, preprocess.std)
    return Case(model, preprocess, classes, next(recorded(model, images[:1]))[1], images, masks, occluded)


def fair(scores: torch.Tensor) -> torch.Tensor:
    """(n, L, h) -> (n,): of each picture the score of the head that is best on the others."""
    return of_heads(scores, best_on_others(scores))


def randoms(case: Case, count: int) -> Iterator[nn.Module]:
    return (controls.random_weights(case.net, seed) for seed in range(count))


def three(net: nn.Module, case: Case) -> torch.Tensor:
    """-> (3, n): the scores of `MAPS`."""
    both = [(seen(maps, tokens), seen(interpret.rollout(maps), tokens)) for maps, tokens in recorded(net, case.images)]
    rows, flow = (torch.cat(part) for part in zip(*both, strict=True))  # (n, L, h, rows, columns), (n, rows, columns)
    last = score(rows[:, -1].mean(dim=1), case.masks)
    return torch.stack([fair(score(rows, case.masks)), last, score(flow, case.masks)])


def maps_and_controls(case: Case) -> dict[str, Values]:
    """The best head, the mean and rollout; of random weights; the middle and colour."""
    grid, trained = case.tokens.grid, three(case.net, case)  # (3, n)
    random = torch.stack([three(net, case) for net in randoms(case, SEEDS)], dim=1)  # (3, seeds, n)
    by_middle = score(middle(grid).expand(len(case.masks), -1, -1), case.masks)
    found = dict(zip(MAPS, trained, strict=True)) | {
        "middle": by_middle,
        "best head minus middle": trained[0] - by_middle,
    }
    found["colour"] = score(colour(case.images, grid), case.masks)
    for name, own, others in zip(MAPS, trained, random, strict=True):
        found |= {f"{name}, random": others, f"{name} minus random": own - others.mean(dim=0)}
    return found


def relevance(case: Case) -> dict[str, Values]:
    """Of the class that the model names."""
    if not case.classes:
        return {"relevance": NO_CLASSES}
    maps, step = [], 50 if max(case.images.shape[2:]) <= SMALL else 1
    for part in case.images.split(step):
        found = attention_gradients(case.net, part, logits(case.net, part).argmax(dim=1))
        maps.append(seen(interpret.relevance(*found), case.tokens))
    return {"relevance": score(torch.cat(maps), case.masks)}


def occluded(case: Case) -> dict[str, Values]:
    """How far the features move, and the logit falls, without each patch."""
    images, masks = case.images[: case.occluded], case.masks[: case.occluded]
    z = features(case.net, images, case.tokens)  # (n, D)

    def turned(some: torch.Tensor) -> torch.Tensor:
        return 1 - torch.cosine_similarity(features(case.net, some, case.tokens), z)

    by_class: Values = NO_CLASSES
    if case.classes:
        before, named = logits(case.net, images).max(dim=1)

        def fell(some: torch.Tensor) -> torch.Tensor:
            return before - logits(case.net, some).gather(1, named[:, None])[:, 0]

        by_class = score(occlusion(fell, images, case.tokens.grid), masks)
    return {
        "occlusion, features": score(occlusion(turned, images, case.tokens.grid), masks),
        "occlusion, class": by_class,
    }


def shuffled(case: Case) -> dict[str, Values]:
    """The best head, the middle, and a random model's best head on shuffled patches, the mean of three orders."""
    (rows, columns), count, found = case.tokens.grid, len(case.images), []
    side = case.images.shape[2] // rows
    for seed, random in enumerate(randoms(case, ORDERS)):
        order = torch.rand(count, rows * columns, generator=torch.Generator().manual_seed(seed)).argsort(dim=1)
        images = controls.shuffle_patches(case.images, side, order)
        masks = controls.shuffle_patches(case.masks[:, None], side, order)[:, 0]
        own, other = (fair(score(class_rows(net, images), masks)) for net in (case.net, random))
        found.append(torch.stack([own, score(middle(case.tokens.grid).expand(count, -1, -1), masks), other]))
    name = "shuffled patches"
    return dict(zip((name, f"{name}, middle", f"{name}, random"), torch.stack(found).mean(dim=0), strict=True))


def pasted(case: Case) -> dict[str, Values]:
    """The object in corners of other photographs, and its outline filled with something else."""
    size, preprocess = case.images.shape[2:], case.preprocess
    if size != (224, 224):
        preprocess = AsTrained((224, 224), preprocess.mean, preprocess.std)
    made, outlines, _ = pictures(preprocess)  # (n, 4, C, H, W), (n, H, W)
    if size != (224, 224):
        made = F.interpolate(made.flatten(0, 1), size, mode="bilinear", antialias=True).unflatten(0, made.shape[:2])
        outlines = F.interpolate(outlines[:, None].float(), size, mode="area")[:, 0]  # by cover: thin parts stay

    def of(net: nn.Module) -> torch.Tensor:
        heads = best_on_others(score(class_rows(net, case.images), case.masks)).repeat_interleave(CORNERS)  # (n,)
        four = [of_heads(score(class_rows(net, some), outlines), heads) for some in made.unbind(dim=1)]
        return torch.stack(four).unflatten(1, (-1, CORNERS)).mean(dim=2)  # (4, objects)

    own, random = of(case.net), torch.stack([of(net) for net in randoms(case, SEEDS)], dim=1)  # (4, seeds, objects)
    found = {}
    for end, four in (("", own), (", random", random)):
        found |= {f"pasted {name}{end}": values for name, values in zip(FILLINGS, four, strict=True)}
        found |= {f"pasted object minus {FILLINGS[k]}{end}": four[0] - four[k] for k in (1, 2, 3)}
    return found


# Each with the names of what it gives, to know without it which lines are missing.
TESTS = {
    maps_and_controls: (
        *MAPS, *(f"{name}, random" for name in MAPS), *(f"{name} minus random" for name in MAPS),
        "middle", "best head minus middle", "colour",
    ),
    relevance: ("relevance",),
    occluded: ("occlusion, features", "occlusion, class"),
    shuffled: ("shuffled patches", "shuffled patches, middle", "shuffled patches, random"),
    pasted: tuple(
        f"pasted {name}{end}"
        for end in ("", ", random")
        for name in (*FILLINGS, *(f"object minus {one}" for one in FILLINGS[1:]))
    ),
}  # fmt: skip
PICTURES = {
    "photographs": (on_photographs, (maps_and_controls, relevance, occluded, shuffled, pasted)),
    "shapes": (on_shapes, (maps_and_controls, relevance, occluded, shuffled)),
}
