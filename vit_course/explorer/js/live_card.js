// A graphics card that computes blocks, where the browser has WebGPU, and JavaScript Promise Integration, which the
// runtime's build for cards needs. What a card is good for differs from machine to machine, so before it computes, one
// block is computed by both: it must give the numbers of the processor, and sooner.

const CLOSE = 1e-3; // of the largest value
const PATIENCE = 10_000; // milliseconds for a card to show what it can do; its shaders are compiled in this time
const HIDDEN = -1e30; // for minus infinity, which a shader need not know; its exponential is 0, too

// -> a device, or null where the processor computes. asked, in the address: "0" for no card; "1" for any, also one that
// is made of software, and however slow.
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

// One after the other: while a card computes, nothing else may run in the same WebAssembly.
let last = Promise.resolve();
export const alone = (work) => (last = last.then(work, work));

// What half precision means, for each of its 65,536 patterns.
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

  // given: as of Engine.run. -> the same as from a block of the processor; an error where the card cannot.
  run(given, front) {
    const { data, dims } = given.mask, finite = data.map((value) => Math.max(value, HIDDEN));
    const all = { ...given, mask: new this.ort.Tensor("float32", finite, dims) };
    const inputs = this.session.inputNames.map((name) => [name, all[name] ?? this.weight(front + name)]);
    return alone(() => this.session.run(Object.fromEntries(inputs)));
  }

  // Brought to the card once.
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

// The first block of a picture of noise, with a head replaced by its mean and a patch hidden.
async function trial(engine) {
  const [size] = engine.sizes, noise = Float32Array.from({ length: 3 * size * size }, (_, i) => Math.sin(i * i));
  const { tokens: [tokens] } = await engine.begin(noise, size);
  const first = (value, rest, count) => [value, ...Array(count - 1).fill(rest)];
  const { heads } = engine, mask = first(0, 0, tokens.dims[0]);
  mask[1] = -Infinity;
  return engine.given(tokens, { mask, heads: first(0, 1, heads), means: first(1, 0, heads) });
}

// Twice: the first time something may have to be compiled. -> {outputs, time: of the second, in milliseconds}
async function timed(run) {
  await run();
  const began = performance.now(), outputs = await run();
  return { outputs, time: performance.now() - began };
}

const agree = (ours, its) => Object.keys(ours).every((name) => {
  const [one, other] = [ours[name].data, its[name].data];
  const most = CLOSE * one.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  return one.length === other.length && one.every((value, i) => Math.abs(value - other[i]) <= most); // not of NaN
});

// engine: of live_engine.js; device, asked: of deviceOf; graph: its block, with weights as floats.
// -> {card: a Card, or null where the processor is to compute, computes: {by, why, times} as live_computes.js tells it}
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
    if (error instanceof WebAssembly.RuntimeError) throw error; // with which the processor cannot compute either
    return refused("fails");
  } finally {
    clearTimeout(impatient);
  }
}
