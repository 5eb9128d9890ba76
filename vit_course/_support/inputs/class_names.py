"""The names of a model's classes, as the configs of Hugging Face and timm state them."""

import sys
from collections.abc import Mapping
from typing import Any

from vit_course._support.inputs.rules import is_int, shown


def names_by_number(id2label: object, owner: str) -> list[str]:
    """The `id2label` of a config of Hugging Face -> the name of each class, in the order of their numbers.

    Args:
        id2label: a name for each number, which may be an int or, as in JSON, its digits; or a list of names.
        owner: of the config, for messages.

    Raises:
        ValueError: neither of them, a key that is no number of a class, or a number without a name.
    """
    if isinstance(id2label, (list, tuple)):
        id2label = dict(enumerate(id2label))
    if not isinstance(id2label, Mapping):
        raise ValueError(f"id2label of {owner} must have a name for each number of a class, got {shown(id2label)}")
    by_number: dict[int, str] = {}
    for key, name in id2label.items():
        number = key if is_int(key) else int(key) if isinstance(key, str) and key.isdecimal() else -1
        if number < 0 or number in by_number:
            what = "gives the number of a class twice" if number in by_number else "is not the number of a class"
            raise ValueError(f"id2label of {owner} has a key that {what}, {shown(key)}")
        by_number[number] = str(name)
    for number in range(max(by_number, default=-1) + 1):
        if number not in by_number:
            raise ValueError(f"id2label of {owner} has no name for class {number}")
    return [by_number[number] for number in sorted(by_number)]


def names_of_timm(model: Any, short: bool = False) -> list[str] | None:
    """The names of the classes of a timm model, from its `pretrained_cfg`; None if it has none.

    A head for another number of classes than the pretrained one is new, and so are its classes.

    Args:
        model: as `timm.create_model` makes it.
        short: only the first of several synonyms in ImageNet's names.
    """
    config = getattr(model, "pretrained_cfg", None)
    count = getattr(model, "num_classes", 0)
    if not isinstance(config, Mapping) or "timm" not in sys.modules or config.get("num_classes") not in (None, count):
        return None
    if names := config.get("label_names"):
        described = config.get("label_descriptions") or {}
        return [described.get(name, name) for name in names]
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset(model) if count else None
    names = ImageNetInfo(subset).label_descriptions() if subset else None
    return [name.split(",")[0] for name in names] if names and short else names
