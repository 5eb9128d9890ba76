"""A model that is changed while it computes: on the live page's worker, and by hand in PyTorch."""

import base64
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from conftest import ROOT
from served import Handler, answering

from vit_course import data
from vit_course.live import write_live

# The page's own modules, in a page without any other part of it; the last answer of the worker is window.answer.
OPEN = """async () => {
    window.until = async (is) => {
        for (const end = Date.now() + 60_000; !is(); await new Promise((done) => setTimeout(done, 5)))
            if (Date.now() > end) throw new Error("it did not come");
    };
    const { Models } = await import("/js/live_models.js");
    const page = JSON.parse(new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html")
        .querySelector("#live-page").textContent);
    window.states = []; window.answers = [];
    window.models = new Models(page, {
        changed: (name) => window.states.push([name, window.models?.states[name]]),
        answered: (answer) => window.answers.push(window.answer = answer),
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
def worker_page(browser, folder, handler=Handler):
    """A page of a served live page that has its models and nothing else: window.models."""
    write_live(folder, overwrite=True)
    (folder / "js").mkdir(exist_ok=True)
    for path in (ROOT / "vit_course" / "explorer" / "js").glob("live*.js"):
        (folder / "js" / path.name).write_bytes(path.read_bytes())
    (folder / "blank.html").write_text("<!DOCTYPE html><title>Models</title>")
    with answering(partial(handler, directory=str(folder))) as server:
        page = browser.new_page(service_workers="block")
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(f"{server.address}/blank.html")
        page.evaluate(OPEN)
        yield page
        assert page.errors == []
        page.close()


def open_model(page, name: str) -> None:
    page.evaluate(READY, name)
    page.wait_for_function(IS_READY, arg=name, timeout=60_000)


def changed(page, interventions: list[dict], names: tuple[str, ...] = ()) -> dict:
    """What the worker answers, its arrays by name as NumPy has them."""
    found = page.evaluate(CHANGE, [interventions, bool(names), names])
    if found and "words" not in found:
        found["cosines"] = np.frombuffer(base64.b64decode(found["cosines"]), "<f4")
        found["arrays"] = {
            name: np.frombuffer(base64.b64decode(text), "<f4").reshape(shape) for name, shape, text in found["arrays"]
        }
    return found


@torch.no_grad()
def by_hand(run, photograph: str, interventions: list[dict]) -> dict[str, torch.Tensor]:
    """The course's own model, step by step, with each change written where it belongs.

    -> "ends" (L + 1, T, D): each token after each layer and after the last norm; "logits" (K); "queries.N" and "keys.N"
    (h, T, d) and "scores.N" (h, T, T) of each layer.
    """
    model, preprocess, _ = run
    x, found, ends = model.embed(preprocess(data.photographs()[photograph].path)), {}, []
    for layer, block in enumerate(model.encoder.blocks):
        here = [
            one for one in interventions if one.get("layer", layer) == layer and layer in one.get("layers", [layer])
        ]
        for one in here:
            if one["kind"] == "tokens":
                x = x.clone()
                x[0, one["tokens"]] = torch.tensor(one["values"], dtype=torch.float32).reshape(len(one["tokens"]), -1)
        q, k, v = block.attention.split_heads(block.norm1(x))
        scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
        for one in here:
            if one["kind"] == "hide":
                scores[..., [1 + patch for patch in one["patches"]]] = -torch.inf
        heads = scores.softmax(dim=-1) @ v  # (1, h, T, d)
        for one in here:
            if one["kind"] == "head":
                mean = heads[:, one["head"]].mean(dim=1, keepdim=True)
                heads[:, one["head"]] = 0 if one.get("by") == "zero" else mean
        without = {one.get("branch") for one in here}
        if "attention" not in without:
            x = x + block.attention.projection(heads.transpose(1, 2).flatten(2))
        if "mlp" not in without:
            x = x + block.mlp(block.norm2(x))
        found |= {f"queries.{layer}": q[0], f"keys.{layer}": k[0], f"scores.{layer}": scores[0]}
        ends.append(x[0])
    last = model.encoder.norm(x)
    return found | {"ends": torch.stack([*ends, last[0]]), "logits": model.head(last[0, 0])}
