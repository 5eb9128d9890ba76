"""The files that the course brings along: results of long runs, weights, diagrams."""

from pathlib import Path

from vit_course.inputs.rules import text

# In a checkout they lie in res/; a wheel carries those that the chapters read inside the package, weights apart.
PACKAGE = Path(__file__).parents[1]
FOLDERS = (PACKAGE.parent / "res", PACKAGE / "course" / "res", PACKAGE / "runs")


def stored(name: str) -> Path:
    """The path of one of the course's own files, such as "convnet/table.csv", wherever the course is installed.

    Raises:
        ValueError: no such file; the sentence names it.
    """
    text("name", name)
    for folder in FOLDERS:
        if (folder / name).exists():
            return folder / name
    raise ValueError(f"the course has no file {name!r} in {' or '.join(map(str, FOLDERS))}")
