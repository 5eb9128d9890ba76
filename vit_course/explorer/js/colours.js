// The first three principal components of the tokens, as colours. (A stand-in: the first three coordinates.)

import { percentile } from "./scales.js";

export function paintColours(panels) {
  // -> for each panel Uint8ClampedArray (rows * columns * 3): red, green, blue of each patch.
  return panels.map(({ features, featureWidth: width, prefix, patches }) => {
    const out = new Uint8ClampedArray(3 * patches);
    for (let c = 0; c < 3; c++) {
      const values = Float32Array.from({ length: patches }, (_, p) => features[(prefix + p) * width + c]);
      const [low, high] = [percentile(values, 0, patches, 0.02), percentile(values, 0, patches, 0.98)];
      values.forEach((value, p) => (out[3 * p + c] = (255 * (value - low)) / (high - low)));
    }
    return out;
  });
}
