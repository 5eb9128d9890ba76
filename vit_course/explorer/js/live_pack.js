// A panel as Python writes it into a page, from one with numbers as they are: whole numbers of 14 bits, half as large.
// The same as `QueriesAndKeys.write` of scene.py and `quantised` of encoding.py. No page.

import { floats } from "../../_support/widgets/js/bytes.js";
import { Sections } from "./live_panel.js";

const LARGEST = 8191;
const { fround } = Math;

function whole(value) {
  // Halves to even, as NumPy does.
  const near = Math.round(value);
  return near - value === 0.5 && near % 2 ? near - 1 : near;
}

// Rows of `width` numbers, one below the other -> whole numbers from -8191 to 8191, and a step for each column.
function quantised(values, width) {
  const steps = new Float32Array(width), out = new Int16Array(values.length);
  values.forEach((value, i) => (steps[i % width] = Math.max(steps[i % width], Math.abs(value))));
  steps.forEach((largest, i) => (steps[i] = largest > 0 ? largest / LARGEST : 1));
  values.forEach((value, i) => (out[i] = whole(fround(value / steps[i % width]))));
  return { out, steps };
}

async function squeezed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Whole numbers as their high bytes, squeezed, and their low ones.
async function add(sections, name, layer, values, shape) {
  const high = await squeezed(Uint8Array.from(values, (value) => (value + LARGEST + 1) >> 8));
  const bytes = new Uint8Array(high.length + values.length);
  bytes.set(high);
  bytes.set(Uint8Array.from(values, (value) => (value + LARGEST + 1) & 255), high.length);
  sections.add(name, layer, bytes, { coding: "planes", shape, high: high.length });
}

// One head's vectors (tokens, dim): `means` (dim) off, if there are any.
function packedHead(values, dim, means) {
  const centred = means ? values.map((value, i) => value - means[i % dim]) : values;
  const { out, steps } = quantised(centred, dim);
  return { out, steps, stored: Float32Array.from(out, (value, i) => value * steps[i % dim]) };
}

function meansOf(values, dim) {
  const sums = new Float64Array(dim);
  values.forEach((value, i) => (sums[i % dim] += value));
  return Float32Array.from(sums, (sum) => sum / (values.length / dim));
}

// The logarithm of what the scores of each query add up to, of what is stored: so its rows sum to 1.
function sumsOf(queries, keys, dim, scale, out) {
  const tokens = out.length, scores = new Float64Array(tokens);
  for (let q = 0; q < tokens; q++) {
    let top = -Infinity, sum = 0;
    for (let k = 0, at = 0; k < tokens; k++) {
      let score = 0;
      for (let c = 0, from = q * dim; c < dim; c++) score += queries[from++] * keys[at++];
      top = Math.max(top, (scores[k] = scale * score));
    }
    for (let k = 0; k < tokens; k++) sum += Math.exp(scores[k] - top);
    out[q] = top + Math.log(sum);
  }
}

// What is shown of a frame of a camera, which never was a file.
async function fileOf(bitmap) {
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.92 });
  return [new Uint8Array(await blob.arrayBuffer()), { coding: "file", media: blob.type }];
}

// A panel and its bytes with what is known of changes (lab.js) behind them: the section "tested", as changes.py has it.
export function tested({ panel, data }, known) {
  const all = new Sections(), rows = Array.from(known.values());
  for (const { name, layer, at, bytes, ...described } of panel.sections) all.add(name, layer, data.subarray(at, at + bytes), described);
  const width = panel.tokens, values = new Float32Array(rows.length * width);
  rows.forEach(({ row }, i) => values.set(row, i * width));
  if (rows.length) all.floats("tested", null, values, [rows.length, width]);
  const told = Array.from(known, ([key, { says }]) => ({ change: JSON.parse(key), ...(says ? { says } : {}) }));
  return { panel: { ...panel, sections: all.described, tested: told, asks: false }, data: all.joined() };
}

const breath = () => new Promise((done) => setTimeout(done));

// picture: what is shown. -> {panel, data}; what is packed already stays as it is.
export async function packed({ bitmap, ...panel }, data, picture) {
  const section = (name, layer = null) => panel.sections.find((one) => one.name === name && one.layer === layer);
  const bytes = ({ at, bytes }) => data.subarray(at, at + bytes);
  if (panel.kind !== "qk" || section("queries", 0).coding !== "f4") return { panel, data };
  const { layers, heads, tokens, dim, scale } = panel, size = tokens * dim;
  const sections = new Sections();
  for (const name of ["picture", "whole"])
    if (section(name)) sections.add(name, null, bytes(section(name)), { coding: "file", media: section(name).media });
  if (bitmap && !section("picture")) sections.add("picture", null, ...(await fileOf(picture)));
  const shared = Object.fromEntries(["query_steps", "key_steps", "key_means"].map((name) => [name, new Float32Array(layers * heads * dim)]));
  const lse = new Float32Array(layers * heads * tokens);
  for (let layer = 0; layer < layers; layer++) {
    const given = ["queries", "keys"].map((name) => floats(bytes(section(name, layer))));
    const outs = given.map(({ length }) => new Int16Array(length));
    for (let head = 0; head < heads; head++) {
      const [queries, keys] = given.map((values) => values.subarray(head * size, (head + 1) * size));
      const means = meansOf(keys, dim), at = (layer * heads + head) * dim;
      const [q, k] = [packedHead(queries, dim), packedHead(keys, dim, means)];
      [q, k].forEach(({ out }, i) => outs[i].set(out, head * size));
      shared.query_steps.set(q.steps, at);
      shared.key_steps.set(k.steps, at);
      shared.key_means.set(means, at);
      const from = (layer * heads + head) * tokens;
      sumsOf(q.stored, k.stored, dim, scale, lse.subarray(from, from + tokens));
      await breath(); // the page goes on
    }
    await add(sections, "queries", layer, outs[0], [heads, tokens, dim]);
    await add(sections, "keys", layer, outs[1], [heads, tokens, dim]);
  }
  for (const [name, values] of Object.entries(shared)) sections.floats(name, null, values, [layers, heads, dim]);
  sections.floats("lse", null, lse, [layers, heads, tokens]);
  const { shape } = section("features"), features = quantised(floats(bytes(section("features"))), shape[1]);
  await add(sections, "features", null, features.out, shape);
  sections.floats("feature_steps", null, features.steps, [shape[1]]);
  return { panel: { ...panel, sections: sections.described }, data: sections.joined() };
}
