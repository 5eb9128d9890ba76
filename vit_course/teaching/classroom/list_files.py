"""Lists the files of an untrusted folder: no links, and a limited depth."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

DEEPEST = 20  # levels of folders


def plain_files(folder: Path, left_out: Iterable[str] = (), any_name: bool = False) -> Iterator[Path]:
    """The sorted relative paths of the files in a folder; links are skipped, since they could lead anywhere.

    Args:
        folder: the untrusted folder.
        left_out: names of files and folders at its top level that are skipped.
        any_name: also names that are no valid UTF-8, which not every program can take.
    """
    is_wanted = None if any_name else _is_text
    for place, folders, names in os.walk(folder, followlinks=False):
        inner = Path(place).relative_to(folder)
        folders[:] = sorted(filter(is_wanted, folders)) if len(inner.parts) < DEEPEST else []
        if not inner.parts:
            folders[:] = [name for name in folders if name not in left_out]
        for name in sorted(filter(is_wanted, names)):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink() and (inner.parts or name not in left_out):
                yield inner / name


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True
