// Runs a model in three parts, embed, block and head (res/live/export.py), each an ONNX Runtime session of a graph
// without weights. The one block graph computes all layers, with the weights of each layer as inputs, so that a change
// costs only its layer and those after it. A graphics card computes the blocks if it is faster (live_card.js). The
// processor computes all else, and takes over if the card fails.

import { alone, meet } from "./card.js";

// Idle threads sleep: spinning would take their cores from the page, and gain nothing.
const OPTIONS = { executionProviders: ["wasm"], extra: { session: { intra_op: { allow_spinning: "0" } } } };
const TYPES = { F16: ["float16", Uint16Array], F32: ["float32", Float32Array] };

// The tensors of a safetensors file, [[name, tensor], ...], without a copy where the alignment allows it.
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

// Yields to the event loop between two layers, so that new messages are handled; setTimeout would take 4 ms.
const { port1, port2 } = new MessageChannel();
const turns = [];
port1.onmessage = () => turns.shift()();
const turn = () => new Promise((done) => (turns.push(done), port2.postMessage(null)));

// {floats, ...graphs}: the bytes of embed, block, head and, if it is another file, of the block with float32 weights;
// weights: the bytes of each safetensors file; model: {layers, heads, block, sizes} from the page's list: the numbers
// of layers and heads, the prefix of the names of a layer's weights, the sizes of pictures; device, asked: of
// live_card.js.
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
  dropped = () => {}; // called when the card has failed

  constructor(ort, sessions, stored, model) {
    Object.assign(this, { ort, sessions, stored, ...model });
  }

  // Runs a part; inputs that are not in `given` are weights, stored under their names with the prefix `front`.
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

  // Gives up the card: from now on the processor computes.
  drop() {
    if (!this.card) return;
    Object.assign(this, { card: null, computes: { by: "processor", why: "gone" } });
    this.dropped();
  }

  tensor(data, ...dims) {
    return new this.ort.Tensor("float32", data, dims);
  }

  // (3, size, size) floats -> the embedded picture, from which `compute` starts.
  async begin(floats, size) {
    const { embedded } = await this.run("embed", { images: this.tensor(floats, 1, 3, size, size) });
    return { tokens: [embedded], queries: [], keys: [], sums: [] };
  }

  // before: the result of an earlier compute() for the picture, or of begin(); {first, layers}: a plan of
  // live_change.js; going(): whether the result is still wanted. -> null if not, or {tokens: the input of each layer
  // and the output of the last, queries, keys, sums: lists with an entry for each layer, features, lens}, all as
  // tensors. Does not modify `before`.
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

  // The inputs of one block: the defaults, changed as in a plan.
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

  // Applies the last norm, and the head to the class token after each layer.
  read(tokens) {
    const [, width] = tokens[0].dims, classes = new Float32Array(tokens.length * width);
    tokens.forEach(({ data }, i) => classes.set(data.subarray(0, width), i * width));
    return this.run("head", { tokens: tokens.at(-1), class_tokens: this.tensor(classes, tokens.length, width) });
  }
}
