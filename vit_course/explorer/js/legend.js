// The legend: what brightness means, drawn with the same compositing as the maps.

import { canvasOf, enlarge, fillMask, MASKS, overlaid } from "./compose.js";
import { element } from "../../_support/widgets/js/element.js";
import { strokeLines, STYLES, SHARES } from "./outline.js";
import { percent } from "./words.js";

const STEPS = 64;
const SCALES = {
  own: "Own scale: full strength from the map's 98th percentile on.",
  layer: "One scale for the whole layer.",
  fixed: "The same scale for every map.",
};
const ABOUT = {
  outline: "of the weight on patches, in as few patches as possible",
  off: "the picture as the model sees it",
  colours: "three principal components as colours",
  similarity: "cosine with the token of the query",
};

export class Legend {
  constructor(state, fixed) {
    Object.assign(this, { state, fixed });
    this.bar = element("canvas", { class: "vit-bar", width: 320, height: 28, "aria-hidden": "true" });
    [this.low, this.high] = ["vit-low", "vit-high"].map((name) => element("span", { class: `vit-figure ${name}` }));
    this.lines = element("div", { class: "vit-lines" }, ...SHARES.flatMap((share, set) => [sample(STYLES[set]), `${100 * share} %`]));
    this.ramp = element("div", { class: "vit-ramp" }, this.low, this.bar, this.high);
    this.about = element("span", { class: "vit-about" });
    this.scaled = element("p", { class: "vit-part-note vit-scaled" });
    this.node = element("div", { class: "vit-legend" }, this.ramp, this.lines, this.about);
    this.mask = canvasOf(STEPS, 1);
    this.bright = grey(this.bar, 236);
    // Hidden until something is drawn: all parts together would be wider than a phone.
    for (const node of [this.ramp, this.lines, fixed.node]) node.hidden = true;
  }

  draw(shown) {
    const [overlay, view, scale] = ["overlay", "view", "scale"].map((name) => this.state.get(name));
    const { low, high, colours, drawn, map, phrase } = shown[this.state.pointed];
    const similar = drawn !== map;
    const kind = colours ? "colours" : overlay;
    if (this.kind !== kind && kind in MASKS) this.paint(kind);
    this.kind = kind;
    const ramp = kind in MASKS;
    const slider = ramp && !similar && scale === "fixed";
    for (const [node, seen] of [[this.ramp, ramp], [this.lines, kind === "outline"], [this.scaled, ramp && !similar], [this.fixed.node, slider]])
      node.hidden = !seen;
    this.low.textContent = similar ? low.toFixed(2) : "0";
    this.high.textContent = similar ? high.toFixed(2) : percent(high);
    this.about.textContent = ABOUT[kind] ?? (phrase ? "cosine with the phrase" : similar ? ABOUT[view] : "brighter: more of its attention");
    this.scaled.textContent = SCALES[scale];
  }

  paint(kind) {
    const context = this.bar.getContext("2d");
    const ramp = new ImageData(STEPS, 1);
    const values = Float32Array.from({ length: STEPS }, (_, i) => i / (STEPS - 1));
    fillMask(ramp.data, values, 0, STEPS, 1, 0, 1, MASKS[kind]);
    this.mask.getContext("2d").putImageData(ramp, 0, 0);
    overlaid(context, (to) => enlarge(to, this.mask, true), this.bright, MASKS[kind]);
  }
}

function grey(like, value) {
  const canvas = canvasOf(like.width, like.height);
  const context = canvas.getContext("2d");
  context.fillStyle = `rgb(${value},${value},${value})`;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas;
}

function sample(style) {
  const canvas = element("canvas", { width: 72, height: 24, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.fillStyle = "#55585f";
  context.fillRect(0, 0, 72, 24);
  strokeLines(context, [[0, 12, 72, 12]], 1, 1, style, 2);
  return canvas;
}
