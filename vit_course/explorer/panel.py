"""The data of one panel of the explorer: a picture, its attention as queries and keys or as maps, and more.

Everything here is arrays, independent of the model that computed them.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from PIL import Image

from vit_course._support.widgets.encoding import LARGEST, Sections, quantised
from vit_course.maps.models.tokens import Tokens

MOST_WEIGHTS = 60_000_000
MOST_WHOLE = 640  # pixels of the longer side, of the uncropped picture and of the sharper crop that is drawn
FEW_WHOLE = 240  # of the longer side, up to which the uncropped picture is enlarged
STRIPES = 120  # across a picture, where it is hatched
FEW_PIXELS = 96  # of the shorter side: of a smaller picture the model's own pixels are to be seen
MOST_PNG = 120_000  # bytes; a larger picture is a photograph, and goes as JPEG


class QueriesAndKeys:
    """Attention as queries and keys, (L, h, T, d) each, so that no more than one map is in memory at a time.

    `most` is the largest whole number to which a coordinate is quantised when it is sent.
    """

    kind = "qk"

    def __init__(self, q: torch.Tensor, k: torch.Tensor, most: int = LARGEST):
        self.q, self.k, self.most = q, k, most
        self.layers, self.heads, self.tokens, self.dim = q.shape
        self.scale = self.dim**-0.5

    def map(self, layer: int, head: int) -> torch.Tensor:
        """-> (T, T)"""
        return (self.scale * self.q[layer, head] @ self.k[layer, head].T).softmax(dim=-1)

    def row(self, layer: int, head: int, token: int) -> torch.Tensor:
        """-> (T,): where a query looks."""
        return (self.scale * self.k[layer, head] @ self.q[layer, head, token]).softmax(dim=0)

    def column(self, layer: int, head: int, token: int) -> torch.Tensor:
        """-> (T,): who looks at a key."""
        return self.map(layer, head)[:, token]

    def write(self, sections: Sections, layers: Sequence[int]) -> dict:
        """Adds the layers to the sections that are sent; returns the panel's description of them."""
        # The mean of the keys is subtracted: it adds the same to every score of a row, and would cost precision.
        means = self.k.mean(dim=2)  # (L, h, d)
        steps = np.empty((2, len(layers), self.heads, self.dim), np.float32)
        sums = np.empty((len(layers), self.heads, self.tokens), np.float32)
        square = torch.empty(self.tokens, self.tokens)  # reused for all heads, against memory fragmentation
        for index, layer in enumerate(layers):
            stored = []
            both = self.q[layer], self.k[layer] - means[layer][:, None]  # each (h, T, d)
            for place, name in enumerate(("queries", "keys")):
                whole, step = quantised(both[place].numpy(), 1, self.most)  # (h, T, d), (h, d)
                sections.steps(name, whole, index)
                steps[place, index] = step
                # The quantised values, as the browser has them, so that its rows sum to 1.
                stored.append(torch.from_numpy(whole * step[:, None]))
            for head, (q, k) in enumerate(zip(*stored, strict=True)):
                torch.mm(self.scale * q, k.T, out=square)
                largest = square.amax(dim=1)  # (T,)
                sums[index, head] = square.sub_(largest[:, None]).exp_().sum(dim=1).log_().add_(largest).numpy()
        sections.floats("query_steps", steps[0])
        sections.floats("key_steps", steps[1])
        sections.floats("key_means", means[list(layers)].numpy())
        sections.floats("lse", sums)
        return {"kind": self.kind, "dim": self.dim, "scale": self.scale}


class Maps:
    """Attention as weights (L, h, T, T), for models whose queries and keys cannot be recorded."""

    kind = "maps"

    def __init__(self, maps: torch.Tensor):
        self.maps = maps
        self.layers, self.heads, self.tokens, _ = maps.shape

    def map(self, layer: int, head: int) -> torch.Tensor:
        """-> (T, T)"""
        return self.maps[layer, head]

    def row(self, layer: int, head: int, token: int) -> torch.Tensor:
        """-> (T,): where a query looks."""
        return self.maps[layer, head, token]

    def column(self, layer: int, head: int, token: int) -> torch.Tensor:
        """-> (T,): who looks at a key."""
        return self.maps[layer, head, :, token]

    def write(self, sections: Sections, layers: Sequence[int]) -> dict:
        """As `QueriesAndKeys.write`: 8 bits a weight, and the largest weight of each row in full precision."""
        tops = self.maps.amax(dim=-1)  # (L, h, T)
        for index, layer in enumerate(layers):
            steps = self.maps[layer] * (255 / tops[layer].clamp_min(1e-30))[..., None]  # (h, T, T)
            sections.bytes("weights", steps.round_().to(torch.uint8).numpy(), index)
        sections.floats("tops", tops[list(layers)].numpy())
        return {"kind": self.kind}


