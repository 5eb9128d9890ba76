"""The live page in a browser: waiting for what it shows, the results of its worker, and the same from PyTorch."""

import base64

import numpy as np
import torch
from lab import note_outside

from vit_course import data, pretrained
from vit_course.maps import record_attention

# Records the worker's messages, and what the page shows of them.
SPY = """
window.said = []; window.shown = []; window.lines = []; window.workers = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    window.workers.push(this);
    this.addEventListener("message", ({ data }) => {
      window.said.push([data.kind, data.model]);
      if (data.kind === "answer") window.answer = data;
      if (data.kind === "ready") window.threads = data.threads;
    });
  }
};
new MutationObserver(() => {
  const { shown } = document.documentElement.dataset;
  if (shown && shown !== window.shown.at(-1)) window.shown.push(shown);
  const line = document.querySelector(".live-progress-words")?.textContent;
  if (line && line !== window.lines.at(-1)) window.lines.push(line);
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
"""
TAKE = """([name, layers]) => window.answer.panel.sections.filter(section =>
  section.name === name && (section.layer === null || !layers || layers.includes(section.layer))
).map(section => {
  const bytes = window.answer.data.subarray(section.at, section.at + section.bytes);
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return [section.shape ?? section.media, btoa(text)];
})"""
HAND_OVER = """([way, content]) => {
    const files = new DataTransfer();
    files.items.add(new File([Uint8Array.from(content)], "handed.png", { type: "image/png" }));
    const given = { clipboardData: files, dataTransfer: files, bubbles: true, cancelable: true };
    const to = document.querySelector("h1");
    if (way === "paste") to.dispatchEvent(new ClipboardEvent("paste", given));
    else for (const kind of ["dragenter", "dragover", "drop"]) to.dispatchEvent(new DragEvent(kind, given));
}"""


def visit(context, address: str):
    page = context.new_page()
    note_outside(page)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.add_init_script(SPY)
    page.goto(address)
    return page


def wait_shown(page, start: str, after: int = 0) -> str:
    """Waits until `data-shown` begins with `start`, for a question after number `after`; returns its whole text."""
    handle = page.wait_for_function(
        """([start, after]) => {
            const { shown } = document.documentElement.dataset;
            const ready = document.querySelector(".vit-explorer[data-ready]");
            return shown?.startsWith(start) && Number(shown.split(" ")[2]) > after && ready && shown;
        }""",
        arg=[start, after],
    )
    return handle.json_value()


def computed_here(page) -> None:
    """Waits for the large model and lets it compute the shown photograph, in place of the precomputed result."""
    ready = "window.said.some(([kind, model]) => kind === 'ready' && model === 'vit-s14')"
    page.wait_for_function(ready)
    before = question(page)
    page.click(".live-ours [aria-pressed=true]")
    wait_shown(page, "vit-s14 224", before)
    assert page.evaluate("document.documentElement.dataset.computed") == "here"


def question(page) -> int:
    """The number of the question whose answer is shown."""
    return int((page.evaluate("document.documentElement.dataset.shown") or "x x 0").split()[2])


def take(page, name: str, layers: tuple[int, ...] | None = None) -> list[np.ndarray]:
    """The arrays of that name in the worker's last answer: one, or one for each layer."""
    found = page.evaluate(TAKE, [name, layers])
    return [np.frombuffer(base64.b64decode(text), "<f4").reshape(shape) for shape, text in found]


def give(page, name: str, content: bytes) -> None:
    page.set_input_files("input[type=file]", {"name": name, "mimeType": "image/jpeg", "buffer": content})


def words(page, expected: str) -> None:
    page.wait_for_function("words => document.querySelector('.live-words').textContent.includes(words)", arg=expected)


def compare(page, run, photograph, layers: tuple[int, ...]) -> None:
    """Compares the last answer with PyTorch, to 1e-3 of the largest value; queries and keys in these layers alone.

    photograph: one of ours by its name, or a picture.
    """
    model, preprocess, labels = run
    picture = data.photographs()[photograph].path if isinstance(photograph, str) else photograph
    with torch.no_grad(), record_attention(model) as maps:
        features = model.features(preprocess(picture))[0]
        logits = model.head(features[:1])
    queries, keys = (each[0, list(layers)] for each in maps.queries_and_keys())  # (layers, h, T, d)
    expected = {"features": [features], "queries": queries, "keys": keys}
    for name, tensors in expected.items():
        for found, wanted in zip(take(page, name, layers), tensors, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-3 * wanted.abs().max().item(), rtol=0)
    (lse,) = take(page, "lse")
    for q, k, sums in zip(expected["queries"], expected["keys"], lse[list(layers)], strict=True):
        scores = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
        np.testing.assert_allclose(sums, scores.logsumexp(dim=-1), atol=1e-3 * scores.abs().max().item(), rtol=0)
    told = page.evaluate("window.answer.panel.says")
    if (none := pretrained.none_fits(model, logits)) is None:
        assert told is None, "no word of a head for which nobody has measured when none fits"
        return
    assert told["none"] == none
    assert told["probabilities"] == told["lens"][-1] == sorted(told["probabilities"], reverse=True)
    says = logits[0].softmax(dim=0)
    wanted = [says[labels.index(label)].item() for label in told["labels"]]
    np.testing.assert_allclose(told["probabilities"], wanted, atol=1e-3)
