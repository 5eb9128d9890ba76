// Computes rows of attention maps from queries and keys: no DOM, no state. Vectors lie `stride` apart, a multiple of 4,
// so that the inner loop can be unrolled; it adds to four sums in turn, as each addition waits for the one before.

export const strideOf = (dim) => (dim + 3) & ~3;

const scaled = { vector: new Float64Array(0) };

function take(vectors, at, stride, scale) {
  if (scaled.vector.length !== stride) scaled.vector = new Float64Array(stride);
  for (let c = 0; c < stride; c++) scaled.vector[c] = vectors[at + c] * scale;
  return scaled.vector;
}

export function scoresInto(out, to, one, oneAt, many, manyAt, count, stride, scale) {
  // out[to + k] = scale * one . many[k]
  const s = take(one, oneAt, stride, scale);
  for (let k = 0, i = manyAt; k < count; k++) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let j = 0; j < stride; j += 4, i += 4) {
      a += s[j] * many[i];
      b += s[j + 1] * many[i + 1];
      c += s[j + 2] * many[i + 2];
      d += s[j + 3] * many[i + 3];
    }
    out[to + k] = a + b + (c + d);
  }
}

export function rowInto(out, to, queries, keys, at, query, tokens, stride, scale, lse, lseAt) {
  // The attention of `query` to each token. Its log-sum-exp is known, so the softmax needs no maximum.
  scoresInto(out, to, queries, at + query * stride, keys, at, tokens, stride, scale);
  const less = lse[lseAt + query];
  for (let k = to; k < to + tokens; k++) out[k] = Math.exp(out[k] - less);
}

export function columnInto(out, to, queries, keys, at, key, tokens, stride, scale, lse, lseAt) {
  // The attention of each token to `key`.
  scoresInto(out, to, keys, at + key * stride, queries, at, tokens, stride, scale);
  for (let q = 0; q < tokens; q++) out[to + q] = Math.exp(out[to + q] - lse[lseAt + q]);
}

export function meanInto(out, to, maps, from, heads, tokens) {
  // The mean of `heads` rows that lie one after the other.
  for (let k = 0; k < tokens; k++) {
    let sum = 0;
    for (let h = 0, i = from + k; h < heads; h++, i += tokens) sum += maps[i];
    out[to + k] = sum / heads;
  }
}
