// Every layer and head at a glance: one canvas of small maps, rows are layers.

import { forAtMost } from "./background.js";
import { canvasOf, darkened, fillMask, spotlight } from "./compose.js";
import { element } from "./element.js";
import { GridMaps } from "./gridmaps.js";
import { clamp } from "./places.js";
import { rolloutOf } from "./shown.js";

const SLICE = 5; // ms of each frame
const EAGER = 4e8; // multiplications for a rollout that nobody has asked for yet

export class Grid {
  constructor(state) {
    this.state = state;
    this.canvas = element("canvas", { class: "vit-canvas", "aria-hidden": "true" });
    this.mark = element("div", { class: "vit-chosen", "aria-hidden": "true" });
    this.point = element("div", { class: "vit-chosen vit-pointed", "aria-hidden": "true" });
    this.point.hidden = true;
    this.main = element("div", {
      class: "vit-cells", tabindex: "0", role: "application", "aria-roledescription": "layers and heads",
      "aria-label": "Every layer and head: arrow keys choose one",
    }, this.canvas, this.point, this.mark);
    [this.across, this.down] = ["across", "down"].map((name) => element("div", { class: `vit-${name}`, "aria-hidden": "true" }));
    this.corner = element("div", { class: "vit-corner", "aria-hidden": "true", text: "layer" });
    this.node = element("section", { class: "vit-grid", "aria-label": "Layers and heads" }, this.corner, this.across, this.down, this.main);
    this.of = new Map();
    this.listen();
    this.seen = new ResizeObserver(() => this.resize());
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
    if (column < heads) this.state.set({ layer, head: column, fusion: "head" });
    else this.state.set({ layer, fusion: column === heads ? "mean" : "rollout" });
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
    // The panel that was last pointed at.
    if (this.maps?.panel === panel) return;
    if (!this.of.has(panel)) this.of.set(panel, new GridMaps(this.state, panel));
    this.maps = this.of.get(panel);
    const { width, height } = this.maps;
    const label = (text) => element("span", { text });
    const names = Array.from({ length: panel.heads }, (_, head) => label(head));
    const fused = ["mean", "rollout"].slice(0, width - panel.heads).map((name) => element("span", { class: "vit-tall", text: name }));
    this.across.replaceChildren(...names, ...fused);
    this.down.replaceChildren(...panel.layer_numbers.map(label));
    this.node.style.setProperty("--vit-cells", width);
    this.node.style.setProperty("--vit-cell", `${panel.width / panel.height}`);
    this.main.style.aspectRatio = `${width * panel.width} / ${height * panel.height}`;
    this.layers = null;
    this.resize();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.main.clientWidth, this.main.clientHeight].map((side) => Math.round(side * ratio));
    const { maps } = this;
    if (!maps?.panel.picture || !width || (this.layers && width === this.canvas.width && height === this.canvas.height)) return;
    Object.assign(this.canvas, { width, height });
    this.gap = Math.max(1, Math.round(ratio));
    const tile = canvasOf(Math.round(width / maps.width), Math.round(height / maps.height));
    tile.getContext("2d").imageSmoothingQuality = "high";
    tile.getContext("2d").drawImage(maps.panel.picture, 0, 0, tile.width, tile.height);
    const whole = canvasOf(width, height);
    const { columns, rows } = maps.panel;
    this.each((cell, x, y, w, h) => whole.getContext("2d").drawImage(tile, x, y, w, h));
    const [bright, dark] = darkened(whole, width, height);
    // Between the tiles nothing is drawn.
    const shape = dark.getContext("2d");
    shape.globalAlpha = 1;
    shape.globalCompositeOperation = "destination-in";
    shape.drawImage(whole, 0, 0);
    const atlas = canvasOf(columns * maps.width, rows * maps.height);
    const image = new ImageData(atlas.width, atlas.height);
    this.layers = { bright, dark, atlas, image };
    this.context = this.canvas.getContext("2d");
    this.state.schedule();
  }

  each(visit) {
    const { width: across, height: down } = this.maps;
    const { width, height } = this.canvas;
    for (let cell = 0; cell < across * down; cell++) {
      const [x, y] = [cell % across, Math.floor(cell / across)];
      const [left, top] = [Math.round((x * width) / across), Math.round((y * height) / down)];
      const [right, bottom] = [Math.round(((x + 1) * width) / across), Math.round(((y + 1) * height) / down)];
      visit(cell, left, top, right - left - this.gap, bottom - top - this.gap);
    }
  }

  paint() {
    const { maps, layers } = this;
    const { columns, rows, tokens, prefix } = maps.panel;
    const { atlas, image } = layers;
    for (let cell = 0; cell < maps.known.length; cell++) {
      if (!maps.known[cell]) continue;
      const at = Math.floor(cell / maps.width) * rows * atlas.width + (cell % maps.width) * columns;
      fillMask(image.data, maps.maps, cell * tokens + prefix, columns, rows, 0, maps.tops[cell], { at, width: atlas.width });
    }
    atlas.getContext("2d").putImageData(image, 0, 0);
    const drawMask = (context) => {
      context.imageSmoothingEnabled = true;
      this.each((cell, x, y, w, h) => {
        const [left, top] = [(cell % maps.width) * columns, Math.floor(cell / maps.width) * rows];
        context.drawImage(atlas, left, top, columns, rows, x, y, w, h);
      });
    };
    spotlight(this.context, drawMask, layers.bright, layers.dark);
  }

  draw(shown) {
    this.show(this.state.panels[this.state.pointed]);
    if (!this.layers) this.resize();
    if (!this.layers) return;
    const one = shown[this.state.pointed];
    this.place(this.mark, ...this.chosen());
    const decoded = this.maps.panel.decoded.filter(Boolean).length;
    const asked = [one.q, one.direction, this.state.get("scale"), this.state.get("fixed"), decoded, this.maps.panel.rollout?.ready].join();
    if (asked !== this.asked || this.maps !== this.drawnMaps) {
      [this.asked, this.drawnMaps] = [asked, this.maps];
      this.work = this.maps.begin(one.q, one.direction, one.layer);
      this.eager();
    }
    this.go();
  }

  go() {
    if (!this.work) return;
    if (forAtMost(this.work, SLICE)) this.work = null;
    else this.again ||= requestAnimationFrame(() => ((this.again = 0), this.go()));
    this.node.dataset.settled = String(!this.work);
    this.paint();
  }

  eager() {
    // A rollout that takes less than a second is made ready as soon as all layers are there.
    const { panel } = this.maps;
    const cost = panel.layers * panel.heads * panel.tokens ** 2 * (panel.dim || 1);
    if (panel.rollsOut && cost < EAGER && !panel.decoded.includes(null)) rolloutOf(panel);
  }

  end() {
    cancelAnimationFrame(this.again);
    this.seen.disconnect();
  }
}
