// The page's side of the worker: the state of each model, and the last question. No DOM.

const PATIENCE = 10_000; // milliseconds; a worker that has sent no message by then has not loaded
const MANY_THREADS = 4; // more gain little, and would slow down the visitor's machine
const OWN = "live_worker.js, the page's own worker";
const ENDED = "The part of this page that computes has ended";

const madeHere = () => new Worker("live_worker.js", { type: "module" });

// Threads share memory, which browsers allow only for pages with certain headers (live_service.js).
const allowed = () => (globalThis.crossOriginIsolated ? Math.min(MANY_THREADS, navigator.hardwareConcurrency || 1) : 1);

export class Models {
  // page: the list of files; changed(): called when the state of a model changes; answered(answer): called with the
  // answer to the last question, or {words} if it failed; gone(): called when a graphics card has failed; made(): makes
  // a worker; gpu: the choice in the address (live_card.js).
  constructor(page, { changed, answered, gone = () => {}, gpu, made = madeHere }) {
    Object.assign(this, { page, changed, answered, gone, gpu, made });
    // state: "absent", "loading" with loaded and total bytes, "starting", "ready" with threads, what computes, and the
    // runtime's script, "failed" with words
    this.states = Object.fromEntries(Object.keys(page.models).map((name) => [name, { state: "absent" }]));
    this.ticket = this.number = 0;
    this.asked = this.shown = this.waits = null;
    this.news = []; // callbacks of there(), which waits for a model
    this.met = new Set(); // the models that were ready once
    this.threads = allowed();
    this.start();
  }

  start() {
    this.worker?.terminate();
    // Whether the worker has sent a message, has answered a question, has become unusable.
    this.spoken = this.useful = this.stuck = false;
    const worker = (this.worker = this.made()), lock = `vit-course-live-${Math.random()}`;
    worker.onmessage = ({ data }) => {
      if (data.kind === "held") this.watch(worker, lock);
      else if (worker === this.worker) this.heard(data);
    };
    const words = `${OWN}, could not start: reload the page, or try a newer browser`;
    worker.onerror = () => worker === this.worker && this.fail(words);
    worker.postMessage({ kind: "page", page: this.page, threads: this.threads, gpu: this.gpu, lock });
  }

  // The worker holds this lock as long as it lives, so that getting it means that the worker has ended.
  async watch(worker, lock) {
    await navigator.locks.request(lock, () => {});
    if (worker !== this.worker) return;
    this.settle({ words: `${ENDED}, so the change could not be computed.` });
    const carded = Object.values(this.states).some(({ computes }) => computes?.by === "card");
    const early = `${ENDED} before it could answer; the browser may have too little memory`;
    if (!this.useful && !carded) return this.fail(early);
    if (!this.useful) this.gpu = "0"; // the card may be the cause
    this.answered({ words: `${ENDED}. It starts again; what is shown stays.` });
    this.again();
  }

  // Starts a new worker, and opens the models that the old one had or was loading.
  again() {
    const names = Object.keys(this.states).filter((name) => this.states[name].state !== "absent");
    this.start();
    for (const name of names) this.states[name] = { state: "absent" };
    for (const name of names) this.open(name);
  }

  open(name) {
    if (!["absent", "failed"].includes(this.states[name].state)) return;
    if (this.stuck) this.start(); // nothing is ready in the old one
    if (!this.spoken) {
      clearTimeout(this.silence);
      this.silence = setTimeout(() => this.fail(`${OWN}, does not answer: reload the page`), PATIENCE);
    }
    this.set(name, { state: "loading", loaded: 0, total: 0 });
    this.worker.postMessage({ kind: "open", model: name });
  }

  ready(name) {
    return this.states[name]?.state === "ready";
  }

  // Asks for a picture. Only the newest question counts: answers to older ones are ignored.
  look(question) {
    this.settle(null);
    this.asked = { ...question, ticket: ++this.ticket };
    const frame = question.source instanceof ImageBitmap;
    this.worker.postMessage({ kind: "look", ...this.asked }, frame ? [question.source] : []);
    if (frame) this.asked.source = null; // it was transferred to the worker
  }

  // Registers a question that is answered elsewhere. Its asker calls `taken` with the answer; changes then apply to it.
  pass(question) {
    this.settle(null);
    this.ticket++;
    return (this.asked = question && { ...question, ticket: this.ticket });
  }

  // -> whether nothing newer was asked meanwhile. asked: what `pass` gave; there: whether it has an answer.
  taken(asked, there) {
    if (asked !== this.asked) return false;
    this.asked = null;
    if (there) this.shown = asked;
    return true;
  }

  // Opens the models again that have failed to load.
  resume() {
    if (!this.stuck) for (const name of Object.keys(this.states)) if (this.states[name].state === "failed") this.open(name);
  }

  // Computes a change (live_change.js) for the shown picture; null for a camera frame.
  change(interventions, { maps = false } = {}) {
    this.settle(null);
    if (!this.shown?.source || this.asked) return Promise.resolve(null);
    this.worker.postMessage({ kind: "change", number: ++this.number, interventions, maps, question: this.shown });
    return new Promise((done) => (this.waits = done));
  }

  // Resolves the pending change, if any.
  settle(answer) {
    this.waits?.(answer);
    this.waits = null;
  }

  set(name, state) {
    this.states[name] = state;
    this.changed(name);
    if (["ready", "failed"].includes(state.state)) for (const done of this.news.splice(0)) done();
  }

  // Waits for the model of the shown picture; -> whether it became ready.
  async there() {
    while (this.shown && !this.ready(this.shown.model)) {
      if (this.states[this.shown.model].state === "failed") return false;
      await new Promise((done) => this.news.push(done));
    }
    return true;
  }

  fail(words) {
    this.stuck = true;
    for (const name of Object.keys(this.states)) this.set(name, { state: "failed", words });
  }

  heard({ kind, model, ticket, number, ...rest }) {
    this.spoken = true;
    clearTimeout(this.silence);
    if (kind === "progress") this.set(model, { state: "loading", ...rest });
    if (kind === "starting") this.set(model, { state: "starting" });
    if (kind === "failed") this.failed(model, rest);
    if (kind === "gone") {
      Object.assign(this.states[model], rest);
      this.gone();
    }
    if (kind === "ready") {
      const first = !this.met.has(model);
      this.met.add(model);
      this.set(model, { state: kind, first, ...rest });
    }
    if (kind === "changed" || (kind === "refused" && number)) number === this.number && this.settle(rest);
    else if ((kind === "answer" || kind === "refused") && ticket === this.ticket) {
      const question = this.asked;
      this.asked = null;
      if (kind === "answer") [this.shown, this.useful] = [question, true];
      this.answered({ ...rest, model, question });
    }
  }

  failed(name, { words, started, card }) {
    this.stuck = started && !Object.keys(this.states).some((one) => this.ready(one));
    if (!this.stuck || (this.threads === 1 && !card)) return this.set(name, { state: "failed", words });
    if (this.threads === 1) this.gpu = "0"; // the runtime for cards may be the cause
    this.threads = 1; // the threads may be what does not start
    this.again();
  }
}
