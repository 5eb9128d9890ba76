// The live page: what the visitor chooses goes to the worker, what comes back to the explorer.

import { fromAddress, toAddress } from "./live_address.js";
import { Choose } from "./live_choose.js";
import { Models } from "./live_models.js";
import { arranged } from "./live_offline.js";
import { Progress } from "./live_progress.js";
import { keep } from "./live_shell.js";
import { Stage } from "./live_stage.js";
import { Stored } from "./live_stored.js";

const REAL = "vit-s14", SMALL = "tiny-cifar";
const AGAIN = "The part of this page that computes is ready again.";
const $ = (selector) => document.querySelector(selector);

class Page {
  constructor(page) {
    this.page = page;
    const photographs = Array.from(document.querySelectorAll("[data-photograph]"), (button) => button.dataset.name);
    this.known = { photographs, models: [REAL, SMALL], sizes: page.models[REAL].sizes };
    const { photograph, model, size } = fromAddress(location.search, this.known);
    this.wanted = model; // what the visitor wants to look with; until it is ready, the small one answers
    this.size = size;
    this.stage = new Stage($(".live-stage"));
    this.line = new Progress();
    this.stored = new Stored(page.models[REAL]);
    this.models = new Models(page, { changed: () => this.changed(), answered: (answer) => this.answered(answer) });
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
    addEventListener("online", () => this.models.resume());
    arranged().then((begin) => begin && this.choose.ours(this.choose.buttons[photographs.indexOf(photograph)]));
  }

  take(picture) {
    this.picture = picture;
    this.stage.waiting(picture);
    this.look();
  }

  want(model) {
    this.wanted = model;
    this.models.open(model);
    this.look();
    this.changed();
  }

  // With what is there: the wanted model, or what it has seen of our photographs beforehand, or the small one.
  look() {
    $("#live-size").disabled = this.wanted === SMALL;
    const model = [this.wanted, SMALL].find((name) => this.models.ready(name));
    $(".live-ready").hidden = true;
    this.stored.leave();
    const maps = this.wanted === REAL && this.size === this.known.sizes[0] && this.picture.maps;
    this.late = !model && !maps;
    if (model !== REAL && maps) return this.beforehand();
    const filling = this.wanted === REAL && model !== REAL && "The large model is not ready yet: the small one looks first.";
    if (!model) {
      this.models.pass(null);
      this.say(filling || "The small model is loading.");
      return this.models.open(SMALL);
    }
    const { sizes } = this.page.models[model];
    const size = sizes.includes(this.size) ? this.size : sizes[0];
    const { name, title, source } = this.picture;
    this.say(filling || `Looking at ${name} ...`);
    this.models.look({ model, size, name, title, source });
  }

  // What was computed when the page was written; after it comes the model.
  async beforehand() {
    const picture = this.picture, { name, title, source } = picture;
    const question = this.models.pass({ model: REAL, size: this.size, name, title, source });
    if (!this.models.stuck) this.say(`Loading what ViT-S/14 saw in ${name} ...`);
    const found = await this.stored.of(picture);
    if (!this.models.taken(question, found)) return;
    if (found) this.present(found, question, "computed beforehand, not here.");
    else (picture.maps = null), this.look();
    if (this.models.stuck) this.changed(); // which says so
    this.stored.shows(found, () => this.models.open(REAL));
  }

  changed() {
    const { states } = this.models;
    const first = ["ready", "failed"].includes(states[SMALL].state);
    if (first && !this.models.stuck && states[REAL].state === "absent") this.models.open(REAL);
    for (const name of [SMALL, REAL]) {
      // Once, when it has become ready.
      if (states[name].state !== "ready" || states[name].greeted) continue;
      states[name].greeted = true;
      const settled = this.stage.model && !this.models.asked && !this.late; // no answer is waited for
      if (name === this.wanted) this.kept ??= keep(this.page.shell); // once the large files are there
      if (settled && name === this.stage.model && !this.stored.partly) {
        this.say(states[name].first ? `${this.said} What you choose next is computed here.` : AGAIN);
        continue;
      }
      if (settled && name !== this.wanted) continue;
      // Who is in the midst of something is asked first.
      if (settled && this.stage.touched) $(".live-ready").hidden = false;
      else this.look();
    }
    this.line.tell(states, this.wanted);
    const all = Object.values(states);
    if (all.every(({ state }) => state === "failed")) this.say(`Nothing can be computed: ${all[0].words}.`, true);
  }

  answered({ words, panel, data, times, model, question }) {
    if (words) return this.say(words, true);
    const seconds = ((times.reading + times.computing) / 1000).toFixed(1);
    this.stored.shows(null);
    this.present({ panel, data }, { ...question, model }, `computed here in ${seconds} s.`);
  }

  // question: what was asked; how: how the answer came about.
  present({ panel, data }, { model, size, ticket }, how) {
    const { about } = this.page.models[model], { rows, columns } = panel, { credit, photograph } = this.picture;
    $(".live-credit").textContent = credit;
    const hash = this.stage.show(panel, data, { model, wanted: model === this.wanted, own: !photograph });
    this.said = `${about} sees the middle square, ${size} × ${size} pixels, ${rows} × ${columns} patches; ${how}`;
    this.say(this.said);
    const chosen = { photograph, model: this.wanted, size: this.size };
    history.replaceState(null, "", `${location.pathname}${toAddress(chosen, this.known)}${hash}`);
    const computed = how.split(" ")[1].replace(",", ""); // "here" or "beforehand"
    Object.assign(document.documentElement.dataset, { computed, shown: `${model} ${size} ${ticket}` });
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
