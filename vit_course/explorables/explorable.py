"""The widget of every explorable: data that go to the browser once, and a state that follows what is dragged."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from vit_course._support.widgets import pages, scripts
from vit_course._support.widgets.encoding import Sections
from vit_course._support.widgets.state import refusal
from vit_course._support.widgets.widget import StillWidget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent
STORED = "vit_play"
NAMES = ("_name", "_facts", "state")


class Explorable(StillWidget):
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

    _name = traitlets.Unicode().tag(sync=True)
    _facts = traitlets.Dict().tag(sync=True)
    _data = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

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
        self._still_of, self._computed, self._answer = still, computed, answer
        self._table = json.loads((FOLDER / "js" / f"{name}.json").read_text(encoding="utf-8"))
        self._esm, self._css = scripts.module(f"explorables/{name}"), scripts.style("play", f"explorables/js/{name}")
        sections = sections or Sections()
        facts = facts | {"sections": sections.described} | ({"asks": asks} if answer else {})
        whole = {part: deepcopy(row["usual"]) for part, row in self._table.items()} | state
        self._check(whole, facts)
        super().__init__(_name=name, _facts=facts, _data=sections.data, state=whole)
        self.on_msg(self._asked)

    def _check(self, state: dict, facts: dict) -> None:
        for part, value in state.items():
            refused = refusal(self._table, part, value, facts.get("counts", {}))
            if refused:
                raise ValueError(refused)

    @traitlets.validate("state")
    def _within(self, proposal: dict) -> dict:
        if self._facts:  # the first values come before them
            try:
                self._check(proposal["value"], self._facts)
            except ValueError as error:
                raise traitlets.TraitError(str(error)) from error
        return {**self.state, **proposal["value"]}

    def _asked(self, _widget, content: dict, _buffers: list) -> None:
        try:
            self._check(content["state"], self._facts)
            reply = {"values": self._answer(content["state"])} if self._answer else {"error": "there is no function"}
            json.dumps(reply, allow_nan=False)
        except Exception as error:  # nobody sees what is raised while the browser's messages are handled
            reply = {"error": f"{type(error).__name__}: {error}"}
        self.send({"answers": content["ask"], **reply})

    def _draw(self) -> "tuple[Figure, str]":
        return self._still_of(self.state)

    def __str__(self) -> str:
        return f"explorables.{self._name}()"

    def computed(self, state: dict | None = None) -> dict:
        """What the page computes, but in Python, by the names of the numbers: of the present state, or of another."""
        return self._computed(self.state | (state or {}))

    def everything(self) -> dict:
        """-> the state and the data by their names, as `markup` takes them."""
        return {name: getattr(self, name) for name in (*NAMES, "_data")}

    def save_html(self, path: str | Path, title: str = "", overwrite: bool = False) -> None:
        """Writes one page that needs no server and no network.

        Args:
            path: the file to write, such as "figure.html"; its folder must exist.
            title: the heading of the page and the name of its window; by default that of the explorable.
            overwrite: whether a file of this name is replaced.

        Raises:
            ValueError, FileExistsError, OSError: as `widgets.pages.save_page`.
        """
        style = scripts.style("play", f"explorables/js/{self._name}", "page")
        everything = self.everything()
        body = markup(everything, dense=True)
        title = title or self._name.replace("_", " ").capitalize()
        pages.save_page(path, title, overwrite, lambda escaped: pages.page(escaped, style, body, script(everything)))


def markup(everything: dict, dense: bool = False) -> str:
    """The place of one explorable in a page, and what it shows; its script and the style stand elsewhere in the page.

    Args:
        everything: of an `Explorable`.
        dense: as in `pages.markup`.
    """
    values = {name: everything[name] for name in ("_facts", "state")}
    return pages.markup(everything["_name"], values, everything["_data"], dense)


def script(everything: dict) -> str:
    """What a page with this explorable needs once, after all of its kind: a module, inline."""
    return scripts.module(f"explorables/{everything['_name']}")


def pack(everything: dict) -> dict:
    """What a stored notebook keeps of an explorable; of the traits of a widget the others are left out."""
    return pages.pack(STORED, {name: everything[name] for name in NAMES}, bytes(everything["_data"]))


def unpack(view: dict) -> dict | None:
    """What `pack` has packed, or None if the view is another's."""
    found = pages.unpack(STORED, view)
    return found and {**found[0], "_data": found[1]}
