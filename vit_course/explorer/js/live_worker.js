// The models, in a thread of their own, so that the page never freezes. It hears
//   {kind: "page", page}                                     what files there are, once, before all else; "here"
//   {kind: "open", model}                                    answered by "progress", "starting", and "ready" or "failed"
//   {kind: "look", ticket, model, size, name, source}        answered by "answer" or "refused"; only the newest counts

import { loadAll, openStore, unpacked } from "./live_files.js";
import { opened, Refusal } from "./live_open.js";
import { panelOf } from "./live_panel.js";
import { normalised } from "./live_picture.js";

const sessions = {};
let page, runtime, newest = 0;

async function start(binary) {
  const ort = await import(new URL(page.runtime.script.path, self.location.href).href);
  ort.env.wasm.numThreads = 1; // more would need headers that few servers of static files send
  ort.env.wasm.wasmBinary = await unpacked(binary);
  return ort;
}

async function open(name) {
  const model = page.models[name], began = performance.now();
  const files = [model.graph, ...model.weights, ...(runtime ? [] : [page.runtime.binary])];
  const said = (progress) => postMessage({ kind: "progress", model: name, ...progress });
  const [graph, ...rest] = await loadAll(files, await openStore(page.version), said);
  const loading = performance.now() - began;
  postMessage({ kind: "starting", model: name });
  runtime ??= await start(rest.at(-1));
  const externalData = model.weights.map((file, i) => ({ path: file.name, data: rest[i] }));
  sessions[name] = await runtime.InferenceSession.create(graph, { executionProviders: ["wasm"], externalData });
  return { loading, starting: performance.now() - began - loading };
}

// Reading a photograph of the page's own, or what the visitor gave.
async function blobOf(source, name) {
  if (typeof source !== "string") return source;
  const response = await fetch(source).catch(() => null);
  if (!response?.ok) throw new Refusal(`${name} did not load: is the server still running?`);
  return response.blob();
}

async function look({ ticket, model: key, size, name, title, source }) {
  const model = page.models[key], began = performance.now();
  const { pixels, picture } = await opened(await blobOf(source, name), name, size, model);
  if (ticket !== newest) return; // another picture was chosen meanwhile
  const images = new runtime.Tensor("float32", normalised(pixels, model.mean, model.std), [1, 3, size, size]);
  const read = performance.now();
  const outputs = await sessions[key].run({ images });
  const computed = performance.now();
  const { panel, data } = panelOf(outputs, model, picture, title);
  const times = { reading: read - began, computing: computed - read, packing: performance.now() - computed };
  postMessage({ kind: "answer", ticket, model: key, panel, data, times }, [data.buffer]);
}

// Numbers without a message come from WebAssembly that ran out of memory.
const words = (error) => (typeof error === "number" ? "the browser has too little memory" : error?.message ?? String(error));

self.onmessage = async ({ data: message }) => {
  if (message.kind === "page") {
    page = message.page;
    postMessage({ kind: "here" });
  }
  if (message.kind === "open")
    await open(message.model).then(
      (times) => postMessage({ kind: "ready", model: message.model, times }),
      (error) => postMessage({ kind: "failed", model: message.model, words: words(error) }),
    );
  if (message.kind === "look") {
    newest = message.ticket;
    await look(message).catch((error) => {
      const said = error instanceof Refusal ? error.message : `${message.name} could not be shown: ${words(error)}.`;
      postMessage({ kind: "refused", ticket: message.ticket, words: said });
    });
  }
};
