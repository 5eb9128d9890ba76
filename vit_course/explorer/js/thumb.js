// A small picture with a map over it, beside its scale.

import { scaled } from "./compose.js";
import { element } from "../../_support/widgets/js/element.js";
import { Mask, paintPanel } from "./photo.js";

const SIDE = 320; // pixels of the canvas, shown at half of that or less

export class Thumb {
  constructor(label) {
    this.canvas = element("canvas", { class: "vit-thumb", role: "img" });
    this.label = element("figcaption", {}, element("span", { text: label }));
    this.scale = element("span", { class: "vit-figure" });
    this.label.append(" ", this.scale);
    this.node = element("figure", { class: "vit-thumb-figure" }, this.canvas, this.label);
  }

  // map (T): what is drawn, from 0 to the largest value over patches; token: the framed one.
  draw(panel, map, token, words) {
    if (!panel.picture) return;
    if (this.panel !== panel) {
      this.panel = panel;
      const share = SIDE / Math.max(panel.width, panel.height);
      Object.assign(this.canvas, { width: Math.round(panel.width * share), height: Math.round(panel.height * share) });
      this.layers = { bright: scaled(panel.picture, this.canvas.width, this.canvas.height), mask: new Mask(panel) };
      this.context = this.canvas.getContext("2d", { alpha: false });
    }
    const top = map.subarray(panel.prefix).reduce((a, b) => Math.max(a, b), 0);
    const one = { panel, drawn: map, low: 0, high: top || 1, ready: true, q: token, key: -1, nearest: -1, best: -1, framed: true };
    paintPanel(this.context, this.layers, one, { overlay: "spotlight", smooth: false, ratio: 2 });
    const scale = `0 to ${words(top).trim()}`;
    this.scale.textContent = scale;
    this.canvas.setAttribute("aria-label", `${this.label.firstChild.textContent}, ${scale}`);
  }
}
