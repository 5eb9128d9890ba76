// The second face of the grid: how much removing each head changes the output.

import { element } from "../../_support/widgets/js/element.js";
import { Strip } from "./controls.js";
import { figure, headChanges, ofToken, rankCorrelation } from "./effects.js";
import { elsewhere } from "./places.js";
import { SweepPart } from "./sweep_part.js";
import { called } from "./words.js";

const [DARK, LIGHT, UNKNOWN] = ["#0d0e12", [255, 241, 220], "rgba(128, 128, 128, .5)"];
const SMALL = 0.01;
const ROOM = 30; // pixels of a cell that holds a number

// values (L h): the effect of removing each head; boxes: where each is drawn; ratio: device pixels per CSS pixel.
export function paintCells(context, values, top, boxes, ratio) {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  Object.assign(context, { textAlign: "center", textBaseline: "middle", font: `600 ${Math.round(11 * ratio)}px system-ui, sans-serif` });
  values.forEach((value, i) => {
    const [x, y, w, h] = boxes[i], known = !Number.isNaN(value);
    const share = known && top > 0 ? value / top : 0;
    const tone = [13, 14, 18].map((dark, c) => Math.round(dark + share * (LIGHT[c] - dark)));
    // Unknown values are empty frames, so that they are not taken for large or small ones.
    if (!known) {
      Object.assign(context, { strokeStyle: UNKNOWN, lineWidth: ratio });
      return context.strokeRect(x + ratio, y + ratio, w - 2 * ratio, h - 2 * ratio);
    }
    context.fillStyle = `rgb(${tone.join()})`;
    context.fillRect(x, y, w, h);
    if (w < ROOM * ratio) return;
    context.fillStyle = share > 0.44 ? DARK : "#f3efe8";
    context.fillText(value < 0.0005 ? "0" : value.toFixed(3).slice(1), x + w / 2, y + h / 2);
  });
}

export class Matters {
  constructor(state, id) {
    this.state = state;
    this.canvas = element("canvas", { class: "vit-canvas vit-matters", "aria-hidden": "true" });
    [this.face, this.by] = ["face", "by"].map((name) => new Strip(state, name, id));
    this.words = element("p", { class: "vit-matters-words" });
    this.chosen = element("p", { class: "vit-matters-chosen", role: "status" });
    this.sweep = new SweepPart(state, { progress: "Heads taken out", start: (count) => (count === 1 ? "Test the head" : `Test all ${count} heads`) });
    const by = element("div", { class: "vit-by" }, element("span", { text: "Its output is replaced by", "aria-hidden": "true" }), this.by.node);
    this.above = element("div", { class: "vit-face" }, this.face.node, this.sweep.node);
    this.below = element("div", { class: "vit-face" }, by, this.chosen, this.words);
  }

  get shown() {
    return this.state.get("face") === "matters";
  }

  // one: the entry of `shown` for the panel that was pointed at; grid: the Grid whose cells are drawn over.
  draw(one, { node, picture, mark }) {
    this.face.draw();
    this.above.hidden = this.face.node.hidden;
    node.classList.toggle("vit-effects", this.shown);
    this.canvas.hidden = this.below.hidden = this.sweep.node.hidden = !this.shown;
    mark.hidden = this.shown && one.fusion !== "head"; // mean and rollout have no cell on this face
    if (!this.shown || !picture.maps) return;
    this.by.draw();
    // While models are compared, the numbers are those of the unchanged model for both panels.
    const { tests } = this.state, bench = tests.of(one.panel), { panel } = bench, { q } = one;
    const changes = headChanges(panel, this.state.get("by"));
    this.sweep.draw(bench, changes);
    const values = ofToken(panel, changes, q), top = Math.max(...values.filter((value) => !Number.isNaN(value)), 0);
    const asked = [picture.canvas.width, tests.benches.indexOf(bench), this.state.get("by"), ...values].join();
    if (asked !== this.asked) {
      this.asked = asked;
      const { width, height } = picture.canvas;
      Object.assign(this.canvas, { width, height });
      const kept = panel.layer_numbers.flatMap((number) => Array.from(values.subarray(number * panel.heads, (number + 1) * panel.heads)));
      const boxes = kept.map((_, i) => picture.box(Math.floor(i / panel.heads) * picture.maps.width + (i % panel.heads)));
      paintCells(this.canvas.getContext("2d"), kept, top, boxes, window.devicePixelRatio || 1);
    }
    const texts = [this.say({ ...one, panel }, values), this.here({ ...one, panel }, values)];
    [this.words, this.chosen].forEach((element, i) => element.textContent !== texts[i] && (element.textContent = texts[i]));
  }

  here({ panel, layer, head, fusion }, values) {
    const number = panel.layer_numbers[layer], here = values[number * panel.heads + head];
    if (fusion !== "head" || Number.isNaN(here)) return "";
    const known = values.filter((value) => !Number.isNaN(value)), rank = 1 + known.filter((value) => value > here).length;
    return `Layer ${number}, head ${head}, whose map is shown: ${figure(here)}, number ${rank} of ${known.length}.`;
  }

  say({ panel, q }, values) {
    const known = values.filter((value) => !Number.isNaN(value));
    const by = this.state.get("by") === "token mean" ? "the mean over its tokens" : "zeros";
    const how = `One head at a time is removed: its output is replaced by ${by}. Each number says how much the output of the model changes for ${called(panel, q)} (1 − cosine: 0 is no change).`;
    if (!known.length) return how;
    const best = values.indexOf(Math.max(...known)), few = known.filter((value) => value < SMALL).length;
    const so = known.length < values.length ? " so far" : "";
    const name = (cell) => `layer ${Math.floor(cell / panel.heads)}, head ${cell % panel.heads}`;
    return `${how} It changes most${so} without ${name(best)}: by ${figure(values[best])}, the brightest cell. `
      + `${few || "None"} of ${known.length} heads ${few === 1 || !few ? "changes" : "change"} it by less than ${SMALL}.${this.control(panel, q, values)}${this.average(values, name)}`;
  }

  control(panel, q, values) {
    const other = ofToken(panel, headChanges(panel, this.state.get("by") === "token mean" ? "zero" : "token mean"), q);
    const found = rankCorrelation(values, other);
    return Number.isNaN(found) ? "" : ` With the other replacement, the order of the heads has a rank correlation of ${found.toFixed(2)} with this one (1: the same order).`;
  }

  average(values, name) {
    // Averages over all panels, if all results are known.
    const { panels, first, query } = this.state;
    const all = panels.map((panel) => ofToken(panel, headChanges(panel, this.state.get("by")), elsewhere(query, first, panel, first)));
    if (all.length < 2 || all.some((one) => one.length !== values.length || one.some(Number.isNaN))) return "";
    const mean = values.map((_, cell) => all.reduce((sum, one) => sum + one[cell], 0) / all.length);
    const best = mean.indexOf(Math.max(...mean));
    return ` On average over all ${all.length} side by side, ${name(best)} changes it most: by ${figure(mean[best])}.`;
  }

  end() {
    this.sweep.end();
  }
}
