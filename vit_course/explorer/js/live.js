// The live page: what the visitor chooses goes to the worker, what comes back to the explorer.

import { fromAddress, toAddress } from "./live_address.js";
import { Choose } from "./live_choose.js";
import { Models } from "./live_models.js";
import { arranged } from "./live_offline.js";
import { saveAsPage } from "./live_save.js";
import { keep } from "./live_shell.js";
import { Square } from "./live_square.js";
import { Stage } from "./live_stage.js";

const REAL = "vit-s14", SMALL = "tiny-cifar";
const $ = (selector) => document.querySelector(selector);
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 2e6 ? 1 : 0);

class Page {
  constructor(page) {
    this.page = page;
    const photographs = Array.from(document.querySelectorAll("[data-photograph]"), (button) => button.dataset.name);
    this.known = { photographs, models: [REAL, SMALL], sizes: page.models[REAL].sizes };
    const { photograph, model, size, square } = fromAddress(location.search, this.known);
    this.wanted = model; // what the visitor wants to look with; until it is ready, the small one answers
    this.size = size;
    this.stage = new Stage($(".live-stage"));
    this.models = new Models(page, { changed: () => this.changed(), answered: (answer) => this.answered(answer) });
    this.square = new Square({ moving: () => this.models.forget(), rested: () => this.look() });
    this.choose = new Choose($(".live-choose"), {
      take: (picture) => this.take(picture),
      refuse: (words) => this.say(words, true),
    });
    for (const radio of document.querySelectorAll("[name=live-model]")) {
      radio.checked = radio.value === model;
      radio.addEventListener("change", () => this.want(radio.value));
    }
    $("#live-size").value = size;
    $("#live-size").addEventListener("change", (event) => {
      this.size = Number(event.target.value);
      this.look();
    });
    $(".live-ready button").addEventListener("click", () => this.look());
    $(".live-again").addEventListener("click", () => this.models.open(this.wanted));
    this.choose.ours(this.choose.buttons[photographs.indexOf(photograph)]);
    this.square.reset(square);
    // Under 1 MB, after the runtime; the real one follows.
    arranged().then((begin) => begin && this.models.open(SMALL));
  }

  take(picture) {
    this.picture = picture;
    this.square.reset();
    this.stage.waiting(picture);
    this.look();
  }

  want(model) {
    this.wanted = model;
    this.models.open(model);
    this.look();
    this.changed();
  }

  // With what is there: the wanted model, or the small one.
  look() {
    $("#live-size").disabled = this.wanted === SMALL;
    const model = [this.wanted, SMALL].find((name) => this.models.ready(name));
    $(".live-ready").hidden = true;
    this.late = !model;
    if (!model) return this.say("Loading the small model first.");
    const { sizes } = this.page.models[model];
    const size = sizes.includes(this.size) ? this.size : sizes[0];
    const { name, title, source } = this.picture;
    this.say(`Looking at ${name} ...`);
    this.models.look({ model, size, name, title, source, square: this.square.chosen });
  }

  changed() {
    const { states } = this.models;
    const first = ["ready", "failed"].includes(states[SMALL].state);
    if (first && states[REAL].state === "absent") this.models.open(REAL);
    for (const name of [SMALL, REAL]) {
      // Once, when it has become ready.
      if (states[name].state !== "ready" || states[name].greeted) continue;
      states[name].greeted = true;
      const settled = this.stage.model && !this.models.asked && !this.late; // no answer is waited for
      if (settled && name === this.stage.model) {
        this.say("The part of this page that computes is ready again.");
        continue;
      }
      if (settled && name !== this.wanted) continue;
      // Who is in the midst of something is asked first.
      if (settled && this.stage.touched) $(".live-ready").hidden = false;
      else this.look();
    }
    // What is missing of the wanted model, or else what is on its way.
    const coming = [this.wanted, SMALL, REAL].find((name) => !["absent", "ready"].includes(states[name].state));
    const told = coming ?? [REAL, SMALL].find((name) => states[name].unkept);
    this.progress(states[told] ?? {}, told === SMALL ? "The small model" : "The large model");
    const all = Object.values(states);
    if (all.every(({ state }) => state === "failed")) this.say(`Nothing can be computed: ${all[0].words}.`, true);
  }

  progress({ state, loaded, total, words }, what) {
    const bar = $(".live-progress"), line = $(".live-progress-words");
    bar.hidden = !["loading", "starting"].includes(state);
    if (state === "loading" && total) Object.assign(bar, { value: loaded, max: total });
    else bar.removeAttribute("value");
    line.textContent = {
      loading: total ? `${what} is loading: ${megabytes(loaded)} of ${megabytes(total)} MB` : `${what} is loading`,
      starting: `${what} is starting`,
      failed: `${what} cannot be used: ${words}.`,
      ready: `${what} does not fit into what this browser may keep: it is loaded again at your next visit.`,
    }[state] ?? "";
    $(".live-again").hidden = state !== "failed";
  }

  answered({ words, panel, data, times, whole, model, question }) {
    if (words) return this.say(words, true);
    const { about } = this.page.models[model], { credit, photograph } = this.picture, own = !photograph;
    const seconds = ((times.reading + times.computing) / 1000).toFixed(1);
    const { rows, columns } = panel;
    $(".live-credit").textContent = credit;
    this.square.show(whole);
    const more = { own, cut: [this.square.node], tools: [saveAsPage({ about, ...this.picture })] };
    const hash = this.stage.show(panel, data, { model, wanted: model === this.wanted, ...more });
    const part = !panel.kept ? "whole photograph" : question.square ? "square that you chose" : "middle square";
    const sizes = `${question.size} × ${question.size} pixels, ${rows} × ${columns} patches`;
    this.say(`${about} sees the ${part}, ${sizes}; computed here in ${seconds} s.`);
    const chosen = { photograph, model: this.wanted, size: this.size, square: question.square };
    history.replaceState(null, "", `${location.pathname}${toAddress(chosen, this.known)}${hash}`);
    document.documentElement.dataset.shown = `${model} ${question.size} ${question.ticket}`;
    if (model === this.wanted) this.kept ??= keep(this.page.shell); // once the large files are there
  }

  say(words, refused = false) {
    const line = $(".live-words");
    line.textContent = words;
    line.classList.toggle("live-refused", refused);
    // What could not be opened leaves the picture before it.
    if (refused) this.stage.waiting(null);
  }
}

new Page(JSON.parse($("#live-page").textContent));
document.documentElement.dataset.live = "runs"; // last of all, for the watcher in the page