@dataclass(eq=False)
class Panel:
    """One image, and what a model computed from it.

    Args:
        attention: `QueriesAndKeys` or `Maps`.
        picture: (H, W, 3) or (H, W) from 0 to 1, as the model sees it.
        order: which of the T tokens are patches.
        title: "" for none.
        features: (T, D), the tokens after the last norm, or None.
        says: the predictions, as `need_says` returns them, or None.
        link: for each token of the first panel the token of this panel with the same content, or None.
        whole: the uncropped picture, of which `picture` is a part; the shares of its height and width that are kept;
            and those above and to the left of `picture`, below 0 where it begins before the whole, None if it is the
            middle. The page draws a crop of it if that has more pixels than `picture`.
        note: a sentence below the picture, or "".
        phrases: from a phrase to its cosine with each of the T tokens; empty for none.
    """

    attention: QueriesAndKeys | Maps
    picture: np.ndarray
    order: Tokens
    title: str = ""
    features: np.ndarray | None = None
    says: dict | None = None
    link: list[int] | None = None
    whole: tuple[Image.Image, list[float], list[float] | None] | None = None
    note: str = ""
    phrases: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def has_other_pixels(self) -> bool:
        """Whether the part of the uncropped picture that is shown has more or fewer pixels than the model was given."""
        return self.whole is not None and round(self.whole[0].width * self.whole[1][1]) != self.picture.shape[1]

    def shown(self, layer: int, head: int, fusion: str, token: int, direction: str) -> np.ndarray:
        """-> (T,): the map that the browser draws, unrounded.

        Args:
            layer, head, fusion, direction: as of the `AttentionExplorer`.
            token: of this panel.
        """
        attention, to = self.attention, direction == "to"
        if fusion == "rollout":
            return self._rollout(layer, token, to).numpy()
        of = attention.column if to else attention.row
        heads = [head] if fusion == "head" else range(attention.heads)
        return torch.stack([of(layer, each, token) for each in heads]).mean(dim=0).numpy()

    def _rollout(self, layer: int, token: int, to: bool) -> torch.Tensor:
        # Rollout of a single vector: from a query down through the layers, or from a key up.
        attention = self.attention
        flow = torch.zeros(attention.tokens)
        flow[token] = 1
        for each in range(layer + 1) if to else range(layer, -1, -1):
            maps = (attention.map(each, head) for head in range(attention.heads))
            flow = 0.5 * flow + 0.5 * sum(one @ flow if to else flow @ one for one in maps) / attention.heads
        return flow

    def at(self, token: int, first: "Panel") -> int:
        """Returns the token of this panel that corresponds to one of the first panel: same content, name or place."""
        if self is first:
            return token
        if self.link is not None:
            return self.link[token]
        if token < first.order.num_prefix:
            name = first.order.prefix[token]
            return self.order.prefix.index(name) if name in self.order.prefix else 0
        row, column = divmod(token - first.order.num_prefix, first.order.grid[1])
        # The patch at the same place, in whole numbers, as in the browser.
        row = (2 * row + 1) * self.order.grid[0] // (2 * first.order.grid[0])
        column = (2 * column + 1) * self.order.grid[1] // (2 * first.order.grid[1])
        return self.order.num_prefix + row * self.order.grid[1] + column

    def write(self, sections: Sections, layers: Sequence[int] | None = None, sharp: bool = True) -> dict:
        """Adds all arrays to the sections that are sent; returns the description of the panel that the browser reads.

        Args:
            sections: shared by all panels.
            layers: which to send; by default all.
            sharp: whether the drawn picture may have more pixels than the model sees.
        """
        attention = self.attention
        numbers = list(range(attention.layers) if layers is None else layers)
        before = len(sections.described)
        sections.file("picture", *((sharp and self._sharper()) or _file(self.picture)))
        cut = self._cut()
        if self.whole and cut["kept"]:
            sections.file("whole", *_small(_enlarged(self.whole[0])))
        written = attention.write(sections, numbers)
        if self.features is not None:
            whole, step = quantised(self.features, axis=0)  # (T, D), (D,)
            sections.steps("features", whole)
            sections.floats("feature_steps", step)
        if self.phrases:
            sections.floats("phrases", np.stack([*self.phrases.values()]))
        height, width = self.picture.shape[:2]
        rows, columns = self.order.grid
        return {
            **dict(title=self.title, layers=len(numbers), heads=attention.heads, tokens=attention.tokens),
            **dict(prefix=self.order.num_prefix, names=list(self.order.prefix), rows=rows, columns=columns),
            **dict(height=height, width=width, layer_numbers=numbers, all_layers=attention.layers),
            **({"phrases": [*self.phrases]} if self.phrases else {}),
            **dict(link=self.link, says=self.says, **cut, sections=sections.described[before:]),
            **written,
        }

    def _cut(self) -> dict:
        # What the page says of the part that is shown: its shares, where it begins if not in the middle, and the note.
        said: dict = {"note": self.note} if self.note else {}
        _, kept, at = self.whole or (None, [1.0, 1.0], None)
        if at is None:
            return {"kept": kept if min(kept) < 0.99 else None, **said}
        first = [max(start, 0.0) for start in at]
        inside = [min(start + share, 1.0) - begun for start, share, begun in zip(at, kept, first, strict=True)]
        return {"kept": inside, "at": first, **said} if min(inside) < 1 - 1e-6 else {"kept": None, **said}

    def _sharper(self) -> tuple[bytes, str] | None:
        # The crop of the uncropped picture, as a file; None if the model's own pixels are to be seen, or are as many.
        if self.whole is None or self.picture.ndim == 2 or min(self.picture.shape[:2]) < FEW_PIXELS:
            return None
        image, (high, wide), at = self.whole
        top, left = at or ((1 - high) / 2, (1 - wide) / 2)
        box = [left, top, left + wide, top + high]
        part = cut_out(image, [round(share * side) for share, side in zip(box, 2 * image.size, strict=True)])
        return _small(part, quality=90) if part.width > self.picture.shape[1] else None


