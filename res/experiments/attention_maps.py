"""Relevance for two true words, rollout, heads that attend to a neighbour, and attention distance in chapter 08.

python res/experiments/attention_maps.py takes about three minutes of one core and writes attention_maps.csv. In twenty
pictures of two halves: the left half's share of the relevance for its own word, for the other half's word and for two
words that name neither (their mean), and of the attention of the last layer (two_words); the first minus the second
with the numbers of each tensor in five random orders, mean of ten of the pictures (random_order), and with the ten
classes of vit-s14-cifar10 in pictures of five animals (ten_classes). For each photograph, how much two rows of the
rollout differ after twelve layers (rollout_rows). For 224 and 448 pixels, for what share of the patches the patch one
or two on gets the largest weight, in 23 photographs (larger). For each photograph, the layer of the head with the
shortest attention distance (shortest_head). The shortest and the longest distance of a model's 72 heads, in pixels,
with five random orders (distances).
"""

from collections.abc import Iterator
from itertools import combinations
from statistics import mean

import torch
from chapter import defined_in, write_table

from vit_course import pretrained
from vit_course.maps import controls, interpret

chapter = defined_in("08_attention_maps")
ANIMALS = {"cat": "cat", "dogs": "dog", "hens": "bird", "horse": "horse", "nuthatch": "bird"}


def two_words(seed: int) -> Iterator[tuple[str, float]]:
    for number, pair in enumerate(chapter.pairs if seed == 0 else ()):  # nothing is drawn here
        third = chapter.pairs[(number + 1) % len(chapter.pairs)]
        for left, right in (pair, pair[::-1]):
            _, found = chapter.maps_for(chapter.named, left, right, [left, right, *third])  # (5, 16, 16)
            share = chapter.share_of_left(found)  # (5,)
            yield f"{left} | {right}, own word", share[0].item()
            yield f"{left} | {right}, other word", share[1].item()
            yield f"{left} | {right}, third words", share[2:4].mean().item()
            yield f"{left} | {right}, attention", share[4].item()


def random_order(seed: int) -> Iterator[tuple[str, float]]:
    net = controls.random_weights(chapter.named, seed)
    yield "own - other", mean(_own_minus_other(net, *pair) for pair in chapter.pairs)


def ten_classes(seed: int) -> Iterator[tuple[str, float]]:
    ten, _, classes = pretrained.load_run("vit-s14-cifar10", image_size=224)
    rows = [classes.index(ANIMALS.get(word, "cat")) for word in chapter.words]  # of the ten, for each of our words
    head = torch.nn.Linear(ten.config.hidden_dim, len(rows))
    head.load_state_dict({"weight": ten.head.weight[rows], "bias": ten.head.bias[rows]})
    net = pretrained.with_head(ten, head)
    for pair in combinations(ANIMALS, 2):
        if seed == 0 and ANIMALS[pair[0]] != ANIMALS[pair[1]]:
            for left, right in (pair, pair[::-1]):
                yield f"{left} | {right}", _own_minus_other(net, left, right)


def rollout_rows(seed: int) -> Iterator[tuple[str, float]]:
    for name, one in chapter.photographs.items() if seed == 0 else ():
        rows = interpret.rollout(chapter.look(chapter.real.model, one.path)[None])  # (1, T, T)
        yield name, torch.cdist(rows, rows, p=1).mean().item() / 2


def larger(seed: int) -> Iterator[tuple[str, float]]:
    for side in (224, 448) if seed == 0 else ():
        most = {place: [] for place in chapter.directions}
        for name in chapter.photographs:
            maps = chapter.early(side, name)  # (4, h, N, N)
            for place, (layer, head) in chapter.directions.items():
                most[place].append(maps[layer, head].argmax(dim=1))  # (N,)
        for place, found in most.items():
            for far in (1, 2):
                shares = [chapter.share_that_goes(one, place, far) for one in found]
                yield f"{side}, {place}, {far}", mean(shares)
                yield f"{side}, {place}, {far}, lowest", min(shares)
                yield f"{side}, {place}, {far}, highest", max(shares)


def shortest_head(seed: int) -> Iterator[tuple[str, float]]:
    for name, one in chapter.photographs.items() if seed == 0 else ():
        distance = interpret.attention_distance(chapter.look(chapter.real.model, one.path)[None], (16, 16), 14)
        yield name, distance.min(dim=1).values.argmin().item()  # of 12 layers


def distances(seed: int) -> Iterator[tuple[str, float]]:
    net = controls.random_weights(chapter.real.model, seed)
    paths = [chapter.photographs[name].path for name in ("grace_hopper", "pagoda", "astronaut", "coffee")]
    distance = interpret.attention_distance(torch.stack([chapter.look(net, path) for path in paths]), (16, 16), 14)
    yield "shortest", distance.min().item()
    yield "longest", distance.max().item()


def _own_minus_other(net: torch.nn.Module, left: str, right: str) -> float:
    _, found = chapter.maps_for(net, left, right, [left, right])  # (3, 16, 16)
    own, other, _ = chapter.share_of_left(found).tolist()
    return own - other


if __name__ == "__main__":
    write_table(__file__, two_words, random_order, ten_classes, rollout_rows, larger, shortest_head, distances)
