"""Where the course's own files are: chapters, weights, photographs, diagrams, results of long runs."""

import hashlib
from pathlib import Path

from vit_course._support.inputs.rules import text

PACKAGE = Path(__file__).parents[2]
# The folder that holds notebooks/ and res/: in a checkout it contains the package, in a wheel the package contains it.
ROOTS = (PACKAGE.parent, PACKAGE / "course")
FIRST_CHAPTER = "notebooks/00_start_here.ipynb"
# A folder by which a root is recognised.
MARK = "res/diagrams"
# In res/, in the format of `sha256sum`: the checksums of the weights and graphs that come with the course.
SUMS = "weights.sha256"


def course() -> Path:
    """The folder that holds `notebooks/` and `res/`, wherever the course is installed.

    Raises:
        OSError: this installation has neither.
    """
    for folder in ROOTS:
        if (folder / MARK).is_dir():
            return folder
    raise OSError(f"this installation has no {MARK} in {' or '.join(map(str, ROOTS))}: install it again")


def is_checkout() -> bool:
    """Whether the package lies in a checkout of the repository, and not in an installed wheel."""
    return (ROOTS[0] / MARK).is_dir()


def stored(name: str) -> Path:
    """The path of one of the course's own files, such as "convnet/table.csv", wherever the course is installed.

    Raises:
        ValueError: there is no such file.
        OSError: this installation has no files of the course.
    """
    text("name", name)
    path = course() / "res" / name
    if not name or not path.exists():
        raise ValueError(f"the course has no file {name!r} in {path.parent}")
    return path


def need_as_shipped(path: Path) -> bool:
    """Checks the SHA-256 of a file that comes with the course; returns False for any other file, unchecked.

    Raises:
        ValueError: the checksum is not that of the shipped file.
    """
    try:
        folder = course() / "res"
        name = path.resolve().relative_to(folder.resolve()).as_posix()
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # the course's files are not installed, or this one lies elsewhere
        return False
    wanted = {place: digest for digest, place in (line.split("  ", 1) for line in lines)}.get(name)
    if wanted is None:
        return False
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise ValueError(
            f"{path} is damaged, or not the file that comes with the course: its SHA-256 is {found}, {wanted} is "
            "needed; install the course again"
        )
    return True
