"""The parts of the explorer in a browser, one module at a time, on the real model's data or on small made-up ones."""

import json

import numpy as np
import torch
from conftest import ROOT

from vit_course import data, pretrained
from vit_course.explorer.arguments import STATE
from vit_course.maps import record_attention

SHARED = ROOT / "vit_course"
SOURCES = ROOT / "vit_course" / "explorer" / "js"
ORIGIN = "http://explorer.test"

# What a panel of the explorer offers, by the plainest way: from queries and keys in 32 bits.
PANEL = """
window.panelOf = ({ q, k, features, layers, heads, tokens, prefix, rows, columns, dim, ...rest }) => {
  const at = (layer, head, token) => ((layer * heads + head) * tokens + token) * dim;
  const scale = rest.scale ?? dim ** -0.5;
  const panel = {
    kind: "qk", title: "", layers, heads, tokens, prefix, rows, columns, dim, scale, features, says: null, link: null,
    names: ["class token", "register 1"].slice(0, prefix), width: columns * 4, height: rows * 4,
    layer_numbers: Array.from({ length: layers }, (_, l) => l), all_layers: layers,
    name: (token) => token < prefix ? panel.names[token]
      : `row ${Math.floor((token - prefix) / columns)}, column ${(token - prefix) % columns}`,
    query: (layer, head, token) => q.subarray(at(layer, head, token), at(layer, head, token) + dim),
    key: (layer, head, token) => k.subarray(at(layer, head, token), at(layer, head, token) + dim),
    scores: (layer, head, token) => Float32Array.from({ length: tokens }, (_, t) => {
      const [a, b] = [at(layer, head, token), at(layer, head, t)];
      let sum = 0;
      for (let i = 0; i < dim; i++) sum += q[a + i] * k[b + i];
      return sum * scale;
    }),
    row: (layer, head, token) => {
      const scores = panel.scores(layer, head, token);
      const largest = scores.reduce((a, b) => Math.max(a, b));
      const powers = scores.map((s) => Math.exp(s - largest));
      const sum = powers.reduce((a, b) => a + b);
      return powers.map((p) => p / sum);
    },
    column: (layer, head, token) =>
      Float32Array.from({ length: tokens }, (_, t) => panel.row(layer, head, t)[token]),
    map: (layer, head, token, direction) => panel[direction === "to" ? "column" : "row"](layer, head, token),
    ...rest,
  };
  return panel;
};
window.stateOf = (panels, values) => {
  const all = { ...USUAL, layer: panels[0].layers - 1, ...values };
  return { panels, get: (name) => all[name], all, set: (more) => Object.assign(all, more) };
};
window.typed = (values) => ({ ...values, q: Float32Array.from(values.q), k: Float32Array.from(values.k),
  features: values.features && Float32Array.from(values.features) });
"""


def module_page(browser):
    """An empty page that imports the explorer's modules as they lie in the repository, and nothing from elsewhere."""
    page = browser.new_page()
    page.served = {}

    def answer(route):
        name = route.request.url.removeprefix(ORIGIN).partition("?")[0].lstrip("/")
        if name in page.served:
            route.fulfill(body=page.served[name], content_type="application/octet-stream")
        elif (path := (SHARED if name.startswith("_support/") else SOURCES) / name).is_file():
            route.fulfill(path=path)  # a browser runs no script of another type
        else:
            route.fulfill(body="<!doctype html><html lang=en><title>modules</title>", content_type="text/html")

    page.route("**/*", answer)
    page.goto(ORIGIN)
    usual = {name: part["usual"] for name, part in STATE.items()}
    page.add_script_tag(content=f"window.USUAL = {json.dumps(usual)};{PANEL}")
    return page


def call(page, module, expression, argument=None):
    """`expression` of the module `m` and the argument `a`."""
    return page.evaluate(f"async (a) => {{ const m = await import('/{module}.js'); return {expression}; }}", argument)


def small_panel(seed=0, layers=2, heads=3, prefix=1, rows=3, columns=5, dim=4, width=6, **more) -> dict:
    """Numbers of a panel whose sizes all differ, as JSON can carry them."""
    rng, tokens = np.random.default_rng(seed), prefix + rows * columns
    q, k = rng.normal(size=(2, layers, heads, tokens, dim)).astype(np.float32)
    features = rng.normal(size=(tokens, width)).astype(np.float32)
    return {
        "q": q.ravel().tolist(), "k": k.ravel().tolist(), "features": features.ravel().tolist(), "layers": layers,
        "heads": heads, "tokens": tokens, "prefix": prefix, "rows": rows, "columns": columns, "dim": dim, **more,
    }  # fmt: skip


def arrays(panel: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-> the queries and keys (L, h, T, d) and the features (T, D) of a small panel."""
    shape = [panel[name] for name in ("layers", "heads", "tokens", "dim")]
    q, k = (np.array(panel[name], np.float32).reshape(shape) for name in "qk")
    return q, k, np.array(panel["features"], np.float32).reshape(panel["tokens"], -1)


def real_panel(name: str) -> tuple[dict, dict[str, np.ndarray]]:
    """vit-s14 on a photograph of the course at 224 pixels -> the sizes, and queries, keys and features."""
    loaded = pretrained.load_run("vit-s14")
    image = loaded.preprocess(data.photographs()[name].open())  # (1, 3, 224, 224)
    with torch.no_grad(), record_attention(loaded.model) as maps:
        features = loaded.model.features(image)[0]
    q, k = (each[0].numpy() for each in maps.queries_and_keys())  # (L, h, T, d)
    sizes = dict(zip(("layers", "heads", "tokens", "dim"), q.shape, strict=True))
    return {**sizes, "prefix": 1, "rows": 16, "columns": 16}, {"q": q, "k": k, "features": features.numpy()}


def put_real(page, name: str) -> dict[str, np.ndarray]:
    """Makes `window.real` the panel of `real_panel`; -> its arrays."""
    sizes, parts = real_panel(name)
    page.served |= {part: np.ascontiguousarray(values, "<f4").tobytes() for part, values in parts.items()}
    page.evaluate(
        f"""async () => {{
            const get = async (name) => new Float32Array(await (await fetch("/" + name)).arrayBuffer());
            window.real = panelOf({{ ...{json.dumps(sizes)}, q: await get("q"), k: await get("k"),
              features: await get("features") }});
        }}"""
    )
    return parts
