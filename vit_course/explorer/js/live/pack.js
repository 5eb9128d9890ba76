// Packs a panel of float32 arrays as Python writes it into a page: quantised to 14 bits, in less than half the size.
// The same as `QueriesAndKeys.write` of scene.py and `quantised` of encoding.py. No page.

import { floats, perHead } from "../../../_support/widgets/js/bytes.js";
import { file } from "./open.js";
import { Sections } from "./panel.js";
import { scoresInto, strideOf } from "../rows.js";

const LARGEST = 8191;

// Rows of `width` numbers, one below the other -> whole numbers from -8191 to 8191, and a step for each column.
function quantised(values, width) {
  const steps = new Float32Array(width), out = new Int16Array(values.length);
  values.forEach((value, i) => (steps[i % width] = Math.max(steps[i % width], Math.abs(value))));
  steps.forEach((largest, i) => (steps[i] = largest > 0 ? largest / LARGEST : 1));
  values.forEach((value, i) => (out[i] = Math.round(value / steps[i % width])));
  return { out, steps };
}

async function squeezed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Adds whole numbers as their compressed high bytes and their low bytes.
async function add(sections, name, layer, values, shape) {
  const high = await squeezed(Uint8Array.from(values, (value) => (value + LARGEST + 1) >> 8));
  const bytes = new Uint8Array(high.length + values.length);
  bytes.set(high);
  bytes.set(Uint8Array.from(values, (value) => (value + LARGEST + 1) & 255), high.length);
  sections.add(name, layer, bytes, { coding: "planes", shape, high: high.length });
}

// One head's vectors (tokens, dim), quantised, and as a browser will decode them.
function packedHead(values, dim) {
  const { out, steps } = quantised(values, dim);
  return { out, steps, stored: perHead(out, steps, 0, 1, values.length / dim, dim, strideOf(dim)) };
}

function meansOf(values, dim) {
  const sums = new Float64Array(dim);
  values.forEach((value, i) => (sums[i % dim] += value));
  return Float32Array.from(sums, (sum) => sum / (values.length / dim));
}

// The log-sum-exp of each query's scores, from the quantised vectors, so that the decoded rows sum to 1.
function sumsOf(queries, keys, stride, scale, out) {
  const scores = new Float64Array(out.length);
  for (let q = 0; q < out.length; q++) {
    scoresInto(scores, 0, queries, q * stride, keys, 0, out.length, stride, scale);
    const top = scores.reduce((a, b) => Math.max(a, b));
    out[q] = top + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - top), 0));
  }
}

// The shown picture of a camera frame, encoded as a file.
function fileOf(bitmap) {
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  return file(canvas, "image/jpeg");
}

// A panel and its bytes with the known results of changes (lab.js) added as the section "tested", as panel_data.py
// does.
export function tested({ panel, data }, known) {
  const all = new Sections(), rows = Array.from(known.values());
  for (const { name, layer, at, bytes, ...described } of panel.sections) all.add(name, layer, data.subarray(at, at + bytes), described);
  const width = panel.tokens, values = new Float32Array(rows.length * width);
  rows.forEach(({ row }, i) => values.set(row, i * width));
  if (rows.length) all.floats("tested", null, values, [rows.length, width]);
  const told = Array.from(known, ([key, { says }]) => ({ change: JSON.parse(key), ...(says ? { says } : {}) }));
  return { panel: { ...panel, sections: all.described, tested: told, asks: false, had_model: true }, data: all.joined() };
}

const breath = () => new Promise((done) => setTimeout(done));

// picture: the shown bitmap. -> {panel, data}; a panel that is packed already is returned unchanged.
export async function packed({ bitmap, ...panel }, data, picture) {
  const section = (name, layer = null) => panel.sections.find((one) => one.name === name && one.layer === layer);
  const bytes = ({ at, bytes }) => data.subarray(at, at + bytes);
  if (panel.kind !== "qk" || section("queries", 0).coding !== "f4") return { panel, data };
  const { layers, heads, tokens, dim, scale } = panel, size = tokens * dim;
  const sections = new Sections();
  for (const name of ["picture", "whole"])
    if (section(name)) sections.add(name, null, bytes(section(name)), { coding: "file", media: section(name).media });
  if (bitmap && !section("picture")) {
    const { bytes, media } = await fileOf(picture);
    sections.add("picture", null, bytes, { coding: "file", media });
  }
  const shared = Object.fromEntries(["query_steps", "key_steps", "key_means"].map((name) => [name, new Float32Array(layers * heads * dim)]));
  const lse = new Float32Array(layers * heads * tokens);
  for (let layer = 0; layer < layers; layer++) {
    const given = ["queries", "keys"].map((name) => floats(bytes(section(name, layer))));
    const outs = given.map(({ length }) => new Int16Array(length));
    for (let head = 0; head < heads; head++) {
      const [queries, keys] = given.map((values) => values.subarray(head * size, (head + 1) * size));
      const means = meansOf(keys, dim), at = (layer * heads + head) * dim;
      const [q, k] = [packedHead(queries, dim), packedHead(keys.map((value, i) => value - means[i % dim]), dim)];
      [q, k].forEach(({ out }, i) => outs[i].set(out, head * size));
      shared.query_steps.set(q.steps, at);
      shared.key_steps.set(k.steps, at);
      shared.key_means.set(means, at);
      const from = (layer * heads + head) * tokens;
      sumsOf(q.stored, k.stored, strideOf(dim), scale, lse.subarray(from, from + tokens));
      await breath(); // lets the page respond
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
