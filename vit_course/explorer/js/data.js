// Panels: the data that were sent for each image, decoded layer by layer, the shown layer first.

import { bytesOf, floats, planes } from "../../_support/widgets/js/bytes.js";
import { key } from "./effects.js";
import { MapsLayer, VectorsLayer } from "./layers.js";
import { meanInto } from "./rows.js";
import { choose } from "./opening_view.js";

export class Panel {
  // Holds the fields of the description, and what is decoded from the bytes. A layer that is not decoded yet gives
  // zeros.
  constructor(described, bytes) {
    Object.assign(this, described);
    this.bytes = bytes;
    this.patches = this.rows * this.columns;
    this.decoded = new Array(this.layers).fill(null);
    this.features = null; // Float32Array (T, featureWidth), once it is decoded
    this.featureWidth = this.find("features")?.shape[1] ?? 0;
    this.rollsOut = this.layers === this.all_layers;
    this.known = new Map(); // what was tested, by the key of each change: {row: Float32Array (T), says}
    this.changed = () => {}; // called whenever more has been decoded
    this.wanted = this.layers - 1;
    this.scratch = new Float32Array(this.heads * this.tokens);
  }

  find(name, layer = null) {
    return this.sections.find((section) => section.name === name && section.layer === layer);
  }

  take(name, layer = null) {
    const section = this.find(name, layer);
    return section && this.bytes.subarray(section.at, section.at + section.bytes);
  }

  floats(name) {
    const taken = this.take(name);
    return taken && floats(taken);
  }

  planes(name, layer = null) {
    const { coding, high } = this.find(name, layer);
    return coding === "f4" ? floats(this.take(name, layer)) : planes(this.take(name, layer), high);
  }

  async open() {
    // Decodes the picture, and the arrays that all layers share.
    this.picture = this.bitmap instanceof ImageBitmap ? this.bitmap : await this.decodePicture();
    for (const name of ["query_steps", "key_steps", "key_means", "lse", "tops"]) this[name] = this.floats(name);
    this.phraseCosines = this.floats("phrases");
    const rows = this.floats("tested");
    this.tested?.forEach(({ change, says }, i) => this.known.set(key(change), { row: rows.subarray(i * this.tokens, (i + 1) * this.tokens), says }));
  }

  decodePicture() {
    return createImageBitmap(new Blob([this.take("picture")], { type: this.find("picture").media }));
  }

  async decodeAll() {
    // Decodes the layers one by one, the wanted one first, then from the last one down. Ends early if the panel is
    // closed.
    while (!this.closed && this.decoded.includes(null)) {
      await this.coming?.any(this); // for a panel whose bytes are still loading (live_stored.js)
      const can = (layer) => !this.decoded[layer] && (this.coming?.has(this, layer) ?? true);
      const layer = can(this.wanted) ? this.wanted : this.decoded.findLastIndex((_, one) => can(one));
      this.decoded[layer] = await (this.kind === "qk" ? VectorsLayer : MapsLayer).of(this, layer);
      this.changed();
      await this.rest?.();
    }
    await this.coming?.end();
    if (!this.closed && this.featureWidth) await this.decodeFeatures();
  }

  async decodeFeatures() {
    const [whole, steps] = [await this.planes("features"), this.floats("feature_steps")];
    this.features = Float32Array.from(whole, (value, i) => value * steps[i % this.featureWidth]);
    this.changed();
  }

  has(layer) {
    return this.decoded[layer] !== null;
  }

  want(layer) {
    this.wanted = layer;
  }

  map(layer, head, token, direction, out = new Float32Array(this.tokens), to = 0) {
    if (!this.decoded[layer]) out.fill(0, to, to + this.tokens);
    else if (direction === "to") this.decoded[layer].column(head, token, out, to);
    else this.decoded[layer].row(head, token, out, to);
    return out;
  }

  row(layer, head, query, out) {
    return this.map(layer, head, query, "from", out);
  }

  column(layer, head, key, out) {
    return this.map(layer, head, key, "to", out);
  }

  mean(layer, token, direction, out = new Float32Array(this.tokens), to = 0) {
    for (let head = 0; head < this.heads; head++)
      this.map(layer, head, token, direction, this.scratch, head * this.tokens);
    meanInto(out, to, this.scratch, 0, this.heads, this.tokens);
    return out;
  }

  // The vectors themselves, Float32Array (dim), and the scaled scores (T); null where only maps were sent.
  query(layer, head, token) {
    return this.decoded[layer]?.query?.(head, token) ?? null;
  }

  key(layer, head, token) {
    return this.decoded[layer]?.key?.(head, token) ?? null;
  }

  scores(layer, head, query) {
    return this.decoded[layer]?.scores?.(head, query) ?? null;
  }

  place(token) {
    // -> [row, column], or null for a token that is not a patch.
    const place = token - this.prefix;
    return place < 0 ? null : [Math.floor(place / this.columns), place % this.columns];
  }

  name(token) {
    const place = this.place(token);
    return place ? `row ${place[0]}, column ${place[1]}` : this.names[token];
  }
}

export function describePanels(model) {
  // -> panels that are described but not decoded.
  const bytes = bytesOf(model.get("_data"));
  return model.get("_panels").map((described) => new Panel(described, bytes));
}

export async function openPanels(model, panels = describePanels(model)) {
  // Resolves once the pictures and one layer of each panel are decoded, the shown one if it is loaded; the rest
  // follows.
  const layer = model.get("layer") ?? panels[0].telling?.layer ?? Infinity;
  await Promise.all(panels.map((panel) => panel.open()));
  for (const panel of panels) panel.want(Math.min(Math.max(layer, 0), panel.layers - 1));
  await Promise.all(
    panels.map(
      (panel) =>
        new Promise((done, failed) => {
          panel.changed = done;
          panel.decodeAll().catch(failed);
        }),
    ),
  );
  if (model.get("layer") === null) await choose(model, panels[0]);
  return panels;
}
