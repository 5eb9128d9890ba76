// From the characters of a page, or what a kernel sent, to numbers. Written by encoding.py.

// Characters that a page would lose or misread stand under these codes instead: NUL, carriage return, <.
const CODES = Uint8Array.from({ length: 256 }, (_, code) => ({ 0xc0: 0, 0xc1: 13, 0xc2: 60 })[code] ?? code);

export function fromDense(text) {
  // Seven bits a character -> bytes.
  const groups = Math.ceil(text.length / 8);
  const out = new Uint8Array(7 * groups);
  for (let group = 0, at = 0, to = 0; group < groups; group++, at += 8, to += 7) {
    let last = CODES[text.charCodeAt(at)];
    for (let i = 0; i < 7; i++) {
      // Beyond the end charCodeAt gives NaN, which is nowhere in the table.
      const next = CODES[text.charCodeAt(at + i + 1)] ?? 0;
      out[to + i] = (last << (i + 1)) | (next >> (6 - i));
      last = next;
    }
  }
  return out.subarray(0, Math.floor((text.length * 7) / 8));
}

export function fromBase64(text) {
  const letters = atob(text.trim());
  const out = new Uint8Array(letters.length);
  for (let i = 0; i < out.length; i++) out[i] = letters.charCodeAt(i);
  return out;
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
