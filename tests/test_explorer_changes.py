"""What the explorer asks of a kernel where something is taken out: as `maps` has it, kept, and nothing left behind."""

import json
import re

import numpy as np
import pytest
import torch
from test_recording import hooks

from vit_course import data, maps, pretrained
from vit_course.__main__ import main
from vit_course.explorer import explore
from vit_course.explorer.changes import family

HEAD = {"kind": "head", "layer": 1, "head": 2, "by": "token mean"}
MLP = {"kind": "branch", "layer": 2, "branch": "mlp"}
HIDE = {"kind": "hide", "patches": [3, 12]}


@pytest.fixture(scope="module")
def shapes():
    model, dataset = pretrained.load("shapes"), data.shapes()
    return model, dataset.test.images[3], dataset.normalise


@pytest.fixture
def explorer(shapes):
    model, image, normalise = shapes
    explorer = explore(model, image, preprocess=normalise)
    explorer.sent = []
    explorer.send = lambda content, buffers=None: explorer.sent.append((content, buffers))
    return explorer


def ask(explorer, *changes, maps=False):
    explorer._handle_custom_msg({"ask": 7, "panel": 0, "changes": list(changes), "maps": maps}, [])
    content, buffers = explorer.sent[-1]
    assert content["answers"] == 7
    return content, buffers


def end(model, images, interventions) -> torch.Tensor:
    """(T, D), after the last norm."""
    with torch.no_grad(), maps.intervene(model, interventions):
        return model.features(images)[0].double()


def rows(buffer, tokens) -> np.ndarray:
    return np.frombuffer(buffer, "<f4").reshape(-1, tokens)


@pytest.mark.slow
def test_rows_are_what_intervene_gives_for_every_token(explorer, shapes):
    model, image, normalise = shapes
    images = normalise(image[None])
    _, (buffer,) = ask(explorer, [HEAD], [HIDE, MLP], [HEAD])
    found = rows(buffer, model.config.num_tokens)
    before = end(model, images, [])
    head, hide = maps.without_head(1, 2), maps.hide([3, 12])
    for row, ones in zip(found, [[head], [hide, maps.without_branch(2, "mlp")], [head]], strict=True):
        wanted = 1 - torch.cosine_similarity(before, end(model, images, ones), dim=-1)
        assert wanted.max() > 1e-3, "something changes"
        np.testing.assert_allclose(row, wanted, atol=1e-6)
    assert not hooks(model) and not model.training


def test_the_changed_model_is_shown_with_the_maps_that_it_used(explorer, shapes):
    model, image, normalise = shapes
    for change, ones in (([HEAD], [maps.without_head(1, 2)]), ([HIDE], [maps.hide([3, 12])])):
        content, (_, sent) = ask(explorer, change, maps=True)
        panel = content["described"]
        with torch.no_grad(), maps.record_attention(model) as recorded, maps.intervene(model, ones):
            logits = model(normalise(image[None]))
        assert content["says"]["probabilities"][0] == pytest.approx(float(logits.softmax(-1).max()), abs=1e-4)
        if panel["kind"] == "maps":
            whole = next(one for one in panel["sections"] if one["name"] == "weights" and one["layer"] == 3)
            weights = np.frombuffer(sent[whole["at"] :][: whole["bytes"]], np.uint8).reshape(whole["shape"])
            assert weights.any() and not weights[..., [1 + 3, 1 + 12]].any(), "hidden from all"
            assert recorded.stacked()[0, 3, ..., [4, 13]].max() == 0
    assert panel["kind"] == "maps", "queries and keys would not tell what is hidden"


def test_what_cannot_be_done_is_said_and_nothing_is_left(explorer, shapes):
    for wrong in ({**HEAD, "head": 99}, {"kind": "layer", "layer": 1}, {**HIDE, "patches": [64]}):
        content, buffers = ask(explorer, [wrong])
        assert content["error"].startswith("ValueError: ") and buffers == []
    assert "head must be from 0 to" in ask(explorer, [{**HEAD, "head": 99}])[0]["error"]
    assert not hooks(shapes[0])
    assert ask(explorer, [HEAD])[0] == {"answers": 7}, "and the next one is answered"


def test_effects_are_there_without_a_kernel_and_kept_once(shapes):
    model, image, normalise = shapes
    explorer = explore(model, image, preprocess=normalise, effects=["token mean", "patches"])
    wanted = maps.effects(model, normalise(image[None]), of="class token", progress=False).values.flatten()
    for state in (explorer.everything(), {"_panels": explorer._panels, "_data": explorer._data}):
        (panel,) = state["_panels"]
        section = panel["sections"][-1]
        found = rows(state["_data"][section["at"] :], model.config.num_tokens)
        heads = len(wanted)
        assert [one["change"] for one in panel["tested"]] == [
            *family("token mean", model.config.num_layers, model.config.num_heads, (8, 8)),
            *family("patches", 4, 4, (8, 8)),
        ]
        np.testing.assert_allclose(found[:heads, 0], wanted, atol=1e-6)
    explorer._changes[0].turned([[HEAD, MLP]])
    again = explorer.everything()
    assert len(again["_data"]) == len(explorer._data) + 4 * model.config.num_tokens, "one row more, and no copy"
    assert again["_panels"][0]["tested"][-1] == {"change": [HEAD, MLP]}
    assert not again["_panels"][0]["asks"] and explorer._panels[0]["asks"], "a page has no kernel"


def test_stopped_by_hand_what_is_done_is_kept(shapes, monkeypatch):
    from vit_course.maps.interventions.effects import Baseline

    model, image, normalise = shapes
    real, done = Baseline.changed, []

    def changed(self, made):
        done.append(len(made))
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(self, made)

    monkeypatch.setattr(Baseline, "changed", changed)
    explorer = explore(model, image, preprocess=normalise, effects=True)
    assert len(explorer._panels[0]["tested"]) == sum(done[:2]) > 0


def test_effects_that_there_are_not_are_named(shapes):
    model, image, normalise = shapes
    with pytest.raises(ValueError, match=r"effects must be .*mean.*zero.*patches.*got 'heads'"):
        explore(model, image, preprocess=normalise, effects=["heads"])


def test_the_command_computes_effects_when_asked(tmp_path):
    page = tmp_path / "page.html"
    photograph = str(data.photographs()["cat"].path)
    assert main(["explore", photograph, "--weights", "shapes", "--effects", "-o", str(page)]) == 0
    state = re.search(r'class="vit-explorer-state">(.*?)</script>', page.read_text(), re.DOTALL)
    (panel,) = json.loads(state[1])["_panels"]
    kinds = [one["change"][0]["kind"] for one in panel["tested"]]
    assert kinds.count("head") == panel["layers"] * panel["heads"] and kinds.count("hide") == 64
