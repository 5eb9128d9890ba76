// The canvas of the story: 256 squares of one photograph, which fly from the place that one scene gives them to the
// place that the next one gives them, and what each scene draws around them.

import { atlasOf } from "./drawing.js";
import { GRID, SCENES } from "./scenes.js";
import { PATCHES, SIDE } from "./values.js";

export const PARTS = 6; // numbers for each square: x, y, width, height, darkness, opacity

const ease = (x) => x * x * (3 - 2 * x);
const within = (x) => Math.max(0, Math.min(1, x));

// How late each square starts: those in the middle first.
const LATE = Float32Array.from({ length: PATCHES }, (_, i) => {
  const [row, column] = [Math.floor(i / SIDE) - 7.5, (i % SIDE) - 7.5];
  return 0.75 * (Math.hypot(row, column) / 10.7) + 0.25 * ((i * 0.618) % 1);
});

export class Stage {
  constructor(canvas, story) {
    Object.assign(this, { canvas, story, pen: canvas.getContext("2d") });
    this.from = new Float32Array(PATCHES * PARTS);
    this.to = new Float32Array(PATCHES * PARTS);
    this.ripple = 1; // from 0 to 1: a wave that runs over the first picture
  }

  // Takes size and colours from the page, which may be dark, or have the colours of the system.
  measure() {
    const { canvas } = this, style = getComputedStyle(canvas), probe = (name) => style.getPropertyValue(name).trim();
    this.size = canvas.clientWidth || 480;
    this.sharp = Math.min(2, window.devicePixelRatio || 1);
    const pixels = Math.round(this.size * this.sharp);
    if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
    const forced = matchMedia("(forced-colors: active)").matches;
    const dark = style.colorScheme.startsWith("dark");
    const pick = (light, night, system) => (forced ? system : dark ? night : light);
    this.ink = pick("#17181c", "#eff0f3", "CanvasText");
    this.soft = pick("#5a5d66", "#a9adb8", "CanvasText");
    this.paper = pick("#ffffff", "#131417", "Canvas");
    this.line = pick("#dcdee4", "#33363d", "CanvasText");
    this.edge = pick("#7d818b", "#7f838d", "CanvasText");
    this.accent = pick("#ff7a00", "#ff8f2b", "Highlight");
    this.other = pick("#0072b2", "#56b4e9", "LinkText");
    this.font = Math.max(11, Math.min(15, this.size * 0.023));
    this.family = probe("font-family") || "system-ui, sans-serif";
  }

  // Paints the small maps while nothing else is to be done, as they would make the flight to them stumble.
  prepare() {
    const { values } = this.story;
    if (values.maps && !values.waits) atlasOf(values, GRID, this.size, this.sharp);
  }

  // at: from 0, the first scene, to the last; between two whole numbers the squares are on their way.
  draw(at, { pen = this.pen, size = this.size, sharp = this.sharp } = {}) {
    const first = Math.min(SCENES.length - 1, Math.floor(at)), rest = at - first;
    const { values } = this.story;
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, size, size);
    if (!values.picture) return;
    // Of a photograph for which nothing is computed yet there are only the squares.
    const scene = (n) => (values.waits && n > 2 ? SCENES[1] : SCENES[Math.min(n, SCENES.length - 1)]);
    scene(first).place(this.from, this.story);
    if (rest) scene(first + 1).place(this.to, this.story);
    this.squares(pen, size, sharp, rest);
    for (const n of rest ? [first, first + 1] : [first]) {
      const shown = within(1 - 2.6 * Math.abs(at - n));
      if (!shown || !scene(n).over) continue;
      pen.save();
      pen.globalAlpha = shown;
      scene(n).over({ pen, size, stage: this }, this.story);
      pen.restore();
    }
    pen.globalAlpha = 1;
  }

  squares(pen, size, sharp, rest) {
    const { picture } = this.story.values, { from, to } = this;
    const wide = (picture.naturalWidth || picture.width) / SIDE, high = (picture.naturalHeight || picture.height) / SIDE;
    const pixel = (x) => Math.round(x * size * sharp) / sharp; // so that neighbours share an edge
    const { query } = this.story.values;
    for (let n = 0; n <= PATCHES; n++) {
      const i = n === PATCHES ? query : n; // the query once more, above all others
      const at = i * PARTS, gone = rest ? ease(within((rest - 0.35 * LATE[i]) / 0.65)) : 0;
      const mix = (part) => (gone ? from[at + part] + (to[at + part] - from[at + part]) * gone : from[at + part]);
      let [x, y, w, h] = [mix(0), mix(1), mix(2), mix(3)];
      const alpha = mix(5);
      if (alpha < 0.01 || x > 1.02 || x + w < -0.02) continue;
      if (this.ripple < 1) {
        const inset = 0.16 * w * Math.max(0, Math.sin(Math.PI * within(2.2 * this.ripple - 1.2 * LATE[i])));
        [x, y, w, h] = [x + inset, y + inset, w - 2 * inset, h - 2 * inset];
      }
      const [left, top, right, bottom] = [pixel(x), pixel(y), pixel(x + w), pixel(y + h)];
      pen.globalAlpha = alpha;
      pen.drawImage(picture, (i % SIDE) * wide, Math.floor(i / SIDE) * high, wide, high, left, top, right - left, bottom - top);
      const dark = mix(4);
      if (dark < 0.01) continue;
      pen.globalAlpha = alpha * dark;
      pen.fillStyle = "#000";
      pen.fillRect(left, top, right - left, bottom - top);
    }
    pen.globalAlpha = 1;
  }
}
