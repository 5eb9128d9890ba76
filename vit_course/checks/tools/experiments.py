"""What a learner reports of an experiment: accuracies of several seeds, and a choice."""

import math
from collections.abc import Mapping

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe


def need_report(received, keys: tuple[str, ...]) -> None:
    """A `Wrong` where a report is no dict with these names."""
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    if set(received) != set(keys):
        raise Wrong("wrong-keys", "The names in the dict are not the ones asked for.", [f"Needed: {', '.join(keys)}"])


def option(name: str, value, options: tuple[str, ...]) -> str:
    """One of the options, however it is capitalised or hyphenated."""
    if isinstance(value, str):
        plain = value.strip().lower().replace("-", " ").replace("_", " ")
        for one in options:
            if plain == one.replace("_", " "):
                return one
    raise Wrong("no-such-option", f"{name!r} is {describe(value)}, none of the options {', '.join(options)}.")


def accuracies(name: str, values, images: int, fewest: int, lowest: float) -> list[float]:
    """The accuracies of one setting, one a seed, each a share of so many images, none below `lowest`."""
    if isinstance(values, torch.Tensor):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{name!r} is {describe(values)} where a list of accuracies is expected.")
    numbers = [real(value) for value in values]
    if len(numbers) < fewest:
        raise Wrong("too-few-seeds", f"{name!r} has {len(numbers)} runs. At least {fewest} seeds were asked for.")
    for number in numbers:
        if not math.isfinite(number) or number < 0:
            raise Wrong("wrong-answer", f"{name!r} holds {number:g}, which is no accuracy.")
        if number > 1:
            raise Wrong("percent", f"{name!r} holds {number:g}: an accuracy here is a share between 0 and 1.")
        if abs(number * images - round(number * images)) > 0.1 + 1e-6:
            raise Wrong(
                "not-of-the-validation-images",
                f"{name!r} holds {number:g}. Of {images} validation digits no whole number gives this share.",
            )
        if number < lowest:
            raise Wrong("not-trained", f"{name!r} holds {number:g}: a run of this length does not end so low.")
    return numbers


def need_same_seeds(sides: Mapping[str, list[float]]) -> None:
    """A `Wrong` where the settings cannot be the same seeds, each trained in every setting."""
    if len({len(values) for values in sides.values()}) > 1:
        details = [f"{name}: {len(values)} runs" for name, values in sides.items()]
        raise Wrong("not-the-same-seeds", "The numbers of runs differ, so they are not the same seeds.", details)
    if all(len(set(values)) == 1 for values in sides.values()):
        raise Wrong(
            "one-seed-repeated", "All runs of a setting are equal: the seed does not reach the model and the order."
        )
    if len({tuple(values) for values in sides.values()}) < len(sides):
        raise Wrong("nothing-changed", "Two settings are equal run by run: the change does not reach the training.")
