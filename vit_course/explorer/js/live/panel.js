// Converts the results of a model for the explorer: into one panel, and its arrays in one piece of memory.

const softmax = (row) => {
  const top = Math.max(...row), powers = Array.from(row, (value) => Math.exp(value - top));
  const sum = powers.reduce((total, value) => total + value, 0);
  return powers.map((value) => value / sum);
};

// Logits (L + 1, K) -> `says` of a panel, the most probable class first.
export function said(scores, { labels, head, none }) {
  const K = labels.length;
  const rows = Array.from({ length: scores.length / K }, (_, i) => softmax(scores.subarray(i * K, (i + 1) * K)));
  const last = rows.at(-1), order = labels.map((_, i) => i).sort((a, b) => last[b] - last[a]);
  const sorted = rows.map((row) => order.map((i) => row[i]));
  return { labels: order.map((i) => labels[i]), probabilities: sorted.at(-1), lens: sorted, about: head,
    none: noneFits(scores.subarray(scores.length - K), none) };
}

// The logits of a picture -> a sentence if none of the classes fits, else "", as `none_fits` of Python.
export function noneFits(logits, { score: least, errors }) {
  const top = Math.max(...logits), score = top + Math.log(logits.reduce((sum, value) => sum + Math.exp(value - top), 0));
  return score >= least ? "" : `None of its ${logits.length} words fits: the score of its logits, ${score.toFixed(1)}, is below ${least} (${errors}).`;
}

// Arrays packed one after the other, as in encoding.py.
export class Sections {
  described = [];
  parts = [];
  size = 0;

  add(name, layer, bytes, described) {
    this.described.push({ name, layer, at: this.size, bytes: bytes.length, ...described });
    this.parts.push(bytes);
    this.size += bytes.length;
  }

  floats(name, layer, array, shape) {
    this.add(name, layer, new Uint8Array(array.buffer, array.byteOffset, array.byteLength), { coding: "f4", shape });
  }

  joined() {
    const all = new Uint8Array(this.size);
    this.parts.forEach((part, i) => all.set(part, this.described[i].at));
    return all;
  }
}

// computed: the result of an engine (live_engine.js); model: its entry in the page's list; picture: {bytes, media,
// size, whole} (live_open.js), or for a frame {bitmap, size} (live_frame.js).
// -> {panel, data}: an entry of `_panels`, and `_data`.
export function panelOf(computed, model, picture, title) {
  const layers = computed.queries.length, { features, lens } = computed;
  const [heads, tokens, dim] = computed.queries[0].dims;
  const side = Math.round(Math.sqrt(tokens - 1));
  const sections = new Sections();
  for (let layer = 0; layer < layers; layer++)
    for (const name of ["queries", "keys"])
      sections.floats(name, layer, computed[name][layer].data, [heads, tokens, dim]);
  const sums = new Float32Array(layers * heads * tokens);
  for (let layer = 0; layer < layers; layer++) sums.set(computed.sums[layer].data, layer * heads * tokens);
  sections.floats("lse", null, sums, [layers, heads, tokens]);
  sections.floats("key_means", null, new Float32Array(layers * heads * dim), [layers, heads, dim]);
  sections.floats("features", null, features.data, features.dims);
  // Unquantised numbers have steps of 1.
  for (const name of ["query_steps", "key_steps"])
    sections.floats(name, null, new Float32Array(layers * heads * dim).fill(1), [layers, heads, dim]);
  sections.floats("feature_steps", null, new Float32Array(features.dims[1]).fill(1), [features.dims[1]]);
  // Added last, as floats must be aligned to 4 bytes. A camera frame has no file.
  if (picture.bytes) sections.add("picture", null, picture.bytes, { coding: "file", media: picture.media });
  const { whole, bitmap } = picture, kept = whole?.kept ?? null;
  if (kept) sections.add("whole", null, whole.bytes, { coding: "file", media: whole.media });
  const panel = {
    title, layers, heads, tokens, prefix: 1, names: ["class token"], rows: side, columns: side,
    height: picture.size, width: picture.size, layer_numbers: Array.from({ length: layers }, (_, i) => i),
    all_layers: layers, link: null, says: model.labels ? said(lens.data, model) : null,
    kept, ...(whole?.at ? { at: whole.at } : {}), sections: sections.described, kind: "qk", dim, scale: dim ** -0.5,
    ...(bitmap ? { bitmap } : {}),
  };
  return { panel, data: sections.joined() };
}
