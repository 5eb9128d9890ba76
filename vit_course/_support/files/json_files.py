"""Checks files before they are read, and JSON before it is used; the course's own files are not trusted either.

Each error says what was found and what is needed; `naming` puts the name of the file in front. Imports no PyTorch, as
the command line uses it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from vit_course._support.inputs.rules import path_name, shown

MOST_JSON = 2**26  # bytes: fifty times what the names of 21,000 classes take


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Puts a place, such as the name of a file, in front of each `ValueError` from within."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def need_path(name: object) -> Path:
    """Returns the path of this name; raises a `ValueError` if it is not a str or `Path`, or cannot be a file's name."""
    path_name("the name or path of a file or folder", name)
    return Path(name)


def check_file(path: Path, what: str = "file") -> None:
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
    """Reads the object in a JSON file.

    Raises:
        ValueError: not an ordinary file, too long, not valid JSON, or not an object.
    """
    check_readable(path)
    return json_object(path.read_bytes(), str(path))


def check_readable(path: Path) -> None:
    """Raises a `ValueError` where there is no ordinary file, or one that is too long for JSON or TOML."""
    check_file(path)
    size = path.stat().st_size
    if size > MOST_JSON:
        raise ValueError(f"{path} has {size:,} bytes, at most {MOST_JSON:,} are allowed")


def json_object(text: str | bytes, place: str) -> dict:
    """Parses the object in a JSON text; raises a `ValueError` that begins with `place` if there is none."""
    try:
        content = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deep
        raise ValueError(f"{place} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{place} must hold an object in curly brackets, got {type(content).__name__}")
    return content


def need_object(name: str, value: object) -> dict:
    """Returns the value as a dict; raises a `ValueError` if it is not a JSON object."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be an object in curly brackets, got {shown(value)}")
    return dict(value)
