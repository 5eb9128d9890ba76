// A model in three parts, embed, block and head (res/live/export.py), each a session of a graph without weights. All
// layers are computed by the one block, which is given that layer's weights. A change in a layer costs that layer and
// those after it. Blocks are computed by a graphics card, where one is better at it (live_card.js), all else by the
// processor, which takes over when the card fails.

import { alone, meet } from "./live_card.js";

// A thread that has nothing to do sleeps: one that spins takes its core from the page, and gains nothing.
const OPTIONS = { executionProviders: ["wasm"], extra: { session: { intra_op: { allow_spinning: "0" } } } };
const TYPES = { F16: ["float16", Uint16Array], F32: ["float32", Float32Array] };

// The tensors of a safetensors file, [[name, tensor], ...]; no copies, where the numbers lie at places that allow it.
function tensors(ort, bytes) {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true)), start = 8 + size;
  const entries = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  delete entries.__metadata__;
  return Object.entries(entries).map(([name, { dtype, shape, data_offsets: [first, end] }]) => {
    const [type, Numbers] = TYPES[dtype], piece = bytes.subarray(start + first, start + end);
    const { buffer, byteOffset, byteLength } = piece.byteOffset % Numbers.BYTES_PER_ELEMENT ? piece.slice() : piece;
    return [name, new ort.Tensor(type, new Numbers(buffer, byteOffset, byteLength / Numbers.BYTES_PER_ELEMENT), shape)];
  });
}

// A turn of the thread between two layers, so that what has come meanwhile is heard; a timer would take 4 ms.
const { port1, port2 } = new MessageChannel();
const turns = [];
port1.onmessage = () => turns.shift()();
const turn = () => new Promise((done) => (turns.push(done), port2.postMessage(null)));

// {floats, ...graphs}: the bytes of embed, block, head, and of the block with weights as floats, where it is another;
// weights: those of each safetensors file; model: {layers, heads, block, sizes} of the page's list: how many, what the
// names of a layer's weights begin with, and the sizes of pictures; device, asked: of live_card.js.
export async function engine(ort, { floats, ...graphs }, weights, model, device, asked) {
  const stored = new Map(weights.flatMap((bytes) => tensors(ort, bytes))), sessions = {};
  for (const [part, graph] of Object.entries(graphs))
    sessions[part] = await alone(() => ort.InferenceSession.create(graph, OPTIONS));
  const made = new Engine(ort, sessions, stored, model);
  return device ? Object.assign(made, await meet(made, device, floats ?? graphs.block, asked)) : made;
}

class Engine {
  card = null;
  computes = { by: "processor" };
  dropped = () => {}; // hears when the card has failed

  constructor(ort, sessions, stored, model) {
    Object.assign(this, { ort, sessions, stored, ...model });
  }

  // Runs a part with what it is given and, by their names with `front` before them, the weights that it asks for.
  run(part, given, front = "") {
    const session = this.sessions[part];
    const inputs = session.inputNames.map((name) => [name, given[name] ?? this.stored.get(front + name)]);
    return alone(() => session.run(Object.fromEntries(inputs)));
  }

  async step(given, layer) {
    const front = `${this.block}${layer}.`;
    try {
      if (this.card) return await this.card.run(given, front);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) throw error; // the processor's memory, not the card's
      this.drop();
    }
    return this.run("block", given, front);
  }

  // From now on the processor computes.
  drop() {
    if (!this.card) return;
    Object.assign(this, { card: null, computes: { by: "processor", why: "gone" } });
    this.dropped();
  }

  tensor(data, ...dims) {
    return new this.ort.Tensor("float32", data, dims);
  }

  // (3, size, size) floats -> what `compute` goes on from.
  async begin(floats, size) {
    const { embedded } = await this.run("embed", { images: this.tensor(floats, 1, 3, size, size) });
    return { tokens: [embedded], queries: [], keys: [], sums: [] };
  }

  // before: what was computed of a picture, or its beginning; {first, layers}: a plan of live_change.js; going():
  // whether this is still wanted. -> what is computed of it, or null: {tokens: what enters each layer and leaves the
  // last, queries, keys, sums: each a list with an entry a layer, features, lens}, all as tensors; nothing of `before`
  // changes.
  async compute(before, { first, layers }, going) {
    const now = { tokens: before.tokens.slice(0, first + 1) };
    const names = ["queries", "keys", "sums"];
    for (const name of names) now[name] = before[name].slice(0, first);
    for (let layer = first; layer < this.layers; layer++) {
      const given = this.given(now.tokens[layer], layers[layer] ?? {});
      const outputs = await this.step(given, layer);
      now.tokens.push(outputs.after);
      for (const name of names) now[name].push(outputs[name]);
      await turn();
      if (!going()) return null;
    }
    return Object.assign(now, await this.read(now.tokens));
  }

  // What one block is given: as usual, but for what a plan says.
  given(tokens, { rows, ...changed }) {
    const count = tokens.dims[0], one = [1];
    const usual = { heads: Array(this.heads).fill(1), means: Array(this.heads).fill(0), attention: one, mlp: one };
    const inputs = { tokens: rows ? this.replaced(tokens, rows) : tokens };
    for (const [name, values] of Object.entries({ ...usual, mask: new Float32Array(count), ...changed }))
      inputs[name] = this.tensor(Float32Array.from(values), values.length);
    return inputs;
  }

  replaced({ data, dims }, rows) {
    const other = data.slice();
    for (const [token, values] of rows) other.set(values, token * dims[1]);
    return this.tensor(other, ...dims);
  }

  // The last norm, and what the head says of the class token after each layer.
  read(tokens) {
    const [, width] = tokens[0].dims, classes = new Float32Array(tokens.length * width);
    tokens.forEach(({ data }, i) => classes.set(data.subarray(0, width), i * width));
    return this.run("head", { tokens: tokens.at(-1), class_tokens: this.tensor(classes, tokens.length, width) });
  }
}
