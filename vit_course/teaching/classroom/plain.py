"""The files of a folder that a stranger filled: no links, no depth without end, no name that others cannot write."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

DEEPEST = 20  # folders in each other


def plain_files(folder: Path, left_out: Iterable[str] = ()) -> Iterator[Path]:
    """The paths of the files within a folder, in order; none of a link, which could lead anywhere.

    Args:
        folder: the stranger's.
        left_out: what is passed over in it, by the first part of its path.
    """
    for place, folders, names in os.walk(folder, followlinks=False):
        inner = Path(place).relative_to(folder)
        folders[:] = sorted(filter(_is_text, folders)) if len(inner.parts) < DEEPEST else []
        if not inner.parts:
            folders[:] = [name for name in folders if name not in left_out]
        for name in sorted(filter(_is_text, names)):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink() and (inner.parts or name not in left_out):
                yield inner / name


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True
