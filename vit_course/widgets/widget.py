"""A widget that is a picture where nothing is live."""

import importlib.util
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import anywidget

from vit_course.inputs.extras import extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StillWidget(anywidget.AnyWidget):
    """An anywidget with a picture before it, which a stored notebook shows, and a text that never changes."""

    _what = "figure"

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
            display(data, raw=True, metadata=metadata)

    def _still(self) -> list[tuple[dict, dict]]:
        # What a stored notebook shows. Without matplotlib there is none, and the widget lives all the same.
        if importlib.util.find_spec("matplotlib") is None:
            return []
        from vit_course.widgets.still import outputs

        return outputs(*self._draw(), self._what)
