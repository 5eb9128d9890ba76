"""The widget of the explorer and of every explorable: data that go to the browser once, and a state of a known form."""

import asyncio
import importlib.util
import json
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from vit_course._support.inputs.extras import extra
from vit_course._support.widgets import pages, scripts
from vit_course._support.widgets.state_table import refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


QUIET = 2.0  # seconds without a change by hand, after which the picture follows


class Widget(anywidget.AnyWidget):
    """An anywidget that can be a page of its own, with a picture before it, which a stored notebook shows.

    Traits with the tag `kept` are what a saved page and a stored notebook have of it.

    Args:
        name: of its script and its style sheets, see `scripts`.
        table, counts: of its state, as `state_table.refusal` takes them.
        values: of the parts of the state.
        traits: all further traits.

    Raises:
        ValueError: a part that there is not, or a value that it cannot take.
    """

    _name = traitlets.Unicode().tag(sync=True, kept=True)
    _data = traitlets.Bytes().tag(sync=True, kept=True)

    _what = "figure"
    _picture: Any = None  # the picture's place in the notebook, once it has one
    _later: asyncio.TimerHandle | None = None

    def __init__(self, name: str, table: dict, counts: dict[str, int], values: dict, **traits: Any):
        self._table, self._counts = table, counts
        self._check(values)
        self._esm, self._css = scripts.module(name), scripts.style(name)
        super().__init__(_name=name, **traits)
        self.on_msg(self._asked)

    @abstractmethod
    def _draw(self) -> tuple["Figure", str]:
        """The picture of the present state, and the same in words."""

    @abstractmethod
    def __str__(self) -> str:
        """The widget in a line, the same in every session."""

    @abstractmethod
    def _answer(self, question: dict) -> tuple[dict, list[bytes]]:
        """What the browser has asked: what JSON can hold of the answer, and the bytes."""

    def _check(self, values: dict) -> None:
        for name, value in values.items():
            if refused := refusal(self._table, name, value, self._counts):
                raise ValueError(refused)

    def _check_traits(self, values: dict) -> None:
        try:
            self._check(values)
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from error

    def _asked(self, _widget: object, question: dict, _buffers: list) -> None:
        try:
            reply, buffers = self._answer(question)
            json.dumps(reply, allow_nan=False)
        except Exception as error:  # nobody sees what is raised while the browser's messages are handled
            reply, buffers = {"error": f"{type(error).__name__}: {error}"}, []
        self.send({"answers": question["ask"], **reply}, buffers)

    def everything(self) -> dict:
        """-> the state and the data by their names, as `pages` takes them."""
        return {name: getattr(self, name) for name in self.trait_names(kept=True)}

    def save_html(self, path: str | Path, title: str = "", overwrite: bool = False) -> None:
        """Writes one page that needs no server and no network: it opens from a folder, an e-mail or a memory stick.

        Args:
            path: the file to write, such as "maps.html"; its folder must exist.
            title: the heading of the page and the name of its window; by default that of the widget.
            overwrite: whether a file of this name is replaced.

        Raises:
            ValueError, FileExistsError, OSError: as `pages.save_page`.
        """
        pages.save_page(path, title or self._title(), overwrite, self.everything())

    def _title(self) -> str:
        return self._name.replace("_", " ").capitalize()

    def figure(self) -> "Figure":
        """A matplotlib Figure of what a reader who cannot point sees.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        with extra("course", f"the {self._what}'s still picture"):
            return self._draw()[0]

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        # The class's own text would hold all the numbers.
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": str(self)}, metadata

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for data, metadata in [*self._still(), self._repr_mimebundle_()]:
            place = display(data, raw=True, metadata=metadata, display_id=True)
            if "image/png" in data:
                self._picture = place

    def set_state(self, sync_data: dict) -> None:
        # What the browser has set; a while later the picture follows, so that a notebook keeps what was left.
        super().set_state(sync_data)
        if self._picture is None:
            return
        if self._later:
            self._later.cancel()
        with suppress(RuntimeError):  # no loop runs: nothing comes later
            self._later = asyncio.get_running_loop().call_later(QUIET, self._follow)

    def _follow(self) -> None:
        data, metadata = self._still()[0]
        self._picture.update(data, raw=True, metadata=metadata)

    def _still(self) -> list[tuple[dict, dict]]:
        # What a stored notebook shows. Without matplotlib there is none, and the widget lives all the same.
        if importlib.util.find_spec("matplotlib") is None:
            return []
        from vit_course._support.widgets.still import outputs

        return outputs(*self._draw(), self._what)