def cut_out(image: Image.Image, box: Sequence[int]) -> Image.Image:
    """Cuts (left, top, right, bottom) out of a picture; what lies beyond it is hatched, so that it looks empty."""
    left, top, right, bottom = box
    inside = (max(left, 0), max(top, 0), min(right, image.width), min(bottom, image.height))
    part = image.crop(inside)
    if inside == tuple(box):
        return part
    part = part if part.mode in ("L", "RGB") else part.convert("RGB")
    line = max(1, (right - left) // STRIPES)
    down, across = np.ogrid[: bottom - top, : right - left]
    out = Image.fromarray(np.where((down + across) // line % 2, 96, 32).astype(np.uint8)).convert(part.mode)
    out.paste(part, (inside[0] - left, inside[1] - top))
    return out


def _file(picture: np.ndarray) -> tuple[bytes, str]:
    image = Image.fromarray(np.rint(picture * 255).astype(np.uint8)).convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, format="png", optimize=True)
    if buffer.tell() <= MOST_PNG:
        return buffer.getvalue(), "image/png"
    buffer = io.BytesIO()
    image.save(buffer, format="jpeg", quality=92, subsampling=0)
    return buffer.getvalue(), "image/jpeg"


def _enlarged(image: Image.Image) -> Image.Image:
    # So that the pixels of a picture of few of them can be told apart on a page.
    times = max(1, FEW_WHOLE // max(image.size))
    return image.resize([times * side for side in image.size], Image.Resampling.NEAREST) if times > 1 else image


def _small(image: Image.Image, quality: int = 80) -> tuple[bytes, str]:
    image = image.convert("RGB")  # a copy
    image.thumbnail((MOST_WHOLE, MOST_WHOLE))
    buffer = io.BytesIO()
    image.save(buffer, format="jpeg", quality=quality)
    return buffer.getvalue(), "image/jpeg"
