"""A widget where it is not live: its picture, and the words that say how it comes to life."""

import base64
import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

# After a notebook is saved and its kernel has gone, JupyterLab writes an error in place of the widget, as it knows
# nothing of the picture: text without an element in it. (That the live widget hides the picture is in its script.)
AGAIN = "vit-explorer-again"
STYLE = f"""<style>
.jp-OutputArea-child:has(.{AGAIN}) + .jp-OutputArea-child .jp-OutputArea-output:not(:has(*)) {{display: none}}
</style>"""


def outputs(figure: Figure, alt: str, what: str) -> list[tuple[dict, dict]]:
    """What stands in a notebook before the live widget: the picture, and the words below it; data and metadata each.

    Args:
        figure: the picture.
        alt: the same in words.
        what: the widget's kind, "explorer" or "figure".
    """
    words = f"The picture above is still: run this cell for the live {what}."
    again = f'{STYLE}<p class="{AGAIN}"><em>{words}</em></p>'
    picture = {"image/png": base64.b64encode(_png(figure)).decode(), "text/plain": f"the {what}'s picture"}
    return [(picture, {"image/png": {"alt": alt}}), ({"text/html": again, "text/plain": words}, {})]


def _png(figure: Figure) -> bytes:
    # Straight from the canvas: as a PNG in between it would take a tenth of a second more.
    drawn = FigureCanvasAgg(figure)
    drawn.draw()
    buffer = io.BytesIO()
    # 256 colours are enough for it, and halve what a stored notebook grows by.
    Image.fromarray(np.asarray(drawn.buffer_rgba())).convert("RGB").quantize(256).save(
        buffer, format="png", optimize=True
    )
    return buffer.getvalue()
