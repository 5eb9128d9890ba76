"""Interventions in a model, on the live page's worker and by `maps.intervene`, to compare the two."""

import base64
import os
import shutil
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
from conftest import ROOT
from lab import PATIENCE
from served import Handler, answering

from vit_course import data, maps
from vit_course.maps.interventions.intervention import Intervention

# The page's own modules, in a page without any other part of it; the last answer of the worker is window.answer.
OPEN = """async (patience) => {
    window.patience = patience;
    window.until = async (is) => {
        for (const end = Date.now() + window.patience; !is(); await new Promise((done) => setTimeout(done, 5)))
            if (Date.now() > end) throw new Error("it did not come");
    };
    const { Models } = await import("/explorer/js/live/models.js");
    const page = JSON.parse(new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html")
        .querySelector("#live-page").textContent);
    window.states = []; window.answers = [];
    window.models = new Models(page, {
        changed: (name) => window.states.push([name, window.models?.states[name]]),
        answered: (answer) => window.answers.push(window.answer = answer),
        gpu: new URLSearchParams(location.search).get("gpu"),
    });
}"""
READY = "name => { models.open(name); }"
IS_READY = "name => models.ready(name)"
LOOK = """async ([model, size, photograph]) => {
    const before = answers.length;
    models.look({ model, size, name: photograph, title: "", source: `/photographs/${photograph}.jpg` });
    await until(() => answers.length > before);
    return answers.at(-1).words ?? null;
}"""
CHANGE = """async ([interventions, maps, names]) => {
    for (const one of interventions) if (one.values) one.values = Float32Array.from(one.values);
    let found;
    models.change(interventions, { maps }).then((answer) => (found = answer));
    await until(() => found !== undefined);
    if (!found || found.words) return found;
    const text = (bytes) => {
        let all = "";
        for (let i = 0; i < bytes.length; i += 32768) all += String.fromCharCode(...bytes.subarray(i, i + 32768));
        return btoa(all);
    };
    const { data, panel, cosines, ...rest } = found;
    const nameOf = ({ name, layer }) => layer === null ? name : `${name}.${layer}`;
    const named = (panel?.sections ?? []).map((one) => [nameOf(one), one]);
    const arrays = named.filter(([name]) => names.includes(name))
        .map(([name, { shape, at, bytes }]) => [name, shape, text(data.subarray(at, at + bytes))]);
    return { ...rest, arrays, cosines: text(new Uint8Array(cosines.buffer)) };
}"""


@contextmanager
def worker_page(browser, live_folder, handler=Handler, query=""):
    """An empty page in a copy of the live page's folder, with nothing but the models: `window.models`."""
    place = tempfile.TemporaryDirectory(dir=live_folder.parent)
    folder = Path(place.name, "page")
    shutil.copytree(live_folder, folder, copy_function=os.link)
    for place_of_modules in ("explorer/js", "_support/widgets/js"):
        shutil.copytree(ROOT / "vit_course" / place_of_modules, folder / place_of_modules)
    (folder / "blank.html").write_text("<!DOCTYPE html><title>Models</title>")
    with place, answering(partial(handler, directory=str(folder))) as server:
        page = browser.new_page(service_workers="block")
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(f"{server.address}/blank.html{query}")
        page.evaluate(OPEN, 1000 * PATIENCE)
        yield page
        assert page.errors == []
        page.close()


def open_model(page, name: str) -> None:
    page.evaluate(READY, name)
    page.wait_for_function(IS_READY, arg=name, timeout=1000 * PATIENCE)


def changed(page, interventions: list[dict], names: tuple[str, ...] = ()) -> dict:
    """The worker's answer to these interventions, with its arrays by name in NumPy."""
    found = page.evaluate(CHANGE, [interventions, bool(names), names])
    if found and "words" not in found:
        found["cosines"] = np.frombuffer(base64.b64decode(found["cosines"]), "<f4")
        found["arrays"] = {
            name: np.frombuffer(base64.b64decode(text), "<f4").reshape(shape) for name, shape, text in found["arrays"]
        }
    return found


def in_python(one: dict, width: tuple[int, int]) -> Intervention:
    """An intervention of the page as one of `vit_course.maps`, in a model with tokens of shape (T, D)."""
    if one["kind"] == "head":
        return maps.without_head(one["layer"], one["head"], one.get("by", "token mean"))
    if one["kind"] == "hide":
        return maps.hide(one["patches"], one.get("layers", slice(None)))
    if one["kind"] == "branch":
        return maps.without_branch(one["layer"], one["branch"])
    rows = torch.zeros(1, *width)
    rows[0, one["tokens"]] = torch.tensor(one["values"], dtype=torch.float32).reshape(-1, width[1])
    return maps.patched(one["tokens"], one["layer"], rows)


@torch.no_grad()
def by_python(run, photograph: str, interventions: list[dict]) -> dict[str, torch.Tensor]:
    """The course's own model under `maps.intervene`.

    -> "ends" (L + 1, T, D): each token after each layer and after the last norm; "logits" (K); "queries.N" and "keys.N"
    (h, T, d) and "scores.N" (h, T, T) of each layer.
    """
    (model, preprocess, _), found, ends = run, {}, []

    def seen(block, inputs, output):
        layer = len(ends)
        q, k, _ = block.attention.split_heads(block.norm1(inputs[0]))
        scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
        for one in interventions:
            if one["kind"] == "hide" and layer in one.get("layers", [layer]):
                scores[..., [1 + patch for patch in one["patches"]]] = -torch.inf
        found.update({f"queries.{layer}": q[0], f"keys.{layer}": k[0], f"scores.{layer}": scores[0]})
        ends.append(output[0])

    width = (model.config.num_tokens, model.config.hidden_dim)
    with maps.intervene(model, [in_python(one, width) for one in interventions]):
        hooks = [block.register_forward_hook(seen) for block in model.encoder.blocks]  # after the interventions' hooks
        last = model.features(preprocess(data.photographs()[photograph].path))[0]
        for hook in hooks:
            hook.remove()
    return found | {"ends": torch.stack([*ends, last]), "logits": model.head(last[0])}
