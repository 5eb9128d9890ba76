// What brightness means: drawn with the same compositing, in a place of its own, with figures of one width.

import { canvasOf, enlarge, fillMask, heat, HEAT, MOST, spotlight } from "./compose.js";
import { element } from "./element.js";
import { strokeLines, STYLES, SHARES } from "./outline.js";
import { percent } from "./words.js";

const STEPS = 64;
const SCALES = {
  own: "each map by itself: full strength at its 98th percentile",
  layer: "one scale for the whole layer",
  fixed: "one scale for everything",
};

export class Legend {
  constructor(state) {
    this.state = state;
    this.bar = element("canvas", { class: "vit-bar", width: 320, height: 28, "aria-hidden": "true" });
    [this.low, this.high] = ["vit-low", "vit-high"].map((name) => element("span", { class: `vit-figure ${name}` }));
    this.about = element("span", { class: "vit-about" });
    this.node = element("div", { class: "vit-legend" }, this.low, this.bar, this.high, this.about);
    this.mask = canvasOf(STEPS, 1);
    const grey = (value) => {
      const canvas = canvasOf(this.bar.width, this.bar.height);
      const context = canvas.getContext("2d");
      context.fillStyle = `rgb(${value},${value},${value})`;
      context.fillRect(0, 0, canvas.width, canvas.height);
      return canvas;
    };
    this.bright = grey(236);
    this.dark = grey(Math.round(236 * 0.15));
  }

  draw(shown) {
    const [overlay, view] = [this.state.get("overlay"), this.state.get("view")];
    const { low, high, colours, drawn, map } = shown[this.state.pointed];
    const similar = drawn !== map;
    const kind = colours ? "colours" : overlay;
    if (this.kind !== kind) this.paint((this.kind = kind));
    this.node.dataset.kind = kind;
    if (overlay === "outline" && !colours) {
      this.low.textContent = this.high.textContent = "";
      this.about.textContent = `${SHARES.map((share) => 100 * share).join(", ")} % of the weight on patches`;
    } else if (colours || overlay === "off") {
      this.low.textContent = this.high.textContent = "";
      this.about.textContent = colours ? "three principal components as red, green, blue" : "the picture as the model gets it";
    } else {
      this.low.textContent = similar ? low.toFixed(2) : "0";
      this.high.textContent = similar ? high.toFixed(2) : percent(high);
      this.about.textContent = similar ? "cosine with the query's token" : SCALES[this.state.get("scale")];
    }
    this.node.dataset.view = view;
  }

  paint(kind) {
    const context = this.bar.getContext("2d");
    const { width, height } = this.bar;
    context.clearRect(0, 0, width, height);
    const ramp = new ImageData(STEPS, 1);
    const values = Float32Array.from({ length: STEPS }, (_, i) => i / (STEPS - 1));
    fillMask(ramp.data, values, 0, STEPS, 1, 0, 1, kind === "heat" ? { colour: HEAT, most: MOST } : {});
    this.mask.getContext("2d").putImageData(ramp, 0, 0);
    const drawMask = (to) => enlarge(to, this.mask, true);
    if (kind === "spotlight") spotlight(context, drawMask, this.bright, this.dark);
    else if (kind === "heat") heat(context, drawMask, this.bright);
    else if (kind === "outline") {
      context.fillStyle = "#808080";
      context.fillRect(0, 0, width, height);
      STYLES.forEach((style, set) => {
        const y = ((set + 0.5) * height) / STYLES.length;
        strokeLines(context, [[8, y, width - 8, y]], 1, 1, style, 2);
      });
    }
  }
}
