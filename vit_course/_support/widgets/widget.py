"""A widget that is a picture where nothing is live."""

import asyncio
import importlib.util
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anywidget

from vit_course._support.inputs.extras import extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


QUIET = 2.0  # seconds without a change by hand, after which the picture follows


class StillWidget(anywidget.AnyWidget):
    """An anywidget with a picture before it, which a stored notebook shows, and a text that never changes."""

    _what = "figure"
    _picture: Any = None  # the picture's place in the notebook, once it has one
    _later: asyncio.TimerHandle | None = None

    @abstractmethod
    def _draw(self) -> tuple["Figure", str]:
        """The picture of the present state, and the same in words."""

    @abstractmethod
    def __str__(self) -> str:
        """The widget in a line, the same in every session."""

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
        """Takes what the browser has set; a while later the picture follows, so that a notebook keeps what was left."""
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
