"""Packages that only a part of the course needs: what to install where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The extras of pyproject.toml that a missing package may belong to.
EXTRAS = ("course", "train", "pretrained", "classroom", "kit", "site")


class MissingPackage(ModuleNotFoundError):
    """A package of an extra is not installed; the sentence says what to run."""


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Around imports that belong to an extra: says which one where a package is missing.

    Args:
        name: of the extra, one of `EXTRAS`.
        what: needs the packages, as the beginning of the sentence, such as "training".

    Raises:
        MissingPackage: a package of another project is not installed; the sentence says what to run.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingPackage) or error.name is None or error.name.partition(".")[0] == "vit_course":
            raise
        words = f"{what} needs the package {error.name.partition('.')[0]}, which is not installed. "
        raise MissingPackage(words + f"Run: {install_line(name)}", name=error.name) from error


def install_line(*names: str) -> str:
    """What to type to install the course with some of its extras: in a checkout, or where a wheel was installed."""
    place = '-e ".' if (Path(__file__).parents[3] / "pyproject.toml").is_file() else '"vit-course'
    return f'python -m pip install {place}[{",".join(names)}]"'
