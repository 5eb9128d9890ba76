"""Relevance and attention distance in chapter 08: a cat beside eight other subjects, and five random orders of weights.

python res/experiments/attention_maps.py takes about a minute of one core and writes attention_maps.csv: the share of
the cat's half in sixteen pictures, by relevance for *cat*, for the other half's word and for two words that name
neither (their mean), and by the attention of the last layer; and the shortest and the longest attention distance of a
model's 72 heads, in pixels, with the numbers of each of its tensors in five random orders.
"""

from collections.abc import Iterator

import torch
from chapter import defined_in, write_table

from vit_course.maps import controls, interpret

chapter = defined_in("08_attention_maps")


def share_of_cat(seed: int) -> Iterator[tuple[str, float]]:
    if seed:  # nothing is drawn here
        return
    for name, word in chapter.words.items():
        third = [one for one in chapter.named.class_names if one not in ("cat", word)][:2]
        for sides in (("cat", name), (name, "cat")):
            found = chapter.maps_for(sides, ["cat", word, *third])  # (5, 16, 16)
            part = chapter.share_of_cat(sides, found)  # (5,)
            pair = " | ".join(sides)
            yield f"{pair}, for cat", part[0].item()
            yield f"{pair}, other word", part[1].item()
            yield f"{pair}, attention", part[4].item()
            yield f"{pair}, third words", part[2:4].mean().item()


def random_order(seed: int) -> Iterator[tuple[str, float]]:
    net = controls.random_weights(chapter.real.model, seed)
    paths = [chapter.photographs[name].path for name in ("grace_hopper", "pagoda", "astronaut", "coffee")]
    distance = interpret.attention_distance(torch.stack([chapter.look(net, path) for path in paths]), (16, 16), 14)
    yield "shortest", distance.min().item()
    yield "longest", distance.max().item()


if __name__ == "__main__":
    write_table(__file__, share_of_cat, random_order)
