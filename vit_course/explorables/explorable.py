"""The widget of every explorable: data that go to the browser once, and a state that follows what is dragged."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from vit_course._support.widgets.encoding import Sections
from vit_course._support.widgets.widget import Widget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent


class Explorable(Widget):
    """A figure of which something is dragged, and the rest answers, computed in the browser.

    `state`, a dict, is there to be read, set and observed; the table of its parts is `js/NAME.json`.

    Args:
        name: of the explorable: its module is `js/NAME.js`.
        facts: what JSON can hold of its data. "counts" says how many there are of what the table counts.
        still: from the state to a Figure and the same in words.
        computed: from the state to what the browser computes, numbers and lists of numbers by the same names.
        sections: the arrays and files.
        answer: a learner's function, from the state to what JSON can hold; the browser asks it while something moves.
        asks: what the learner calls the function, such as "`weights`".
        state: parts of the first state, where they are not as usual.

    Raises:
        ValueError: a state of an unknown name, or a value that it cannot take.
    """

    _facts = traitlets.Dict().tag(sync=True, kept=True)
    state = traitlets.Dict().tag(sync=True, kept=True)

    def __init__(
        self,
        name: str,
        facts: dict,
        still: "Callable[[dict], tuple[Figure, str]]",
        computed: Callable[[dict], dict],
        sections: Sections | None = None,
        answer: Callable[[dict], Any] | None = None,
        asks: str = "function",
        **state: Any,
    ):
        self._still_of, self._computed, self._learners = still, computed, answer
        table = json.loads((FOLDER / "js" / f"{name}.json").read_text(encoding="utf-8"))
        sections = sections or Sections()
        facts = facts | {"sections": sections.described} | ({"asks": asks} if answer else {})
        whole = {part: deepcopy(row["usual"]) for part, row in table.items()} | state
        counts = facts.get("counts", {})
        super().__init__(name, table, counts, whole, _facts=facts, _data=sections.data, state=whole)

    @traitlets.validate("state")
    def _within(self, proposal: dict) -> dict:
        self._check_traits(proposal["value"])
        return {**self.state, **proposal["value"]}

    def _answer(self, question: dict) -> tuple[dict, list[bytes]]:
        self._check(question["state"])
        return {"values": self._learners(question["state"])}, []

    def _draw(self) -> "tuple[Figure, str]":
        return self._still_of(self.state)

    def __str__(self) -> str:
        return f"explorables.{self._name}()"

    def computed(self, state: dict | None = None) -> dict:
        """What the page computes, but in Python, by the names of the numbers: of the present state, or of another."""
        return self._computed(self.state | (state or {}))
