"""The attention explorer: point at a patch, and the picture lights up where it looks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import traitlets
from PIL import Image

from vit_course._support.inputs.arrays import to_picture
from vit_course._support.inputs.rules import shown
from vit_course._support.widgets.encoding import Sections
from vit_course._support.widgets.pages import need_titles
from vit_course._support.widgets.widget import Widget
from vit_course.explorer.arguments import (
    STATE,
    need_attention,
    need_features,
    need_grid,
    need_image,
    need_link,
    need_note,
    need_says,
    need_whole,
)
from vit_course.explorer.opening_view import find_opening
from vit_course.explorer.panel import Panel
from vit_course.explorer.panel_data import with_tested
from vit_course.explorer.phrases import need_phrases
from vit_course.maps.models.tokens import fit_tokens

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vit_course.explorer.changes import Changes

Numbers = torch.Tensor | np.ndarray
CHOSEN = {"layer", "head", "fusion", "query", "direction"}  # if one of these is given, no opening view is searched for


class AttentionExplorer(Widget):
    """Shows where a Vision Transformer looks, on one image, or on several side by side with one query for all.

    All data go to the browser once. The browser computes the rows that it draws from queries and keys, so that pointing
    needs no kernel, and the size of the data grows with the number of tokens and not with its square.

    Args:
        maps: a tuple of queries and keys, each (L, h, T, d), as `record_attention(model).queries_and_keys()` gives
            them, `q[0], k[0]`; or the maps (L, h, T, T), if only these can be recorded. T counts the prefix tokens,
            which belong to no patch, and then the rows x columns patches. Or a list of such.
        image: (C, H, W) or (H, W), bytes or floats from 0 to 1, or a Pillow image, as the model sees it; or a list, one
            for each of the maps. The grid is drawn over all of it: cut it to `maps.Tokens.area`.
        grid: (rows, columns) of patches; or a list. By default the grid of the image's proportions that fits T.
        titles: a name for each of several panels.
        prefix: the names of the prefix tokens, or their number; or a list of such, one for each of the maps.
        features: (T, D), the tokens after the last norm, for similarity and colours; or a list.
        says: the predictions for the image: a dict of "labels", "probabilities" of the whole model, "lens", the
            probabilities before the first and after each layer, and "about", where they come from; or a list.
        link: for pictures that are changed copies of the first: for each token of the first panel the token of this
            panel with the same content; a list with one for each of the maps, the first None.
        whole: if `image` is the middle of a larger picture: a tuple of that Pillow image and the shares of its height
            and width that are kept; the page draws its middle, with more pixels than `image` has. If it is not the
            middle, a third part has the shares above it and to the left of it. Or a list.
        note: a sentence below the picture, such as which of its pixels no patch sees; or a list.
        changes: runs the model with parts removed, as `explore` makes it; or a list.
        phrases: for models of images and words: from a phrase to its cosine with each of the T tokens; or a list.
        state: the initial state, see below.

    The state can be set and observed: `layer` and `head`; `fusion` ("head", "mean", "rollout" up to the layer);
    `query`, a token, 0 for the first prefix token. If none of these nor `direction` is given, the explorer opens on the
    head and the patch that `find_opening` finds in the maps; otherwise the defaults are the last layer, head 0 and the
    class token. Further: `pinned`; `key`, the token that the query is compared with, -1 for none; `direction` ("from":
    where the query looks, "to": who looks at it); `view` ("attention", "similarity", "colours"); `phrase`, the number
    of the phrase with which the view "similarity" compares the patches, -1 for the query; `overlay` ("spotlight",
    "heat", "outline", "off"); `scale` ("own", "layer", "fixed") and `fixed`, the weight that is drawn at
    full strength with "fixed"; `smooth`; `details`, whether the fold "More" with "Why there?" is open; `testing`,
    whether "Test it" is open; `face` of the grid ("looks" for the maps, "matters" for how much each head matters) and
    `by`, what a removed head is replaced by ("token mean", "zero"); and `tour`, "look" for the guided tour, or "".

    Raises:
        ValueError: invalid maps, or maps whose rows do not sum to 1; more weights than a page can take; a grid that
            does not fit T; an invalid image, titles, features, link or state.
        TypeError: a state of an unknown name.

    Source: rollout by Abnar & Zuidema 2020 (arXiv:2005.00928); the idea of a viewer of heads by Vig 2019
    (arXiv:1906.05714); of a lens on each layer by nostalgebraist 2020, "interpreting GPT: the logit lens".
    """

    _what = "explorer"

    _panels: traitlets.List = traitlets.List().tag(sync=True, kept=True)
    vars().update({name: traitlets.TraitType(part["usual"]).tag(sync=True, kept=True) for name, part in STATE.items()})
    layer: int
    head: int
    query: int
    fusion: str
    direction: str

    def __init__(
        self,
        maps: Numbers | tuple[Numbers, Numbers] | list,
        image: Numbers | Image.Image | list,
        grid: tuple[int, int] | list | None = None,
        titles: Sequence[str] | None = None,
        prefix: int | Sequence | None = None,
        features: Numbers | list | None = None,
        says: dict | list | None = None,
        link: Sequence | None = None,
        whole: tuple | list | None = None,
        note: str | list = "",
        changes: "Changes | list | None" = None,
        phrases: dict | list | None = None,
        **state: Any,  # each part has a type of its own
    ):
        for name in state:
            if name not in STATE:
                raise TypeError(f"AttentionExplorer has no state {name!r}: it has {', '.join(STATE)}")
        self._shown: list[Panel] = []
        self._changes: list[Changes | None] = []
        given = dict(grid=grid, prefix=prefix, features=features, says=says, link=link, whole=whole, note=note,
                     changes=changes, phrases=phrases)  # fmt: skip
        for one in _each(maps, image, titles, given):
            self._shown.append(_panel(one, self._shown[0] if self._shown else None))
            self._changes.append(one["changes"])
        sections = Sections()
        # All or none: a sharp picture beside a blurred one would look as if the model saw more of it.
        sharp = all(panel.has_other_pixels for panel in self._shown)
        panels = [panel.write(sections, sharp=sharp) for panel in self._shown]
        first = self._shown[0]
        found = None if CHOSEN & state.keys() else find_opening(first.attention, first.order)
        panels[0]["telling"] = found  # so that the page can say why it opens there
        for panel, own in zip(panels, self._changes, strict=True):
            panel["asks"] = own is not None  # tells the page whether a kernel can answer
        panels, data = with_tested(panels, sections.data, self._known())
        counts = {name: max(panel[name] for panel in panels) for name in ("layers", "heads")}
        counts["tokens"] = first.attention.tokens
        counts["phrases"] = min(len(panel.phrases) for panel in self._shown)
        values = (found or {"layer": counts["layers"] - 1, "query": _first_query(first)}) | state
        super().__init__("explorer", STATE, counts, values, _panels=panels, _data=data, **values)

    @traitlets.validate(*STATE)
    def _within(self, proposal: dict) -> Any:
        self._check_traits({proposal["trait"].name: proposal["value"]})
        return proposal["value"]

    def attention(self, panel: int = 0) -> np.ndarray:
        """Returns the map (T,) of the present state, as the browser draws it but unrounded.

        It holds where the query looks or, with `direction="to"`, how much each token looks at it: for one head, the
        mean of the heads, or the rollout through the layers.
        """
        one = self._shown[panel]
        layer, head = min(self.layer, one.attention.layers - 1), min(self.head, one.attention.heads - 1)
        return one.shown(layer, head, self.fusion, one.at(self.query, self._shown[0]), self.direction)

    def everything(self) -> dict:
        """Returns the state and the data by their names, as `pages` takes them, with the results of changes so far."""
        panels, data = with_tested(self._panels, self._data, self._known())
        panels = [{**panel, "asks": False, "had_model": panel["asks"]} for panel in panels]
        return super().everything() | {"_panels": panels, "_data": data}

    def _known(self) -> list[dict]:
        return [own.known if own else {} for own in self._changes]

    def _answer(self, question: dict) -> tuple[dict, list[bytes]]:
        # {"panel", "changes", "maps"} -> the effect of each change on all tokens; with "maps", which comes with one
        # change, also the whole panel of the changed model.
        own, changes = self._changes[question["panel"]], question["changes"]
        assert own is not None
        rows = own.turned(changes).astype("<f4").tobytes()  # (n, T)
        if not question["maps"]:
            return {}, [rows]
        panel, sections = _panel({**own.panel(changes[0]), "title": ""}, None), Sections()
        return {"says": panel.says, "described": panel.write(sections)}, [rows, sections.data]

    def _title(self) -> str:
        return "Attention explorer"

    def __str__(self) -> str:
        sizes = [f"{p['layers']} layers, {p['heads']} heads, {p['tokens']} tokens" for p in self._panels]
        return f"AttentionExplorer({'; '.join(sizes)})"

    def _draw(self) -> "tuple[Figure, str]":
        from vit_course.explorer.still import picture_of

        layer = min(self.layer, self._shown[0].attention.layers - 1)
        figure = picture_of(self._shown[0], layer, self.head, self.fusion, self.query, self.direction)
        return (
            figure,
            f"The attention explorer, not live: layer {self.layer} for one query, on the picture and head by head",
        )


def _each(maps: object, image: object, titles: Sequence[str] | None, given: dict) -> list[dict]:
    """Returns the arguments of each panel by name."""
    if not isinstance(maps, list):
        return [{"maps": maps, "image": image, "title": need_titles(titles)[0] if titles else "", **given}]
    if not isinstance(image, (list, tuple)):
        raise ValueError(f"several maps need a list of images, one for each, got {type(image).__name__}")
    count = len(maps)
    titles = [chr(ord("A") + index) for index in range(count)] if titles is None else need_titles(titles)
    listed = {"maps": maps, "image": list(image), "title": titles}
    for name, value in given.items():
        of_each = isinstance(value, list)
        if name == "prefix" and isinstance(value, (list, tuple)):  # a list of names applies to all panels
            of_each = bool(value) and not all(isinstance(one, str) for one in value)
        if name == "grid" and of_each:  # and so does a list of two numbers
            of_each = not all(isinstance(one, int) for one in value)
        listed[name] = list(value) if of_each else [value] * count
    counts = {name: len(value) for name, value in listed.items()}
    if not count or set(counts.values()) != {count}:
        words = ", ".join(f"{n} for {name}" for name, n in counts.items())
        raise ValueError(f"all lists must have the same length, at least 1, got {words}")
    return [dict(zip(listed, values, strict=True)) for values in zip(*listed.values(), strict=True)]


def _panel(given: dict, first: Panel | None) -> Panel:
    attention = need_attention(given["maps"])
    picture = to_picture(need_image(given["image"]))
    size = picture.shape[:2]
    order = fit_tokens(attention.tokens, size, grid=need_grid(given["grid"]), prefix=given["prefix"])
    if first is None and given["link"] is not None:
        raise ValueError(f"the other panels are linked to the first, so the link of the first must be None, got "
                         f"{shown(given['link'])}")  # fmt: skip
    return Panel(
        attention,
        picture,
        order,
        given["title"],
        need_features(given["features"], attention.tokens),
        need_says(given["says"], attention.layers),
        need_link(given["link"], first.attention.tokens if first else 0, attention.tokens),
        need_whole(given["whole"]),
        need_note(given["note"]),
        need_phrases(given["phrases"], attention.tokens),
    )


def _first_query(panel: Panel) -> int:
    # The class token, or the patch in the middle if there is none.
    if "class token" in panel.order.prefix:
        return panel.order.prefix.index("class token")
    rows, columns = panel.order.grid
    return panel.order.num_prefix + rows // 2 * columns + columns // 2
