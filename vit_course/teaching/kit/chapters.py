"""What the kit takes from the chapters: minutes on the cards, stored figures, and diagrams with their alt text."""

import base64
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import nbformat

from vit_course._support.files.course_files import course, stored

CAPTION = re.compile(r"^\*Figure (\d+)\. (.+?)\*(?: |$)", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"(\d+) min for the main path, (\d+) min of exercises(?:, (\d+) min for the \*Deeper\* sections)?")


@dataclass(frozen=True)
class Picture:
    """A picture with its alt text.

    Args:
        name: of the file to write.
        data: its bytes.
        alternative: the alt text.
    """

    name: str
    data: bytes
    alternative: str


@dataclass(frozen=True)
class Minutes:
    """The minutes on a chapter's card: for the main path, the exercises and the Deeper sections."""

    main: int
    exercises: int
    deeper: int


class Chapter:
    """One notebook, by the path of its file."""

    def __init__(self, path: Path):
        self.path = path
        self.number = path.name[:2]

    @cached_property
    def notebook(self):
        """The notebook's node."""
        return nbformat.read(self.path, as_version=4)

    @property
    def title(self) -> str:
        """Such as "04 Attention"."""
        return self.notebook.cells[0].source.partition("\n")[0].removeprefix("# ")

    @property
    def minutes(self) -> Minutes:
        """The three numbers of the card.

        Raises:
            ValueError: the card has no such line.
        """
        found = TIME.search(self.notebook.cells[0].source)
        if not found:
            raise ValueError(
                f"{self.path.name}: its card has no line '... min for the main path, ... min of exercises'"
            )
        return Minutes(*(int(number or 0) for number in found.groups()))

    def figure(self, number: int) -> Picture:
        """The stored picture of Figure 1, 2, ...: the figures of a chapter are numbered in the order of its pictures.

        Raises:
            ValueError: there is none of this number.
        """
        outputs = [output for cell in self.notebook.cells for output in cell.get("outputs", [])]
        found = [output for output in outputs if "image/png" in output.get("data", {})]
        if not 1 <= number <= len(found):
            raise ValueError(f"{self.path.name} has the figures 1 to {len(found)}, not {number}")
        output = found[number - 1]
        data = base64.b64decode(output.data["image/png"])
        return Picture(f"{self.number}-figure-{number}.png", data, output.metadata["image/png"]["alt"])


@cache
def chapters() -> dict[str, Chapter]:
    """All chapters by their number, "00" to "14"."""
    return {path.name[:2]: Chapter(path) for path in sorted((course() / "notebooks").glob("[0-9][0-9]_*.ipynb"))}


def chapter(number: str) -> Chapter:
    """The chapter of a number, such as "04".

    Raises:
        ValueError: there is none; the sentence names those that are there.
    """
    if number not in chapters():
        raise ValueError(f"there is no chapter {number!r}; the chapters are {', '.join(chapters())}")
    return chapters()[number]


def diagram(name: str) -> Picture:
    """A drawing of res/diagrams, with the alt text that a chapter gives it.

    Raises:
        ValueError: there is no such drawing, or no chapter shows it.
    """
    path = stored(f"diagrams/{name}")
    shown = re.compile(rf"!\[([^\]]+)\]\(\.\./res/diagrams/{re.escape(name)}\)")
    for each in chapters().values():
        for cell in each.notebook.cells:
            if cell.cell_type == "markdown" and (found := shown.search(cell.source)):
                return Picture(name, path.read_bytes(), found[1])
    raise ValueError(f"no chapter shows the diagram {name!r}, so there are no words for it")


def picture(address: str) -> Picture:
    """The picture of an address: `figure:04/2` is Figure 2 of chapter 04, `diagram:heads.svg` a drawing.

    Raises:
        ValueError: an address of neither form, or of a picture that is not there; the sentence names it.
    """
    kind, _, name = address.partition(":")
    place = re.fullmatch(r"(\d\d)/(\d+)", name)
    try:
        if kind == "figure" and place:
            return chapter(place[1]).figure(int(place[2]))
        if kind == "diagram" and name:
            return diagram(name)
    except ValueError as error:
        raise ValueError(f"{address}: {error}") from error
    raise ValueError(f"{address!r} names no picture: write figure:04/2 or diagram:heads.svg")
