"""A widget that is not live: its still picture, and a sentence on how to get the live widget."""

import base64
import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

# In a saved notebook without a kernel, JupyterLab shows an error in place of the widget, as text without an element.
# This rule hides the error below the picture. (The live widget hides the picture by its script.)
AGAIN = "vit-explorer-again"
STYLE = f"""<style>
.jp-OutputArea-child:has(.{AGAIN}) + .jp-OutputArea-child .jp-OutputArea-output:not(:has(*)) {{display: none}}
</style>"""


def outputs(figure: Figure, alt: str, what: str) -> list[tuple[dict, dict]]:
    """Returns the outputs that precede the live widget in a notebook: picture and sentence, as (data, metadata) each.

    Args:
        figure: the picture.
        alt: its description.
        what: the widget's kind, "explorer" or "figure".
    """
    words = f"The picture above is still: run this cell for the live {what}."
    again = f'{STYLE}<p class="{AGAIN}"><em>{words}</em></p>'
    picture = {"image/png": base64.b64encode(_png(figure)).decode(), "text/plain": f"the {what}'s picture"}
    return [(picture, {"image/png": {"alt": alt}}), ({"text/html": again, "text/plain": words}, {})]


def _png(figure: Figure) -> bytes:
    # Pixels straight from the canvas: matplotlib's own PNG in between would take a tenth of a second more.
    drawn = FigureCanvasAgg(figure)
    drawn.draw()
    buffer = io.BytesIO()
    # 256 colours are enough, and halve the size of the picture in a stored notebook.
    Image.fromarray(np.asarray(drawn.buffer_rgba())).convert("RGB").quantize(256).save(
        buffer, format="png", optimize=True
    )
    return buffer.getvalue()
