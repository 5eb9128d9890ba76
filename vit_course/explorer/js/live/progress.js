// The line that shows the progress of a model that is loading, with its bar and its buttons.

import { Left } from "./time_left.js";

const $ = (selector) => document.querySelector(selector);
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 2e6 ? 1 : 0);
const WHAT = { "vit-s14": "The large model", "tiny-cifar": "The small model" };
const TURN = 2000; // milliseconds after which the line is updated even if nothing was received
const ANEW = "A file had changed on the server, so it is loaded anew. ";
const WAITS = " It continues by itself when you are online again.";

export class Progress {
  constructor() {
    this.left = {};
  }

  // states: of live_models.js. Shows the wanted model if it is not ready, or else one that is loading. That another
  // model has failed is shown only while the wanted one is not ready.
  tell(states, wanted) {
    const names = [wanted, ...Object.keys(states)], silent = ["absent", "ready"];
    if (states[wanted].state === "ready") silent.push("failed");
    const coming = names.find((name) => !silent.includes(states[name].state));
    const told = coming ?? names.find((name) => states[name].unkept);
    this.show(states[told] ?? {}, WHAT[told]);
  }

  show(state, what) {
    const bar = $(".live-progress");
    const { state: is, loaded, total } = state;
    clearTimeout(this.turn);
    bar.hidden = !["loading", "starting"].includes(is);
    if (is === "loading" && total) Object.assign(bar, { value: loaded, max: total });
    else bar.removeAttribute("value");
    $(".live-progress-words").textContent = this.words(state, what);
    $(".live-again").hidden = is !== "failed";
    if (is === "loading") this.turn = setTimeout(() => this.show(state, what), TURN);
  }

  words({ state, loaded, total, came, anew, words }, what) {
    if (state !== "loading") delete this.left[what];
    if (state === "loading") {
      if (!total) return `${what} is loading`;
      const left = (this.left[what] ??= new Left()).after(came, total - loaded, performance.now());
      const sofar = `${what} is loading: ${megabytes(loaded)} of ${megabytes(total)} MB`;
      return `${anew ? ANEW : ""}${sofar}${left && `, ${left}`}`;
    }
    const told = {
      starting: `${what} is starting`,
      failed: `${what} cannot be used: ${words}.${navigator.onLine ? "" : WAITS}`,
      ready: `${what} does not fit into this browser's storage, so it is loaded again at your next visit.`,
    };
    return told[state] ?? "";
  }
}
