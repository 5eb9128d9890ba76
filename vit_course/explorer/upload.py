"""A button to upload a picture, and below it a widget that shows that picture."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO

import anywidget
import ipywidgets
import traitlets

from vit_course._support.widgets import scripts


class PictureButton(anywidget.AnyWidget):
    """The button and a line of text: sends a file's name and bytes to Python, and displays `message`.

    It replaces `ipywidgets.FileUpload` because Jupyter's connection breaks at messages above 10 MiB, and many
    photographs are larger. This button makes such a picture smaller in the browser, and says so.
    """

    _esm = scripts.module("upload")
    _css = scripts.style("upload")

    message = traitlets.Unicode().tag(sync=True)


class PictureUpload(ipywidgets.VBox):
    """A `PictureButton`, and below it the widget that `show` makes from the last picture.

    The widget always belongs to the file chosen last: if that cannot be used, the earlier widget is removed.

    Args:
        show: from a binary file, whose `name` is the picture's, to a widget; the reader sees its `ValueError`.
        treatment: a phrase that says what `show` does to a picture, shown after the picture's name.

    Raises:
        ValueError: a `show` that is not a function.

    `explorer` is that widget, or None before the first picture and after one that could not be used.
    """

    def __init__(self, show: Callable[[BinaryIO], ipywidgets.Widget], treatment: str = ""):
        if not callable(show):
            raise ValueError(f"show must be a function from a file to a widget, got {type(show).__name__}")
        self._show, self._treatment = show, treatment
        self.explorer: ipywidgets.Widget | None = None
        self._button = PictureButton()
        self._button.on_msg(self._chosen)
        super().__init__([self._button])

    def _chosen(self, button: PictureButton, content: dict, buffers: list) -> None:
        button.message = ""  # so that the same message, set again, counts as a change
        earlier, self.explorer = self.explorer, None
        message = content["refusal"]
        if not message:
            file = io.BytesIO(buffers[0])
            file.name = content["name"]
            message, self.explorer = self._made(file)
        self.children = [button] if self.explorer is None else [button, self.explorer]
        if earlier is not None:
            earlier.close()
        button.message = " ".join(filter(None, [content["note"], message]))

    def _made(self, file: BinaryIO) -> tuple[str, ipywidgets.Widget | None]:
        try:
            made = self._show(file)
        except ValueError as error:
            return f"{error}. Please choose another picture.", None
        except BaseException as error:  # shown nowhere else: `exit()` in a model, and the stop button too
            return f"{file.name} could not be shown: {type(error).__name__}: {error}", None
        return f"Below: {file.name}, {self._treatment}." if self._treatment else f"Below: {file.name}.", made

    def _repr_mimebundle_(self, **kwargs: Any) -> dict:
        # A text that is the same in every session, and useful where no widget is live.
        data = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/plain": "A button for a picture of your own: run this cell to use it."}
