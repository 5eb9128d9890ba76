// From the characters of a page, or what a kernel sent, to numbers. Written by encoding.py.

export function fromBase64(text) {
  const letters = atob(text.trim());
  const out = new Uint8Array(letters.length);
  for (let i = 0; i < out.length; i++) out[i] = letters.charCodeAt(i);
  return out;
}

export function bytesOf(data) {
  // What anywidget hands over: a view of memory, or the memory.
  return data instanceof Uint8Array ? data : new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
}

export function floats(bytes) {
  // A copy, because a float needs an aligned start.
  return new Float32Array(bytes.slice().buffer);
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function planes(bytes, high) {
  // -> the whole numbers, from -8191 to 8191: `high` bytes are the squeezed high halves, the rest the low ones.
  const [above, below] = [await inflated(bytes.subarray(0, high)), bytes.subarray(high)];
  const out = new Int16Array(below.length);
  for (let i = 0; i < out.length; i++) out[i] = ((above[i] << 8) | below[i]) - 8192;
  return out;
}

export function perHead(whole, steps, from, heads, tokens, dim, stride) {
  // Whole numbers (heads, tokens, dim) times steps (heads, dim) that begin at `from` -> floats, a row of `stride` each.
  const out = new Float32Array(heads * tokens * stride);
  for (let head = 0, at = 0, to = 0; head < heads; head++)
    for (let token = 0; token < tokens; token++, to += stride)
      for (let c = 0, step = from + head * dim; c < dim; c++) out[to + c] = whole[at++] * steps[step++];
  return out;
}
