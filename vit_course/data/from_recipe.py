"""A dataset from the [data] part of a recipe."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.source_names import SOURCES, check_source
from vit_course.data.dataset import Dataset
from vit_course.data.folder import folder

KNOWN = {name: getattr(import_module(f"vit_course.data.{name}"), name) for name in SOURCES}


def from_recipe(values: Mapping) -> Dataset:
    """The dataset of the [data] part of a recipe, or of a `Dataset.source`.

    Args:
        values: `source` is one of `inputs.source_names.SOURCES`, such as "shapes", or the path of a folder; the rest
            are the arguments of the function of that name, such as `num_train` of `shapes`, or of `folder`.

    Raises:
        ValueError: no such source, an argument that it does not take, or what the function itself refuses.
        OSError: as `folder`.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f'the data of a recipe must be given like {{"source": "shapes"}}, got {shown(values)}')
    arguments = dict(values)
    source = arguments.pop("source", None)
    is_folder = isinstance(source, (str, Path)) and bool(source) and Path(source).is_dir()
    check_source(source, is_folder)
    if isinstance(source, str) and source in KNOWN:
        make, words = KNOWN[source], source
    else:
        make, words = partial(folder, source), f"the folder {source}"
    for name in arguments:
        if name not in (taken := _arguments(make)):
            raise ValueError(f"{_whose(name)}, but {words} takes {', '.join(taken)}")
    return make(**arguments)


def _arguments(make: Callable) -> list[str]:
    bound = {"root"} if isinstance(make, partial) else set()
    return [name for name in inspect.signature(make).parameters if name not in bound]


def _whose(name) -> str:
    owners = [source for source, make in {**KNOWN, "a folder": partial(folder, "")}.items() if name in _arguments(make)]
    if not owners:
        return f"no source of data takes {shown(name)}"
    *others, last = owners
    return f"{name} is for {', '.join(others)} and {last}" if others else f"{name} is for {last}"
