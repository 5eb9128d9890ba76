// The worker that runs the models, so that the page never freezes. It takes these messages:
//   {kind: "page", page, threads, gpu, lock}  the list of files, the number of threads, the choice of a graphics card
//                                             (live_card.js), and the name of a lock to hold while it lives; answered
//                                             by "here", and by "held" once it holds the lock
//   {kind: "open", model}                     answered by "progress", "starting", and "ready" or "failed"; by "gone" once
//                                             its graphics card has failed
//   {kind: "look", ticket, model, size, name, title, source, square}    answered by "answer" or "refused"; the newest
//                                             counts; source: an address, a file, or a frame of a camera as a bitmap
//   {kind: "change", number, interventions, maps, question}     of the picture of that question, a former "look":
//                                             answered by "changed" (live_change.js) or "refused"; the newest counts

import { cosines, hidden, plan } from "./live/change.js";
import { framed } from "./live/frame.js";
import { opened, Refusal } from "./live/open.js";
import { panelOf, said } from "./live/panel.js";
import { normalised } from "./live/picture.js";
import { Runtime } from "./live/runtime.js";

const PREFIX = 1; // the class token, before the patches
let runtime, newest = 0, change = 0;
let kept = {}; // the last computed question, with its results

// -> the file of a photograph of the page, or of the visitor.
async function blobOf(source, name) {
  if (typeof source !== "string") return source;
  const response = await fetch(source).catch(() => null);
  if (!response?.ok) throw new Refusal(`${name} did not load: is the server still running?`);
  return response.blob();
}

// Computes a picture and keeps the results. -> the times; null if a newer question has come.
async function look(question, going) {
  const { model: key, size, name, title, source, square } = question, began = performance.now();
  const model = runtime.page.models[key];
  const frame = source instanceof ImageBitmap;
  const { pixels, picture } = frame
    ? framed(source, size, model)
    : await opened(await blobOf(source, name), name, size, model, square);
  if (!going()) return null;
  const read = performance.now();
  const begun = await runtime.engines[key].begin(normalised(pixels, model.mean, model.std), size);
  const computed = await runtime.engines[key].compute(begun, { first: 0, layers: [] }, going);
  if (!computed) return null;
  kept = { question, model, picture, title, computed };
  return { reading: read - began, computing: performance.now() - read };
}

async function answer(question) {
  newest = question.ticket;
  const times = await look(question, () => question.ticket === newest);
  if (!times) return;
  const began = performance.now();
  const { panel, data } = panelOf(kept.computed, kept.model, kept.picture, kept.title);
  times.packing = performance.now() - began;
  const { ticket, model } = question;
  const bitmaps = panel.bitmap ? [panel.bitmap] : [], { whole, remark = "" } = kept.picture;
  postMessage({ kind: "answer", ticket, model, panel, data, times, whole, remark }, [data.buffer, ...bitmaps]);
}

async function changed({ number, interventions, maps, question }) {
  change = number;
  const { ticket, model: key } = question, going = () => number === change && ticket === newest;
  newest = Math.max(newest, ticket); // a worker that replaces another has seen no picture yet
  if (!runtime.engines[key]) throw new Refusal("The model is not ready yet: try again in a moment.");
  if (kept.question?.ticket !== ticket && !(await look(question, going))) return;
  const began = performance.now(), { model, computed } = kept;
  const [tokens, width] = computed.features.dims;
  const planned = plan(interventions, { layers: model.layers, heads: model.heads, tokens, prefix: PREFIX, width });
  const now = await runtime.engines[key].compute(computed, planned, going);
  if (!now) return;
  const ends = ({ tokens, features }) => [...tokens.slice(1), features].map(({ data }) => data);
  const layers = model.layers - planned.first;
  const told = {
    first: planned.first,
    cosines: cosines(ends(computed), ends(now), width),
    says: model.labels ? said(now.lens.data, model) : null,
    hidden: hidden(planned, PREFIX),
    ...(maps ? panelOf(now, model, kept.picture, kept.title) : {}),
    times: { computing: performance.now() - began, layers },
  };
  postMessage({ kind: "changed", number, ticket, ...told }, told.data ? [told.data.buffer] : []);
}

// WebAssembly that runs out of memory throws plain numbers, or errors of these kinds.
const MEMORY = "the browser has too little memory";
const broken = (error) => error instanceof WebAssembly.RuntimeError;
const SHORT = /bad_alloc|alloc(ate|ation)|memory/i;
const full = (error) => typeof error === "number" || broken(error) || SHORT.test(error?.message);
const words = (error) => (full(error) ? MEMORY : error?.message ?? String(error));

// -> an error handler that tells the visitor what could not be done.
function refuse(what, told) {
  return (error) => {
    const spoken = error instanceof Refusal ? error.message : `${what}: ${words(error)}.`;
    postMessage({ kind: "refused", ...told, words: spoken });
    if (broken(error)) self.close(); // nothing can be computed in it any more; the page starts another one
  };
}

const HEARD = {
  page(message) {
    runtime = new Runtime(message);
    postMessage({ kind: "here" });
    // The page waits for this lock, and so learns when this worker ends, for whatever reason.
    const forever = new Promise(() => {});
    navigator.locks?.request(message.lock, () => (postMessage({ kind: "held" }), forever)).catch(() => {});
  },

  async open({ model }) {
    await runtime.open(model, (told) => postMessage({ model, ...told })).then(
      (told) => postMessage({ kind: "ready", model, ...told }),
      // `guilty` lets the page tell a failure of the runtime from one of loading.
      (error) => postMessage({ kind: "failed", model, words: words(error), ...runtime.guilty }),
    );
  },

  look: (message) => answer(message).catch((error) => {
    // The shown picture stays, and can still be changed.
    if (newest === message.ticket) newest = kept.question?.ticket ?? 0;
    refuse(`${message.name} could not be shown`, { ticket: message.ticket })(error);
  }),

  change: (message) => changed(message).catch(refuse("The change could not be computed", { number: message.number })),
};

self.onmessage = ({ data }) => HEARD[data.kind](data);
