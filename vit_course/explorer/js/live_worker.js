// The models, in a thread of their own, so that the page never freezes. It hears
//   {kind: "page", page, threads, gpu, lock}  what files there are, with how many threads to compute, whether on a
//                                             graphics card (live_card.js), and the name of a lock to hold while it
//                                             lives: "here", and "held" once it does
//   {kind: "open", model}                     answered by "progress", "starting", and "ready" or "failed"; by "gone" once
//                                             a card that computed it has failed
//   {kind: "look", ticket, model, size, name, title, source, square}    answered by "answer" or "refused"; the newest
//                                             counts; source: an address, a file, or a frame of a camera as a bitmap
//   {kind: "change", number, interventions, maps, question}     of the picture of that question, a former "look":
//                                             answered by "changed" (live_change.js) or "refused"; the newest counts

import { cosines, hidden, plan } from "./live_change.js";
import { framed } from "./live_frame.js";
import { opened, Refusal } from "./live_open.js";
import { panelOf, said } from "./live_panel.js";
import { normalised } from "./live_picture.js";
import { Runtime } from "./live_runtime.js";

const PREFIX = 1; // the class token, before the patches
let runtime, newest = 0, change = 0;
let kept = {}; // the question whose picture was computed last, and all that came of it

// Reading a photograph of the page's own, or what the visitor gave.
async function blobOf(source, name) {
  if (typeof source !== "string") return source;
  const response = await fetch(source).catch(() => null);
  if (!response?.ok) throw new Refusal(`${name} did not load: is the server still running?`);
  return response.blob();
}

// What is asked of a picture: from its file, or as it was kept. null where something newer was asked meanwhile.
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
  const bitmaps = panel.bitmap ? [panel.bitmap] : [], { whole } = kept.picture;
  postMessage({ kind: "answer", ticket, model, panel, data, times, whole }, [data.buffer, ...bitmaps]);
}

async function changed({ number, interventions, maps, question }) {
  change = number;
  const { ticket, model: key } = question, going = () => number === change && ticket === newest;
  newest = Math.max(newest, ticket); // after a worker has died, this one knows of no picture
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

// Numbers without a message come from WebAssembly that ran out of memory, as do errors of these kinds.
const MEMORY = "the browser has too little memory";
const broken = (error) => error instanceof WebAssembly.RuntimeError;
const SHORT = /bad_alloc|alloc(ate|ation)|memory/i;
const full = (error) => typeof error === "number" || broken(error) || SHORT.test(error?.message);
const words = (error) => (full(error) ? MEMORY : error?.message ?? String(error));

// What could not be done is told to the visitor.
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
    // Whoever waits for this lock then hears when this worker dies, whatever it dies of.
    const forever = new Promise(() => {});
    navigator.locks?.request(message.lock, () => (postMessage({ kind: "held" }), forever)).catch(() => {});
  },

  async open({ model }) {
    await runtime.open(model, (told) => postMessage({ model, ...told })).then(
      (told) => postMessage({ kind: "ready", model, ...told }),
      // Of what did not even load, neither the threads nor the card are guilty.
      (error) => postMessage({ kind: "failed", model, words: words(error), ...runtime.guilty }),
    );
  },

  look: (message) => answer(message).catch((error) => {
    // What is shown stays, and can be changed.
    if (newest === message.ticket) newest = kept.question?.ticket ?? 0;
    refuse(`${message.name} could not be shown`, { ticket: message.ticket })(error);
  }),

  change: (message) => changed(message).catch(refuse("The change could not be computed", { number: message.number })),
};

self.onmessage = ({ data }) => HEARD[data.kind](data);
