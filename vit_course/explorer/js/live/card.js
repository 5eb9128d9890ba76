// Computes blocks on a graphics card, if the browser has WebGPU and JavaScript Promise Integration, which the runtime's
// build for cards needs. Cards differ, so first one block is computed by both: the card is used only if it agrees with
// the processor and is faster.

const CLOSE = 1e-3; // the tolerance, as a share of the largest value
const PATIENCE = 10_000; // milliseconds for the trial of a card, with the compilation of its shaders
const HIDDEN = -1e30; // in place of minus infinity, which shaders need not support; its exponential is 0 too

// -> a device, or null for the processor. asked: from the address, "0" for no card; "1" for any card, even a slow one
// or a software fallback.
export async function deviceOf(asked) {
  if (asked === "0" || !WebAssembly.Suspending || !navigator.gpu) return null;
  try {
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter || (asked !== "1" && adapter.info.isFallbackAdapter)) return null;
    return await adapter.requestDevice({ requiredFeatures: ["subgroups"].filter((one) => adapter.features.has(one)) });
  } catch {
    return null;
  }
}

// Runs work one after the other: while a card computes, nothing else may run in the same WebAssembly instance.
let last = Promise.resolve();
export const alone = (work) => (last = last.then(work, work));

// Converts half precision by a table of all 65,536 bit patterns.
let halves;
function floats({ type, data }) {
  if (type === "float32") return data;
  halves ??= Float32Array.from({ length: 65536 }, (_, bits) => {
    const size = (bits >> 10) & 31, rest = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
    if (size === 31) return rest ? NaN : sign * Infinity;
    return sign * (size ? 2 ** (size - 15) * (1 + rest / 1024) : 2 ** -24 * rest);
  });
  const bits = new Uint16Array(data.buffer, data.byteOffset, data.length), found = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) found[i] = halves[bits[i]];
  return found;
}

class Card {
  constructor(ort, device, session, stored) {
    Object.assign(this, { ort, device, session, stored, there: new Map() });
  }

  // given: as for Engine.run. -> the outputs of a block, as from the processor; throws if the card fails.
  run(given, front) {
    const { data, dims } = given.mask, finite = data.map((value) => Math.max(value, HIDDEN));
    const all = { ...given, mask: new this.ort.Tensor("float32", finite, dims) };
    const inputs = this.session.inputNames.map((name) => [name, all[name] ?? this.weight(front + name)]);
    return alone(() => this.session.run(Object.fromEntries(inputs)));
  }

  // A weight as a buffer on the card, uploaded once.
  weight(name) {
    if (!this.there.has(name)) {
      const tensor = this.stored.get(name), numbers = floats(tensor);
      const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage, usage = STORAGE | COPY_SRC | COPY_DST;
      const buffer = this.device.createBuffer({ size: 4 * numbers.length, usage, mappedAtCreation: true });
      new Float32Array(buffer.getMappedRange()).set(numbers);
      buffer.unmap();
      this.there.set(name, this.ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: tensor.dims }));
    }
    return this.there.get(name);
  }

  async end() {
    await alone(() => this.session.release()).catch(() => {});
    for (const { gpuBuffer } of this.there.values()) gpuBuffer.destroy();
  }
}

// -> inputs of the first block for the trial: a noise picture, with a head replaced by the mean over its tokens and a patch hidden.
async function trial(engine) {
  const [size] = engine.sizes, noise = Float32Array.from({ length: 3 * size * size }, (_, i) => Math.sin(i * i));
  const { tokens: [tokens] } = await engine.begin(noise, size);
  const first = (value, rest, count) => [value, ...Array(count - 1).fill(rest)];
  const { heads } = engine, mask = first(0, 0, tokens.dims[0]);
  mask[1] = -Infinity;
  return engine.given(tokens, { mask, heads: first(0, 1, heads), means: first(1, 0, heads) });
}

// Runs twice, as the first run may include compilation. -> {outputs, time: of the second run, in milliseconds}
async function timed(run) {
  await run();
  const began = performance.now(), outputs = await run();
  return { outputs, time: performance.now() - began };
}

const agree = (ours, its) => Object.keys(ours).every((name) => {
  const [one, other] = [ours[name].data, its[name].data];
  const most = CLOSE * one.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  return one.length === other.length && one.every((value, i) => Math.abs(value - other[i]) <= most); // false for NaN
});

// Tries a card. engine: from live_engine.js; device, asked: as in deviceOf; graph: the block with float32 weights.
// -> {card: a Card, or null for the processor, computes: {by, why, times}, which live_computes.js puts into words}
export async function meet(engine, device, graph, asked) {
  const refused = (why, times) => ({ card: null, computes: { by: "processor", why, times } });
  const impatient = asked === "1" ? 0 : setTimeout(() => device.destroy(), PATIENCE);
  let card;
  try {
    const { ort, stored } = engine, options = { executionProviders: [{ name: "webgpu", device }] };
    card = new Card(ort, device, await alone(() => ort.InferenceSession.create(graph, options)), stored);
    const given = await trial(engine), front = `${engine.block}0.`;
    const ours = await timed(() => engine.run("block", given, front)), its = await timed(() => card.run(given, front));
    const times = { processor: ours.time, card: its.time };
    const why = !agree(ours.outputs, its.outputs) ? "differs" : asked !== "1" && its.time >= ours.time ? "slower" : "";
    if (!why) return { card, computes: { by: "card", times } };
    await card.end();
    return refused(why, times);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error; // the processor cannot compute after it either
    return refused("fails");
  } finally {
    clearTimeout(impatient);
  }
}
