"""The base class of the explorer and of every explorable: data sent to the browser once, and a validated state."""

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


QUIET = 2.0  # seconds without a change in the browser, after which the still picture is redrawn


class Widget(anywidget.AnyWidget):
    """An anywidget that can be saved as a page, with a still picture that a stored notebook shows.

    Traits with the tag `kept` are stored in saved pages and notebooks.

    Args:
        name: of its script and its style sheets, see `scripts`.
        table, counts: of its state, as `state_table.refusal` takes them.
        values: the values of the parts of the state.
        traits: all further traits.

    Raises:
        ValueError: an unknown part of the state, or a value that it cannot take.
    """

    _name = traitlets.Unicode().tag(sync=True, kept=True)
    _data = traitlets.Bytes().tag(sync=True, kept=True)

    _what = "figure"
    _picture: Any = None  # the display handle of the still picture, once it is shown
    _later: asyncio.TimerHandle | None = None

    def __init__(self, name: str, table: dict, counts: dict[str, int], values: dict, **traits: Any):
        self._table, self._counts = table, counts
        self._check(values)
        self._esm, self._css = scripts.module(name), scripts.style(name)
        super().__init__(_name=name, **traits)
        self.on_msg(self._asked)

    @abstractmethod
    def _draw(self) -> tuple["Figure", str]:
        """Draws the still picture of the present state, and describes it in words."""

    @abstractmethod
    def __str__(self) -> str:
        """Describes the widget in one line that is the same in every session."""

    @abstractmethod
    def _answer(self, question: dict) -> tuple[dict, list[bytes]]:
        """Answers a question of the browser with a dict that JSON can hold, and a list of binary buffers."""

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
        except BaseException as error:  # shown nowhere else: a learner's exit(), and the stop button too
            reply, buffers = {"error": f"{type(error).__name__}: {error}".removesuffix(": ")}, []
        self.send({"answers": question["ask"], **reply}, buffers)

    def everything(self) -> dict:
        """Returns the state and the data by their names, as `pages` takes them."""
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
        """Returns the still picture of the present state, for readers without a live widget, as a matplotlib Figure.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        with extra("course", f"the {self._what}'s still picture"):
            return self._draw()[0]

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        # The default text/plain would contain all the data.
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": str(self)}, metadata

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for data, metadata in [*self._still(), self._repr_mimebundle_()]:
            place = display(data, raw=True, metadata=metadata, display_id=True)
            if "image/png" in data:
                self._picture = place

    def set_state(self, sync_data: dict) -> None:
        # Called when the browser changes the state. The still picture is redrawn a while later, so that a stored
        # notebook shows the last state.
        super().set_state(sync_data)
        if self._picture is None:
            return
        if self._later:
            self._later.cancel()
        with suppress(RuntimeError):  # without an event loop the picture is not redrawn
            self._later = asyncio.get_running_loop().call_later(QUIET, self._follow)

    def _follow(self) -> None:
        data, metadata = self._still()[0]
        self._picture.update(data, raw=True, metadata=metadata)

    def _still(self) -> list[tuple[dict, dict]]:
        # The outputs that a stored notebook shows. Without matplotlib there are none, but the live widget still works.
        if importlib.util.find_spec("matplotlib") is None:
            return []
        from vit_course._support.widgets.still import outputs

        return outputs(*self._draw(), self._what)
