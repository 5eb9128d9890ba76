"""The captions of generated scenes: which words they have, and what they say."""

import re
from dataclasses import dataclass

from vit_course._support.inputs.rules import shown
from vit_course.data.shapes import SHAPES

SIZES = ("small", "large")
COLOURS = ("red", "green", "blue", "yellow", "purple", "white")
RELATIONS = ("to the left of", "to the right of", "above", "below")
WORDS = tuple(sorted({"a", *SIZES, *COLOURS, *SHAPES, *" ".join(RELATIONS).split()}))

_THING = rf"a (?:({'|'.join(SIZES)}) )?({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})"
_SENTENCE = re.compile(rf"({_THING})(?: ({'|'.join(RELATIONS)}) ({_THING}))?")


@dataclass(frozen=True)
class Thing:
    """A shape in a sentence; what is empty is not said of it. A caption names at least colour and shape."""

    colour: str = ""
    shape: str = ""
    size: str = ""

    def __str__(self) -> str:
        return " ".join(word for word in ("a", self.size, self.colour, self.shape) if word)


@dataclass(frozen=True)
class Sentence:
    """What a caption says: one thing, or a relation between two; `str()` gives its words."""

    first: Thing
    relation: str = ""
    second: Thing | None = None

    def __str__(self) -> str:
        return f"{self.first} {self.relation} {self.second}" if self.second else str(self.first)


def parse(caption: str) -> Sentence:
    """The sentence of a caption, such as "a red ring to the left of a small blue cross".

    Raises:
        ValueError: words that form no such sentence.
    """
    match = _SENTENCE.fullmatch(caption) if isinstance(caption, str) else None
    if match is None:
        raise ValueError(
            "a caption must be like 'a red ring' or 'a small red ring to the left of a blue cross', with the words "
            f"{', '.join(WORDS)}, got {shown(caption)}"
        )
    _, size, colour, shape, relation, second, *rest = match.groups()
    other = Thing(rest[1], rest[2], rest[0] or "") if second else None
    return Sentence(Thing(colour, shape, size or ""), relation or "", other)
