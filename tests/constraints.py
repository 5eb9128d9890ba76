"""Writes constraints.txt: the versions of this environment, in which the stored outputs were made.

    .venv/bin/python tests/constraints.py

For the README's commands and CI, so that an install in a year still gives the same course. It holds names and versions
alone; constraints on packages that an install does not need, such as those of another system, have no effect.
"""

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

FILE = Path(__file__).parents[1] / "constraints.txt"
OLDEST = "3.11.0"
ABOUT = """\
# The versions in which the stored outputs were made, written by tests/constraints.py. An install with
# `pip install -c constraints.txt -e ".[course]"` gives the same course at any time.
"""
COURSE = "vit-course"


def needed(*extras: str) -> set[str]:
    """The names of all installed packages that the course needs with these extras ("" for none), also indirectly."""
    found: set[str] = set()
    wanted = {(COURSE, extra) for extra in extras}
    done = set()
    while wanted:
        one = wanted.pop()
        done.add(one)
        try:
            texts = metadata.requires(one[0]) or []
        except metadata.PackageNotFoundError:  # only needed on another system or Python
            continue
        found.add(canonicalize_name(one[0]))
        for requirement in map(Requirement, texts):
            if requirement.marker is None or requirement.marker.evaluate({"extra": one[1]}):
                wanted |= {(requirement.name, extra) for extra in ("", *requirement.extras)} - done
    return found - {COURSE}


def lines() -> list[str]:
    """A line for each package, in the order of the alphabet."""
    return [f"{name}=={Version(metadata.version(name)).public}{_marker(name)}" for name in sorted(needed("", "test"))]


def _marker(name: str) -> str:
    # An early patch release of our oldest Python, as some systems have it, takes another version of these.
    asked = SpecifierSet(metadata.metadata(name)["Requires-Python"] or "")
    if OLDEST in asked:
        return ""
    first = max(Version(spec.version) for spec in asked if spec.operator == ">=")
    return f'; python_full_version >= "{first}"'


if __name__ == "__main__":
    FILE.write_text(ABOUT + "\n".join(lines()) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(lines())} packages")
