"""Precomputes the large model's maps of the page's own photographs, for slow lines, where its weights take minutes."""

import json
from functools import cache

import numpy as np
import torch

from vit_course._support.widgets.encoding import Sections
from vit_course.data.photographs import Photograph, photographs
from vit_course.explorer.live_page.models import HEAD, SIZES
from vit_course.explorer.opening_view import find_opening
from vit_course.explorer.panel import Panel, QueriesAndKeys
from vit_course.explorer.predictions import predicted_words
from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.recording import record_attention
from vit_course.pretrained.bundled import load_run
from vit_course.pretrained.pretrained_model import Pretrained, none_fits

# 11 bits a coordinate: a weight differs from the exact one by less than a hundredth of the largest in its row.
MOST = 1023


@cache
def precompute() -> dict[str, bytes]:
    """Returns, for each of the course's photographs, the file of its maps that live/stored.js reads.

    The file is a line of JSON, and then the sections. The line describes a panel of the explorer (`Panel.write`) at the
    smallest size, without the picture, which the page has; `telling` is where the explorer opens, `front` the number of
    bytes that this takes, and `bytes` the number of all bytes after the line.

    Raises:
        ValueError, OSError: as `load_run`.
    """
    run = load_run("vit-s14-cifar10", image_size=SIZES[0])
    return {name: _file(run, photograph) for name, photograph in photographs().items()}


@torch.no_grad()
def _file(run: Pretrained, photograph: Photograph) -> bytes:
    model, preprocess, labels = run
    images, seen = preprocess(photograph.path), ForwardPass(model)
    with seen.listening(), record_attention(model) as recorded:
        logits = model(images)
    says = predicted_words(seen, images, logits, labels, none_fits(model, logits), len(labels))
    attention = QueriesAndKeys(*(each[0] for each in recorded.queries_and_keys()), MOST)
    sections, unseen = Sections(), np.zeros((SIZES[0], SIZES[0], 3))
    panel = Panel(attention, unseen, recorded.tokens(), features=seen.features[0].numpy(), says=says | {"about": HEAD})
    written = panel.write(sections) | {"telling": find_opening(attention, panel.order)}
    first, data, found = written["telling"]["layer"], [], []

    def when(section: dict) -> tuple:
        # The order of loading: the layer on which the explorer opens first, then the others from the last one down.
        layer = section["layer"]
        late = section["name"].startswith("feature")
        return late, layer is not None, layer != first, -(layer or 0)

    for section in sorted(written["sections"], key=when):
        if section["name"] != "picture":
            data.append(sections.data[section["at"] : section["at"] + section["bytes"]])
            found.append(section | {"at": sum(map(len, data[:-1]))})
    front = max(section["at"] + section["bytes"] for section in found if section["layer"] == first)
    written |= {"sections": found, "front": front, "bytes": sum(map(len, data))}
    return json.dumps(written, separators=(",", ":")).encode() + b"\n" + b"".join(data)
