// The patch tokens as colours: their first three principal components, as red, green and blue. No DOM.

import { components, dot } from "./components.js";

export function percentile(sorted, share) {
  // Interpolates linearly between two values, as NumPy does.
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  return sorted[below] + (at - below) * (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]);
}

export function colours(panels) {
  // -> for each panel its patches' colours (patches x 3, bytes), or null where no features were sent. Panels whose
  // tokens have the same width are coloured together, so that similar colours mean similar tokens in all pictures.
  const out = panels.map(() => null);
  const widths = panels.map((panel) => (panel.features ? panel.features.length / panel.tokens : 0));
  for (const width of new Set(widths.filter((w) => w > 0))) {
    const which = panels.flatMap((_, i) => (widths[i] === width ? [i] : []));
    const parts = which.map((i) => panels[i].features.subarray(panels[i].prefix * width));
    coloured(parts, width).forEach((colour, n) => (out[which[n]] = colour));
  }
  return out;
}

const kept = new WeakMap(); // panels -> the features that were coloured, and the colours

export function paintColours(panels) {
  // As `colours`, cached for the same features, as every frame calls it.
  const of = panels.map((panel) => panel.features);
  if (!kept.get(panels)?.of.every((features, i) => features === of[i])) kept.set(panels, { of, all: colours(panels) });
  return kept.get(panels).all;
}

function coloured(parts, width) {
  const rows = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (rows.set(part, at), at + part.length), 0);
  const count = rows.length / width;
  const mean = new Float64Array(width);
  for (let at = 0; at < rows.length; at += width) for (let i = 0; i < width; i++) mean[i] += rows[at + i] / count;
  for (let at = 0; at < rows.length; at += width) for (let i = 0; i < width; i++) rows[at + i] -= mean[i];
  const all = new Uint8ClampedArray(count * 3);
  components(rows, width).forEach((direction, c) => {
    const along = Float64Array.from({ length: count }, (_, r) => dot(direction, rows.subarray(r * width, (r + 1) * width)));
    const sorted = along.slice().sort();
    const [low, high] = [percentile(sorted, 0.02), percentile(sorted, 0.98)];
    for (let r = 0; r < count; r++) all[3 * r + c] = high > low ? (255 * (along[r] - low)) / (high - low) : 128;
  });
  let at = 0;
  return parts.map((part) => all.slice(at, (at += (part.length / width) * 3)));
}
