"""What a notebook's cells gave, as the HTML of its page: figures as small files with their alt text, live explorers."""

import base64
import html
import io
from pathlib import Path

from PIL import Image

from vit_course._support.widgets import pages, scripts
from vit_course._support.widgets.still import AGAIN

VIEW = "application/vnd.jupyter.widget-view+json"
# A figure that takes more than this without loss is one of photographs, and may lose what nobody sees.
LOSSLESS_BYTES = 60_000
QUALITY = 90


def show_outputs(notebook: dict, name: str, figures: Path) -> dict:
    """The notebook with HTML in place of its pictures and explorers: nothing else carries their alt text.

    The files of the figures are named after the notebook and written into the folder `figures`.
    """
    figures.mkdir(parents=True, exist_ok=True)
    last, modules = None, {}
    for index, cell in enumerate(notebook["cells"]):
        picture, outputs = "", []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            live = widget_of(data[VIEW]) if VIEW in data else None
            if AGAIN in "".join(data.get("text/html", "")):
                continue
            if live is not None:
                # The picture right before it stays for readers whose browser runs no scripts.
                if picture:
                    outputs.pop()
                noscript = f"<noscript>{picture}</noscript>" if picture else ""
                last, picture = _html(noscript + live[0]), ""
                modules[live[1]] = None
                outputs.append(last)
            elif "image/png" in data:
                alt = output["metadata"].get("image/png", {}).get("alt", "")
                file = figures / f"{name}-{index}-{len(outputs)}.webp"
                width, height = write_figure(base64.b64decode("".join(data["image/png"])), file)
                picture = (
                    f'<img src="{figures.name}/{file.name}" alt="{html.escape(alt)}" '
                    f'width="{width}" height="{height}" loading="lazy">'
                )
                outputs.append(_html(picture))
            else:
                picture = ""
                outputs.append(output)
        if "outputs" in cell:
            cell["outputs"] = outputs
    if last is not None:
        # Once a page, and inline: from a file no module may be loaded.
        last["data"]["text/html"] += "".join(f'<script type="module">{module}</script>' for module in modules)
    return notebook


def widget_of(view: dict) -> tuple[str, str] | None:
    """The place in the page and the script of what a stored notebook has kept of a widget, or None."""
    everything = pages.unpack(view)
    return everything and (pages.markup(everything), scripts.module(everything["_name"]))


def write_figure(png: bytes, file: Path) -> tuple[int, int]:
    """Writes a stored PNG as a WebP, which is a small part of its size; -> (width, height) in pixels."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", lossless=True, method=4)
        if buffer.tell() > LOSSLESS_BYTES:
            buffer = io.BytesIO()
            picture.convert("RGB").save(buffer, "WEBP", quality=QUALITY, method=4)
        file.write_bytes(buffer.getvalue())
        return picture.size


def _html(text: str) -> dict:
    return {"output_type": "display_data", "data": {"text/html": text}, "metadata": {}}
