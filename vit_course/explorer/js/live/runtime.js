// The ONNX Runtime of a worker, with or without a graphics card, and an engine for each model.

import { deviceOf } from "./card.js";
import { engine } from "./engine.js";
import { loadAll, openStore, unpacked } from "./files.js";

export class Runtime {
  engines = {};

  // page: the list of files; threads: how many to use; gpu: the choice in the address (live_card.js).
  constructor({ page, threads, gpu }) {
    Object.assign(this, { page, threads, gpu });
  }

  // Chooses the device before anything is loaded. -> the graphics card, or null
  async decide() {
    const device = await deviceOf(this.gpu);
    device?.lost.then(() => Object.values(this.engines).forEach((engine) => engine.drop()));
    return (this.device = device);
  }

  async start({ script }, binary) {
    const ort = await import(new URL(script.path, self.location.href).href);
    ort.env.wasm.numThreads = this.threads;
    ort.env.wasm.initTimeout = 20_000; // or it would wait forever for threads that do not start
    ort.env.wasm.wasmBinary = await unpacked(binary);
    return ort;
  }

  // Possible causes of a failure: whether the runtime has started, and whether it is the build for cards.
  get guilty() {
    return { started: this.ort !== undefined, card: Boolean(this.device) };
  }

  // Opens a model. say: called with "progress", "starting", and "gone" if its card fails later. -> the state of the
  // ready model that the page is told
  async open(name, say) {
    const { page, gpu, threads } = this, model = page.models[name], began = performance.now();
    const device = await (this.deciding ??= this.decide()), build = page.runtime[device ? "card" : "processor"];
    const graphs = { ...model.graphs, ...(device && model.floats ? { floats: model.floats } : {}) };
    const parts = Object.keys(graphs), before = this.ort ? [] : [build.binary];
    const files = [...before, ...Object.values(graphs), ...model.weights];
    const store = await openStore(page.version);
    const { contents, unkept } = await loadAll(files, store, (progress) => say({ kind: "progress", ...progress }));
    const loading = performance.now() - began;
    say({ kind: "starting" });
    const [binary] = contents.splice(0, before.length);
    this.starting ??= this.start(build, binary).catch((error) => {
      this.starting = null;
      throw error;
    });
    this.ort = await this.starting;
    const content = Object.fromEntries(parts.map((part, i) => [part, contents[i]]));
    const weights = contents.slice(parts.length);
    const made = (this.engines[name] = await engine(this.ort, content, weights, model, device, gpu));
    made.dropped = () => say({ kind: "gone", computes: made.computes });
    const times = { loading, starting: performance.now() - began - loading };
    return { unkept, times, threads, computes: made.computes, script: build.script.path };
  }
}
