// The grid of small maps: rows are layers; columns are heads, their mean and the rollout. A click chooses a cell.

import { forAtMost } from "./background.js";
import { element } from "../../_support/widgets/js/element.js";
import { GridCanvas } from "./gridcanvas.js";
import { GridMaps } from "./gridmaps.js";
import { Matters } from "./matters.js";
import { clamp } from "./places.js";
import { rolloutOf } from "./shown.js";
import { eachMap } from "./words.js";

const [SLICE, REST] = [4, 150]; // ms of work in each frame; ms without another query before rollouts are drawn
const EAGER = 4e8; // the most multiplications for a rollout that is computed in advance

export class Grid {
  constructor(state, id) {
    Object.assign(this, { state, matters: new Matters(state, id), of: new Map() });
    const div = (name) => element("div", { class: name, "aria-hidden": "true" });
    const canvas = element("canvas", { class: "vit-canvas", "aria-hidden": "true" });
    this.picture = new GridCanvas(canvas);
    [this.mark, this.point] = ["vit-chosen", "vit-chosen vit-pointed"].map(div);
    this.point.hidden = true;
    this.main = element("div", {
      class: "vit-cells", tabindex: "0", role: "application", "aria-roledescription": "layers and heads",
      "aria-label": "Every layer and head: arrow keys choose one",
    }, canvas, this.matters.canvas, this.point, this.mark);
    this.about = element("p", { class: "vit-grid-about" });
    const corner = Object.assign(div("vit-corner"), { textContent: "layer" });
    [this.across, this.down] = [div("vit-across"), div("vit-down")];
    this.node = element("div", { class: "vit-grid", role: "group", "aria-label": "Layers and heads" },
      this.matters.above, corner, this.across, this.down, this.main, this.about, this.matters.below);
    this.listen();
    this.seen = new ResizeObserver(() => this.maps && this.resize());
    this.seen.observe(this.main);
  }

  listen() {
    const cellAt = (event) => {
      const box = this.main.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * this.maps.width);
      const row = Math.floor(((event.clientY - box.top) / box.height) * this.maps.height);
      return [clamp(row, 0, this.maps.height - 1), clamp(column, 0, this.maps.width - 1)];
    };
    this.main.addEventListener("click", (event) => this.choose(...cellAt(event)));
    this.main.addEventListener("pointermove", (event) => {
      this.point.hidden = event.pointerType !== "mouse";
      this.place(this.point, ...cellAt(event));
    });
    this.main.addEventListener("pointerleave", () => (this.point.hidden = true));
  }

  choose(layer, column) {
    const { heads } = this.maps.panel;
    const view = "attention"; // which the cells show
    if (column < heads) this.state.set({ layer, head: column, fusion: "head", view });
    else this.state.set({ layer, fusion: column === heads ? "mean" : "rollout", view });
  }

  chosen() {
    const { heads, layers } = this.maps.panel;
    const column = { head: Math.min(this.state.get("head"), heads - 1), mean: heads, rollout: heads + 1 };
    return [Math.min(this.state.get("layer"), layers - 1), column[this.state.get("fusion")]];
  }

  move(down, right) {
    const [row, column] = this.chosen();
    this.choose(clamp(row + down, 0, this.maps.height - 1), clamp(column + right, 0, this.maps.width - 1));
  }

  place(mark, row, column) {
    const { width, height } = this.maps;
    Object.assign(mark.style, {
      left: `${(100 * column) / width}%`, top: `${(100 * row) / height}%`, width: `${100 / width}%`, height: `${100 / height}%`,
    });
  }

  show(panel) {
    // Shows the panel that was last pointed at. The rollout has a column only if "More" is open or rollout is chosen.
    const rollout = panel.rollsOut && (this.state.get("details") || this.state.get("fusion") === "rollout");
    if (this.maps?.panel === panel && this.maps.rollout === rollout) return;
    if (this.of.get(panel)?.rollout !== rollout) this.of.set(panel, new GridMaps(this.state, panel, rollout));
    this.maps = this.of.get(panel);
    this.asked = null;
    const { width, height } = this.maps;
    const label = (text) => element("span", { text }), names = Array.from({ length: panel.heads }, (_, head) => label(head));
    const fused = ["mean", "rollout"].slice(0, width - panel.heads).map((name) => element("span", { class: "vit-tall", text: name }));
    this.across.replaceChildren(element("b", { text: "head" }), ...names, ...fused);
    this.down.replaceChildren(...panel.layer_numbers.map(label));
    for (const [name, value] of [["cells", width], ["rows", height], ["aspect", panel.width / panel.height]])
      this.node.style.setProperty(`--vit-${name}`, value);
    this.main.style.aspectRatio = `${width * panel.width} / ${height * panel.height}`;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.main.clientWidth, this.main.clientHeight].map((side) => Math.round(side * ratio));
    if (this.picture.fit(this.maps, width, height, ratio)) this.picture.paint(this.state.get("smooth"));
  }

  draw(shown) {
    const one = shown[this.state.pointed];
    this.show(one.panel);
    this.resize();
    this.node.classList.toggle("vit-aside", this.state.get("view") !== "attention" && !this.matters.shown);
    this.matters.draw(one, this);
    this.about.hidden = this.matters.shown;
    const about = eachMap(one, shown.length > 1);
    if (this.about.textContent !== about) this.about.textContent = about;
    this.place(this.mark, ...this.chosen());
    const scale = ["scale", "fixed", "smooth"].map((name) => this.state.get(name));
    const there = [one.panel.decoded.filter(Boolean).length, one.panel.rollout?.ready, one.panel.replaced];
    const asked = [this.state.pointed, one.q, one.direction, ...scale, ...there].join();
    if (asked !== this.asked) this.begin(one);
    this.asked = asked;
    this.go();
  }

  begin({ q, direction, layer }) {
    const { maps } = this;
    this.work = maps.work(q, direction, layer);
    // Rollouts cost more than all heads together: they follow when the pointer rests.
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.eager();
      this.work = chained(this.work, maps.rollouts(q, direction, layer));
      this.go();
    }, REST);
  }

  go() {
    if (!this.work || !this.picture.maps) return;
    if (forAtMost(this.work, SLICE)) this.work = null;
    else this.again ||= requestAnimationFrame(() => ((this.again = 0), this.go()));
    // Complete: every layer decoded, every head drawn for the present query.
    this.node.dataset.complete = String(!this.work && !this.maps.panel.decoded.includes(null));
    this.picture.paint(this.state.get("smooth"));
  }

  eager() {
    // A rollout that takes less than a second is computed in advance, once all layers are decoded.
    const { panel } = this.maps, cost = panel.layers * panel.heads * panel.tokens ** 2 * (panel.dim || 1);
    if (this.maps.rollout && cost < EAGER && !panel.decoded.includes(null)) rolloutOf(panel);
  }

  end() {
    clearTimeout(this.rest);
    cancelAnimationFrame(this.again);
    this.seen.disconnect();
    this.matters.end();
  }
}

function* chained(first, second) {
  if (first) yield* first;
  yield* second;
}
