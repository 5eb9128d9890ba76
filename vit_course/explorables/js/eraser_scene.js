// The model's answers for each photograph and each place of the square, computed once and cached. No DOM.

import { TinyViT } from "./tiny_vit.js";

export const SIDE = 8; // patches along a side
export const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

export function patchesUnder(place, size) {
  // place: the number of the position of the square's upper left corner, row by row. -> the patches under the square
  const along = SIDE + 1 - size;
  const [top, left] = [Math.floor(place / along), place % along];
  return Array.from({ length: size * size }, (_, i) => SIDE * (top + Math.floor(i / size)) + left + (i % size));
}

export class Scene {
  // The photographs and the model's answers so far.
  constructor({ model, weights, photos, names, lacking, cropped }, redraw) {
    Object.assign(this, { names, lacking, cropped, model: new TinyViT(model, weights), redraw, kept: new Map(), timer: 0 });
    const one = photos.length / names.length;
    this.pixels = names.map((_, p) => photos.subarray(p * one, (p + 1) * one));
    this.images = this.pixels.map((pixels) => this.model.normalise(pixels));
  }

  once(key, make) {
    if (!this.kept.has(key)) this.kept.set(key, make());
    return this.kept.get(key);
  }

  intact(photograph) {
    return this.once(`${photograph}`, () => {
      const { probabilities, maps } = this.model.forward(this.images[photograph]);
      const [T, heads] = [SIDE * SIDE + 1, [...Array(this.model.config.num_heads).keys()]];
      const row = (map) => Array.from({ length: T - 1 }, (_, n) => mean(heads.map((head) => map[head * T * T + n + 1])));
      return { probabilities: [...probabilities], rows: maps.map(row) }; // per layer, the class token's mean row
    });
  }

  places({ photograph, filling, size }) {
    // The probabilities for all places, null where they are not computed yet.
    return this.once(`${photograph} ${filling} ${size}`, () => Array((SIDE + 1 - size) ** 2).fill(null));
  }

  at(state, place) {
    const found = this.places(state);
    if (!found[place]) {
      const { photograph, filling, size } = state;
      const patches = patchesUnder(place, size);
      const image = filling === "grey" ? this.model.covered(this.images[photograph], patches) : this.images[photograph].slice();
      if (filling === "other") paste(image, this.images[(photograph + 1) % this.images.length], patches, this.model.config);
      found[place] = [...this.model.forward(image).probabilities];
    }
    return found[place];
  }

  fill(state) {
    // Computes the remaining places one by one in the background.
    this.wanted = { ...state };
    this.timer ||= setTimeout(() => this.next());
  }

  finish(state) {
    // Computes all places at once, for tests.
    this.places(state).forEach((_, place) => this.at(state, place));
  }

  next() {
    this.timer = 0;
    const found = this.places(this.wanted);
    const missing = found.indexOf(null);
    if (missing < 0) return;
    this.at(this.wanted, missing);
    const left = found.filter((one) => !one).length;
    if (left % 8 === 0) this.redraw();
    if (left) this.timer = setTimeout(() => this.next());
  }
}

function paste(image, other, patches, { patch_size: P, in_channels: C, image_size: [H, W] }) {
  for (const patch of patches)
    for (let c = 0; c < C; c++)
      for (let y = 0; y < P; y++) {
        const from = (c * H + P * Math.floor(patch / SIDE) + y) * W + P * (patch % SIDE);
        image.set(other.subarray(from, from + P), from);
      }
}
