"""Exercise words.batches: in which batches is it worth something to understand a relation?"""

import functools

import torch

from vit_course import data
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_ranges, changed, follows, last_digit, reported, rerun
from vit_course.checks.tools.mistakes import Mistake

SETTINGS = ("drawn", "sorted")


def batches(answer, draw):
    """`answer()` -> {"seeds", "drawn", "sorted": what relations add in batches of 100, "conclusion"}."""
    received, runs, found = reported(answer, SETTINGS, "conclusion", what="gain")
    changed(found)
    near = {name: last_digit(found[name]) + 0.0003 for name in SETTINGS}
    rerun(found, {"seed": runs}, _gain, draw, near=near.__getitem__, runs=2, mistakes=AGAIN)
    follows(received["conclusion"], "conclusion", WORDS, by_ranges(found))


# For a second setting, "sorted", that lies below, that cannot be told apart, and that lies above.
WORDS = ("drawn", "cannot tell", "sorted")


@functools.cache
def _fits(seed: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    # Which test image fits which caption, (n, n), for three readers; and the labels.
    readers, fits = of_chapter("15_images_and_words", "READERS", "fits")
    scenes = data.scenes(1, 1, 1_000, seed=seed).test
    understood = [
        torch.stack([fits(scenes, caption, readers[name]) for caption in scenes.captions], dim=1)
        for name in ("coloured shapes", "and sizes")
    ]
    true = torch.stack([scenes.is_true(caption) for caption in scenes.captions], dim=1)
    return [*understood, true], scenes.labels


def _found(setting: str, seed: int, reader: int, size: int = 100) -> float:
    # How often a reader finds the own caption: 0 knows which shape has which colour, 1 sizes too, 2 relations too.
    (found_in_batches,) = of_chapter("15_images_and_words", "found_in_batches")
    fit, labels = _fits(seed)
    order = labels.argsort(stable=True) if setting == "sorted" else torch.arange(len(labels))
    return found_in_batches(fit[reader][order][:, order], size)


def _gain(setting: str, seed: int, size: int = 100) -> float:
    return _found(setting, seed, 2, size) - _found(setting, seed, 1, size)


# What other things that were measured are in place of the gain.
AGAIN = [
    Mistake(
        "found-for-gain",
        "This is how often the own caption is found, not what relations add to it.",
        lambda setting, source: _found(setting, source, 2),
        lambda setting, source: _found(setting, source, 1),
    ),
    Mistake(
        "sizes-counted-too",
        "This is what sizes and relations add together.",
        lambda setting, source: _found(setting, source, 2) - _found(setting, source, 0),
    ),
    Mistake(
        "another-batch-size",
        "The batches have another size than the exercise asks for.",
        lambda setting, source: _gain(setting, source, 20),
        lambda setting, source: _gain(setting, source, 50),
        lambda setting, source: _gain(setting, source, 200),
    ),
]
