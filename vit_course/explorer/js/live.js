// The live page: sends what the visitor chooses to the worker, and shows its answers in the explorer.

import { fromAddress, toAddress } from "./live/address.js";
import { Choose } from "./live/choose.js";
import { Computes } from "./live/computes.js";
import { Film } from "./live/film.js";
import { Models } from "./live/models.js";
import { liveLab } from "./live/lab.js";
import { arranged } from "./live/offline.js";
import { Progress } from "./live/progress.js";
import { saveAsPage } from "./live/save.js";
import { keep } from "./live/shell.js";
import { Square } from "./live/square.js";
import { Stage } from "./live/stage.js";
import { Stored } from "./live/stored.js";

const REAL = "vit-s14", SMALL = "tiny-cifar";
const AGAIN = "The part of this page that computes is ready again.";
const $ = (selector) => document.querySelector(selector);

class Page {
  constructor(page) {
    this.page = page;
    const photographs = Array.from(document.querySelectorAll("[data-photograph]"), (button) => button.dataset.name);
    this.known = { photographs, models: [REAL, SMALL], sizes: page.models[REAL].sizes };
    const { photograph, model, size, square, gpu } = fromAddress(location.search, this.known);
    this.wanted = model; // the model that the visitor has chosen; until it is ready, the small one answers
    Object.assign(this, { size, gpu });
    this.stage = new Stage($(".live-stage"));
    this.line = new Progress();
    this.stored = new Stored(page.models[REAL]);
    const answered = (answer) => this.camera.answered(answer);
    this.models = new Models(page, { changed: () => this.changed(), answered, gone: () => this.computes.gone(), gpu });
    this.computes = new Computes(this);
    this.stage.lab = liveLab(this.models);
    this.square = new Square({ moving: () => this.models.pass(null), rested: () => this.look() });
    this.linked = square; // the square from the address, for the first picture
    this.choose = new Choose($(".live-choose"), {
      take: (picture) => this.take(picture),
      refuse: (words) => this.say(words, true),
    });
    this.camera = new Film(this, $(".live-camera"));
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
    this.lost = history.state?.own === true; // until another picture is chosen
    arranged().then((begin) => begin && this.choose.ours(this.choose.buttons[photographs.indexOf(photograph)]));
  }

  take(picture) {
    this.camera.release();
    if (this.picture) this.lost = false;
    this.picture = picture;
    this.square.reset(this.linked);
    this.linked = undefined;
    this.stage.waiting(picture);
    this.look();
  }

  want(model) {
    this.wanted = model;
    this.models.open(model);
    this.look();
    this.changed();
  }

  // Shows the picture with the best that is ready: the chosen model, else its precomputed maps, else the small model.
  look() {
    $("#live-size").disabled = this.wanted === SMALL;
    const model = [this.wanted, SMALL].find((name) => this.models.ready(name));
    $(".live-ready").hidden = true;
    this.stored.leave();
    this.using = null;
    const { name, title, source, filmed } = this.picture;
    const maps = this.wanted === REAL && this.size === this.known.sizes[0] && !this.square.chosen && this.picture.maps;
    this.late = !model && !maps;
    if (model !== REAL && maps) return this.precompute();
    const filling = this.wanted === REAL && model !== REAL && "The large model is not ready yet: the small one looks first.";
    if (!model) {
      this.models.pass(null);
      this.say(filling || "The small model is loading.");
      return this.models.open(SMALL);
    }
    const { sizes } = this.page.models[model];
    this.using = { model, size: sizes.includes(this.size) ? this.size : sizes[0], name, title };
    if (filmed) return; // the camera's next frame uses it
    this.say(filling || `Looking at ${name} ...`);
    this.models.look({ ...this.using, source, square: this.square.chosen });
  }

