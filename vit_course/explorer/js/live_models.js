// The worker, as the page sees it: which model is where, and what was asked last. No DOM.

const PATIENCE = 10_000; // milliseconds; a worker that has not said a word by then is empty or does not come
const MANY_THREADS = 4; // more gain little, and the visitor's machine has other things to do
const OWN = "live_worker.js, the page's own worker";
const ENDED = "The part of this page that computes has ended";

const madeHere = () => new Worker("live_worker.js", { type: "module" });

// Several threads share memory, which browsers allow only a page with certain headers (live_service.js).
const allowed = () => (globalThis.crossOriginIsolated ? Math.min(MANY_THREADS, navigator.hardwareConcurrency || 1) : 1);

export class Models {
  // page: what files there are; changed(): some model's state is another; answered(answer): what was asked last is
  // there, or {words}, where it could not be done; gone(): a graphics card has failed; made(): a new worker.
  // gpu: what the address asks for (live_card.js).
  constructor(page, { changed, answered, gone = () => {}, gpu, made = madeHere }) {
    Object.assign(this, { page, changed, answered, gone, gpu, made });
    // state: "absent", "loading" with loaded and total bytes, "starting", "ready" with threads, what computes, and the
    // runtime's script, "failed" with words
    this.states = Object.fromEntries(Object.keys(page.models).map((name) => [name, { state: "absent" }]));
    this.ticket = this.number = 0;
    this.asked = this.shown = this.waits = null;
    this.news = []; // who waits for a model
    this.met = new Set(); // the models that were ready once
    this.threads = allowed();
    this.start();
  }

  start() {
    this.worker?.terminate();
    // Whether it has said a word, has answered, is good for nothing any more.
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

  // Gets what the worker holds as long as it lives.
  async watch(worker, lock) {
    await navigator.locks.request(lock, () => {});
    if (worker !== this.worker) return;
    this.settle({ words: `${ENDED}, and the change with it.` });
    const carded = Object.values(this.states).some(({ computes }) => computes?.by === "card");
    const early = `${ENDED} before it could answer; the browser may have too little memory`;
    if (!this.useful && !carded) return this.fail(early);
    if (!this.useful) this.gpu = "0"; // it may be the card
    this.answered({ words: `${ENDED}. It starts again; what is shown stays.` });
    this.again();
  }

  // In a new worker, what was there or on its way in the old one.
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

  // One question at a time: what comes for an older one is not shown.
  look(question) {
    this.settle(null);
    this.asked = { ...question, ticket: ++this.ticket };
    const frame = question.source instanceof ImageBitmap;
    this.worker.postMessage({ kind: "look", ...this.asked }, frame ? [question.source] : []);
    if (frame) this.asked.source = null; // it is with the worker now
  }

  // A question that is answered elsewhere; `taken` once its answer is there, and from then on changes are of it.
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

  // What did not come is asked for again.
  resume() {
    if (!this.stuck) for (const name of Object.keys(this.states)) if (this.states[name].state === "failed") this.open(name);
  }

  // What would be if something were changed (live_change.js) in the picture that is shown; of a camera's frames none.
  change(interventions, { maps = false } = {}) {
    this.settle(null);
    if (!this.shown?.source || this.asked) return Promise.resolve(null);
    this.worker.postMessage({ kind: "change", number: ++this.number, interventions, maps, question: this.shown });
    return new Promise((done) => (this.waits = done));
  }

  // The change that is waited for, if any, has come to this.
  settle(answer) {
    this.waits?.(answer);
    this.waits = null;
  }

  set(name, state) {
    this.states[name] = state;
    this.changed(name);
    if (["ready", "failed"].includes(state.state)) for (const done of this.news.splice(0)) done();
  }

  // -> whether the model of what is shown is there, once that is known.
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
    if (this.threads === 1) this.gpu = "0"; // or the runtime for cards
    this.threads = 1; // it may be the threads that do not start
    this.again();
  }
}
