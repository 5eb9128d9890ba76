// One panel on the page: the photograph under its overlay, and the tokens that are no patches.

import {
  bilinear, canvasOf, covered, enlarge, fillMask, frame, MASKS, overlaid, ring, scaled, strengths,
} from "./compose.js";
import { cut } from "./cut.js";
import { element } from "../../_support/widgets/js/element.js";
import { shadeOutside, smallestSets, strokeSets } from "./outline.js";
import { fingers } from "./fingers.js";
import { tokenAt } from "./places.js";

const FINE = 144; // pixels of a mask, about: beyond that the browser enlarges

export class Mask {
  // What a map is drawn with: its patches as they are, or enlarged in part.
  constructor({ columns, rows }) {
    this.times = Math.max(1, Math.round(FINE / Math.max(columns, rows)));
    const of = (times) => ({
      image: new ImageData(columns * times, rows * times), canvas: canvasOf(columns * times, rows * times),
    });
    this.plain = of(1);
    this.fine = of(this.times);
    this.values = new Float32Array(columns * rows * this.times ** 2);
  }

  fill({ panel, drawn, low, high }, smooth, style) {
    const { columns, rows, prefix, patches } = panel;
    this.used = smooth ? this.fine : this.plain;
    const { image, canvas } = this.used;
    let values = strengths(drawn, prefix, patches, low, high);
    if (smooth) values = bilinear(values, columns, rows, this.times, this.values);
    fillMask(image.data, values, 0, image.width, image.height, 0, 1, style);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return (context) => enlarge(context, canvas, smooth);
  }

  colours({ panel, colours }, smooth) {
    const { image, canvas } = (this.used = this.plain);
    for (let i = 0; i < panel.patches; i++) image.data.set([...colours.subarray(3 * i, 3 * i + 3), 255], 4 * i);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return (context) => enlarge(context, canvas, smooth);
  }
}

export function paintPanel(context, { bright, mask }, one, { overlay, smooth, ratio = 1, pinned = false }) {
  // One panel's `shown` over a whole canvas; `bright` is of its size, `mask` a `Mask`.
  if (!one.ready || overlay === "off") context.drawImage(bright, 0, 0);
  else if (one.colours) mask.colours(one, smooth)(context);
  else if (MASKS[overlay]) overlaid(context, mask.fill(one, smooth, MASKS[overlay]), bright, MASKS[overlay]);
  else outline(context, one, bright, ratio);
  const frames = [[one.nearest, "dashed", 2], [one.key, "dashed", 2], [one.framed ? one.q : -1, "solid", pinned ? 3 : 2]];
  for (const [token, style, line] of frames) frameToken(context, one.panel, token, style, line * ratio);
  if (overlay !== "off" && one.best >= 0) ringToken(context, one.panel, one.best, ratio);
}

function ringToken(context, panel, token, ratio) {
  const [row, column] = panel.place(token);
  const [width, height] = [context.canvas.width / panel.columns, context.canvas.height / panel.rows];
  const radius = Math.max(Math.max(width, height) / Math.SQRT2, 9 * ratio);
  ring(context, (column + 0.5) * width, (row + 0.5) * height, radius, 2 * ratio);
}

function coverPatch(context, panel, patch, ratio) {
  const [width, height] = [context.canvas.width / panel.columns, context.canvas.height / panel.rows];
  covered(context, (patch % panel.columns) * width, Math.floor(patch / panel.columns) * height, width, height, ratio);
}

function outline(context, { panel, drawn }, bright, ratio) {
  context.drawImage(bright, 0, 0);
  const inside = smallestSets(drawn, panel.prefix, panel.patches);
  shadeOutside(context, inside, panel);
  strokeSets(context, inside, panel, ratio);
}

function frameToken(context, panel, token, style, line) {
  const place = token < 0 ? null : panel.place(token);
  if (!place) return;
  // A patch of a few pixels has a frame around it that is still seen.
  const [width, height] = [context.canvas.width / panel.columns, context.canvas.height / panel.rows];
  const grow = line;
  const [x, y] = [Math.max(place[1] * width - grow, 0), Math.max(place[0] * height - grow, 0)];
  const right = Math.min((place[1] + 1) * width + grow, context.canvas.width);
  const bottom = Math.min((place[0] + 1) * height + grow, context.canvas.height);
  frame(context, x, y, right - x, bottom - y, line, style);
}

export class Photo {
  constructor(state, panel) {
    Object.assign(this, { state, panel });
    this.canvas = element("canvas", { class: "vit-canvas", "aria-hidden": "true" });
    this.main = element("div", {
      class: "vit-main", tabindex: "0", role: "application", "aria-roledescription": "photograph with attention",
      "aria-label": `${panel.title || "The picture"}: arrow keys choose a patch, Enter pins it`,
    }, this.canvas);
    this.main.style.setProperty("--vit-aspect", `${panel.width / panel.height}`);
    const title = panel.title ? [element("figcaption", { class: "vit-title", text: panel.title })] : [];
    this.node = element("figure", { class: "vit-panel" }, ...title, this.main, ...(state.model.cut ?? cut(panel)));
    this.listen();
    this.seen = new ResizeObserver(() => this.resize());
    this.seen.observe(this.main);
  }

  listen() {
    const { main, panel, state } = this;
    const token = (event) => {
      const box = main.getBoundingClientRect();
      return tokenAt(panel, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    };
    main.addEventListener("pointermove", (event) => event.pointerType === "mouse" && state.hover(panel, token(event)));
    main.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && state.leave());
    fingers(main, { over: (event) => state.hover(panel, token(event)), done: () => state.keep() });
    main.addEventListener("click", (event) => {
      if (event.shiftKey) state.set({ key: state.first === panel ? token(event) : -1 });
      else state.pin(panel, token(event));
    });
    main.addEventListener("focus", () => (state.pointed = state.panels.indexOf(panel)));
  }

  resize() {
    // At the screen's own resolution, and not beyond what a picture can use.
    this.ratio = Math.min(window.devicePixelRatio || 1, 1600 / Math.max(this.main.clientWidth, 1));
    const width = Math.round(this.main.clientWidth * this.ratio);
    const height = Math.round(this.main.clientHeight * this.ratio);
    if (!width || !height || (width === this.canvas.width && this.layers)) return;
    Object.assign(this.canvas, { width, height });
    if (!this.panel.picture) return;
    const bright = scaled(this.panel.picture, width, height);
    this.layers = { bright, mask: new Mask(this.panel) };
    this.drawn = this.panel.replaced;
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.context.drawImage(bright, 0, 0);
    this.state.schedule();
  }

  renew() {
    // Another picture in the place of the one before.
    const { bright } = this.layers;
    this.drawn = this.panel.replaced;
    bright.getContext("2d").drawImage(this.panel.picture, 0, 0, bright.width, bright.height);
  }

  draw(one) {
    if (!this.layers) this.resize();
    if (!this.layers) return;
    if (this.drawn !== one.panel.replaced) this.renew();
    const [overlay, smooth, pinned] = ["overlay", "smooth", "pinned"].map((name) => this.state.get(name));
    paintPanel(this.context, this.layers, one, { overlay, smooth, pinned, ratio: this.ratio });
    for (const patch of this.state.tests.hidden(this.panel)) coverPatch(this.context, this.panel, patch, this.ratio);
  }

  end() {
    this.seen.disconnect();
  }
}