  // Shows the maps that were precomputed when the page was written, then opens the model.
  async precompute() {
    const picture = this.picture, { name, title, source } = picture;
    const question = this.models.pass({ model: REAL, size: this.size, name, title, source });
    if (!this.models.stuck) this.say(`Loading what ViT-S/14 saw in ${name} ...`);
    const found = await this.stored.of(picture);
    if (!this.models.taken(question, found)) return;
    if (found) this.present(found, question, "computed beforehand, not here.");
    else (picture.maps = null), this.look();
    if (this.models.stuck) this.changed(); // which reports the failure
    this.stored.shows(found, () => this.models.open(REAL));
  }

  changed() {
    const { states } = this.models;
    const first = ["ready", "failed"].includes(states[SMALL].state);
    if (first && !this.models.stuck && states[REAL].state === "absent") this.models.open(REAL);
    for (const name of [SMALL, REAL]) {
      // Only once, when the model has become ready.
      if (states[name].state !== "ready" || states[name].greeted) continue;
      states[name].greeted = true;
      const settled = this.stage.model && (this.picture.filmed || !this.models.asked) && !this.late; // none is pending
      if (name === this.wanted) this.kept ??= keep([states[name].script, ...this.page.shell]); // once the large files are there
      if (settled && name === this.stage.model && !this.stored.partly) {
        this.say(states[name].first ? `${this.said} What you choose next is computed here.` : AGAIN);
        continue;
      }
      if (settled && name !== this.wanted) continue;
      // A visitor who is using the explorer gets a button instead of a sudden change.
      if (settled && this.stage.touched) $(".live-ready").hidden = false;
      else this.look();
    }
    this.line.tell(states, this.wanted);
    this.computes.tell();
    const all = Object.values(states);
    if (all.some(({ state }) => state !== "failed")) return;
    if (this.camera.on) this.camera.end("The camera stopped: nothing can be computed.");
    this.say(`Nothing can be computed: ${all[0].words}.`, true);
  }

  async answered({ words, panel, data, times, whole, remark = "", model, question }) {
    words ??= await this.stage.cannot(panel, data);
    if (words) return this.say(words, true);
    if (question.ticket !== this.models.ticket) return; // another was asked for meanwhile
    const seconds = ((times.reading + times.computing) / 1000).toFixed(1);
    this.stored.shows(null);
    this.present({ panel, data, whole }, { ...question, model }, `computed here in ${seconds} s.${remark}`);
  }

  // question: what was asked; how: the end of the sentence on how it was computed.
  present({ panel, data, whole }, { model, size, square, ticket }, how) {
    const { about } = this.page.models[model], { rows, columns } = panel, { credit, photograph } = this.picture;
    $(".live-credit").textContent = credit;
    this.square.show(whole);
    const tools = [saveAsPage({ about, ...this.picture })], own = !photograph;
    const hash = this.stage.show(panel, data, { model, wanted: model === this.wanted, own, cut: [this.square.node], tools });
    const part = !panel.kept ? "whole photograph" : square ? "square that you chose" : "middle square";
    const gone = this.lost ? "Your own photograph stayed with you and is not kept here: choose it again. " : "";
    this.said = `${gone}${about} sees the ${part}, ${size} × ${size} pixels, ${rows} × ${columns} patches; ${how}`;
    this.say(this.said + this.computes.noted());
    this.computes.tell();
    const chosen = { photograph, model: this.wanted, size: this.size, square, gpu: this.gpu };
    // After a reload the visitor's own photograph is gone, and the page says so.
    history.replaceState({ own }, "", `${location.pathname}${toAddress(chosen, this.known)}${hash}`);
    const computed = how.split(" ")[1].replace(",", ""); // "here" or "beforehand"
    Object.assign(document.documentElement.dataset, { computed, shown: `${model} ${size} ${ticket}` });
  }

  say(words, refused = false) {
    const line = $(".live-words");
    line.textContent = words;
    line.classList.toggle("live-refused", refused);
    // The earlier picture stays.
    if (refused) this.stage.waiting(null);
  }
}

new Page(JSON.parse($("#live-page").textContent));
document.documentElement.dataset.live = "runs"; // last of all, for the watcher in the page
