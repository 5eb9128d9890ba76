"""A file is looked at here before it is read, and JSON before it is used; ours are taken for no better than others.

Each error says what was found and what is needed; `naming` puts the name of the file in front. No PyTorch: the command
line reads files too.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from vit_course._support.inputs.rules import path_name, shown

MOST_JSON = 2**26  # bytes; the names of 21,000 classes take one of them in fifty


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Puts a place, such as the name of a file, in front of each `ValueError` from within."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def need_path(name: object) -> Path:
    """The path of that name; a `ValueError` where it is no text and no path, or can be none."""
    path_name("the name or path of a file or folder", name)
    return Path(name)


def need_file(path: Path, what: str = "file") -> None:
    """Raises a `ValueError` where there is no ordinary file: a pipe would make its reader wait, a device never end."""
    try:
        if path.is_file():
            return
        there = path.exists()
    except OSError as error:  # such as a name that is too long
        raise ValueError(f"there is no {what} {shown(str(path))}: {error.strerror}") from error
    if there:
        raise ValueError(f"{path} is a {'folder' if path.is_dir() else 'pipe or device'}, but a normal file is needed")
    raise ValueError(f"there is no {what} {path}")


def read_json(path: Path) -> dict:
    """The object in a JSON file.

    Raises:
        ValueError: no ordinary file, far too long a one, no valid JSON, or something else than an object.
    """
    need_readable(path)
    return json_object(path.read_bytes(), str(path))


def need_readable(path: Path) -> None:
    """Raises a `ValueError` where there is no ordinary file, or one far too long to be of JSON."""
    need_file(path)
    size = path.stat().st_size
    if size > MOST_JSON:
        raise ValueError(f"{path} has {size:,} bytes, at most {MOST_JSON:,} of JSON are allowed")


def json_object(text: str | bytes, place: str) -> dict:
    """The object in a JSON text; a `ValueError` that begins with `place` where there is none."""
    try:
        content = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError) as error:  # one is of what is nested a thousand deep
        raise ValueError(f"{place} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{place} must hold an object in curly brackets, got {type(content).__name__}")
    return content


def need_object(name: str, value: object) -> dict:
    """The value itself; a `ValueError` where it is no object of JSON."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be an object in curly brackets, got {shown(value)}")
    return dict(value)
