// The worker, as the page sees it: which model is where, and what was asked last. No DOM.

const PATIENCE = 10_000; // milliseconds; a worker that has not said a word by then is empty or does not come

export class Models {
  // page: what files there are; changed(): some model's state is another; answered(answer): what was asked last is there,
  // or {words}, where it could not be done.
  constructor(page, { changed, answered, worker = new Worker("live_worker.js", { type: "module" }) }) {
    Object.assign(this, { page, changed, answered, worker });
    // state: "absent", "loading" with loaded and total bytes, "starting", "ready", "failed" with words
    this.states = Object.fromEntries(Object.keys(page.models).map((name) => [name, { state: "absent" }]));
    this.spoken = false; // whether the worker has said a word
    this.ticket = 0;
    this.asked = null;
    worker.onmessage = ({ data }) => this.heard(data);
    worker.onerror = () => this.fail("live_worker.js, the page's own worker, could not start: reload the page, or try a newer browser");
    worker.postMessage({ kind: "page", page });
  }

  open(name) {
    if (!["absent", "failed"].includes(this.states[name].state)) return;
    if (!this.spoken) {
      clearTimeout(this.silence);
      this.silence = setTimeout(() => this.fail("live_worker.js, the page's own worker, does not answer: reload the page"), PATIENCE);
    }
    this.set(name, { state: "loading", loaded: 0, total: 0 });
    this.worker.postMessage({ kind: "open", model: name });
  }

  ready(name) {
    return this.states[name].state === "ready";
  }

  // One question at a time: what comes for an older one is not shown.
  look(question) {
    this.asked = { ...question, ticket: ++this.ticket };
    this.worker.postMessage({ kind: "look", ...this.asked });
  }

  set(name, state) {
    this.states[name] = state;
    this.changed(name);
  }

  fail(words) {
    for (const name of Object.keys(this.states)) this.set(name, { state: "failed", words });
  }

  heard({ kind, model, ticket, ...rest }) {
    this.spoken = true;
    clearTimeout(this.silence);
    if (kind === "progress") this.set(model, { state: "loading", ...rest });
    if (kind === "starting") this.set(model, { state: "starting" });
    if (kind === "ready" || kind === "failed") this.set(model, { state: kind, ...rest });
    if ((kind === "answer" || kind === "refused") && ticket === this.ticket) {
      const question = this.asked;
      this.asked = null;
      this.answered({ ...rest, model, question });
    }
  }
}
